//! Counts the numbers that are not finite among stored bytes, without decoding them.

use crate::dtype::DType;

/// How many numbers are NaN, and how many are infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonFinite {
    /// NaNs.
    pub nan: u64,
    /// Infinities of either sign.
    pub infinite: u64,
}

/// Counts them among stored elements of a type; `None` for the 8-bit floats and other types that
/// are not looked at here.
pub fn count_non_finite(dtype: DType, bytes: &[u8]) -> Option<NonFinite> {
    Some(match dtype {
        DType::F16 => shorts(bytes, 0x7c00),
        DType::BF16 => shorts(bytes, 0x7f80),
        DType::F32 => sum(bytes, |x: [u8; 4]| {
            let magnitude = u32::from_le_bytes(x) & 0x7fff_ffff;
            [magnitude > 0x7f80_0000, magnitude == 0x7f80_0000]
        }),
        DType::F64 => sum(bytes, |x: [u8; 8]| {
            let number = f64::from_le_bytes(x);
            [number.is_nan(), number.is_infinite()]
        }),
        dtype if !dtype.is_float() => NonFinite::default(),
        _ => return None,
    })
}

fn shorts(bytes: &[u8], infinity: u16) -> NonFinite {
    // Almost all are finite: the rest is counted where there is any.
    let has_any = |chunk: &[u8]| {
        let is_one = |x: &[u8; 2]| u16::from_le_bytes(*x) & infinity == infinity;
        chunk.as_chunks().0.iter().fold(false, |any, x| any | is_one(x))
    };
    let mut all = NonFinite::default();
    for chunk in bytes.chunks(4096).filter(|chunk| has_any(chunk)) {
        let found = sum(chunk, |x: [u8; 2]| {
            let magnitude = u16::from_le_bytes(x) & 0x7fff;
            [magnitude > infinity, magnitude == infinity]
        });
        all.nan += found.nan;
        all.infinite += found.infinite;
    }
    all
}

fn sum<const N: usize>(bytes: &[u8], kinds: impl Fn([u8; N]) -> [bool; 2]) -> NonFinite {
    bytes.as_chunks().0.iter().fold(NonFinite::default(), |sum, x| {
        let [nan, infinite] = kinds(*x).map(u64::from);
        NonFinite { nan: sum.nan + nan, infinite: sum.infinite + infinite }
    })
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn what_is_not_finite_is_counted_in_every_type() {
        let numbers = [1.0, f32::NAN, -f32::NAN, f32::INFINITY, 65504.0, 0.0, f32::NEG_INFINITY];
        let wanted = Some(NonFinite { nan: 2, infinite: 2 });
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(count_non_finite(DType::F32, &bytes), wanted);
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect();
        assert_eq!(count_non_finite(DType::F64, &bytes), wanted);
        let short = |bits: &dyn Fn(f32) -> u16| -> Vec<u8> {
            let padding = std::iter::repeat_n(1.0, 5000);
            padding.chain(numbers).flat_map(|x| bits(x).to_le_bytes()).collect()
        };
        assert_eq!(count_non_finite(DType::F16, &short(&|x| f16::from_f32(x).to_bits())), wanted);
        assert_eq!(count_non_finite(DType::BF16, &short(&|x| bf16::from_f32(x).to_bits())), wanted);
        assert_eq!(count_non_finite(DType::I32, &bytes), Some(NonFinite::default()));
        assert_eq!(count_non_finite(DType::F8_E4M3, &bytes), None);
    }
}
