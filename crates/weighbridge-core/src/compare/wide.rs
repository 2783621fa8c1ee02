//! Numbers that f32 has no room for.
//!
//! Doubles and long integers, and what they are compared with, become a sum of two doubles, in
//! which every 64-bit integer is exact.

use crate::dtype::DType;

/// A double, or a long integer as the sum of its upper and lower half.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wide {
    /// The double, or the upper half.
    pub upper: f64,
    /// The lower half; zero for a double.
    pub lower: f64,
}

impl Wide {
    /// Whether numbers of a stored type need this much room.
    pub fn is_needed(dtype: DType) -> bool {
        matches!(dtype, DType::F64 | DType::I32 | DType::U32 | DType::I64 | DType::U64)
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        self.upper + self.lower
    }

    /// How much larger it is.
    pub fn minus(self, other: Self) -> f64 {
        (self.upper - other.upper) + (self.lower - other.lower)
    }

    /// Whether both are the same to the bit, or both NaN.
    pub fn is_same(self, other: Self) -> bool {
        let bits = |x: Self| (x.upper.to_bits(), x.lower.to_bits());
        // An integer in halves may be one that the other side has in one piece.
        let in_halves = self.lower != 0.0 || other.lower != 0.0;
        bits(self) == bits(other)
            || self.upper.is_nan() && other.upper.is_nan()
            || in_halves && self.minus(other) == 0.0
    }

    /// A number of at most 64 bits.
    #[allow(clippy::cast_precision_loss)] // Halves of 32 bits are exact.
    fn of_whole(value: i128) -> Self {
        let lower = value & 0xffff_ffff;
        Self { upper: (value - lower) as f64, lower: lower as f64 }
    }
}

impl From<f64> for Wide {
    fn from(upper: f64) -> Self {
        Self { upper, lower: 0.0 }
    }
}

/// The numbers in the bytes of a stored type; nothing for types that need less room.
pub fn read(dtype: DType, bytes: &[u8], out: &mut [Wide]) -> Option<()> {
    fn each<const N: usize>(bytes: &[u8], out: &mut [Wide], f: impl Fn([u8; N]) -> Wide) {
        out.iter_mut().zip(bytes.as_chunks().0).for_each(|(out, bytes)| *out = f(*bytes));
    }
    match dtype {
        DType::F64 => each(bytes, out, |x| f64::from_le_bytes(x).into()),
        DType::I32 => each(bytes, out, |x| f64::from(i32::from_le_bytes(x)).into()),
        DType::U32 => each(bytes, out, |x| f64::from(u32::from_le_bytes(x)).into()),
        DType::I64 => each(bytes, out, |x| Wide::of_whole(i64::from_le_bytes(x).into())),
        DType::U64 => each(bytes, out, |x| Wide::of_whole(u64::from_le_bytes(x).into())),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_integers_keep_every_bit() {
        let a = Wide::of_whole((i64::MIN + 1).into());
        let b = Wide::of_whole(i64::MIN.into());
        assert!(!a.is_same(b));
        assert_eq!(a.minus(b), 1.0);
        assert_eq!(
            Wide::of_whole(u64::MAX.into()).minus(Wide::of_whole((u64::MAX - 3).into())),
            3.0
        );
        assert_eq!(Wide::of_whole(-5).value(), -5.0);
        assert!(Wide::of_whole(-5).is_same((-5.0).into()));
        assert!(!Wide::from(0.0).is_same((-0.0).into()));
        assert!(Wide::from(f64::NAN).is_same(f64::NAN.into()));
    }
}
