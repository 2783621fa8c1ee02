//! The tensors of a case, filled with random codes and sane scales.

use weighbridge::DType;

use crate::random_blocks::Random;

/// A stored tensor.
#[derive(Clone)]
pub struct Stored {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub fill: Fill,
}

/// What is in it.
#[derive(Clone, PartialEq, Eq)]
pub enum Fill {
    /// Any bytes.
    Codes,
    /// Any 8-bit floats except NaN and infinity.
    Floats,
    /// Small positive numbers, as scales of real weights are.
    Scales,
    /// Small numbers of either sign.
    Biases,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A tensor beside others, such as `weight_scale`.
pub fn stored(name: &str, dtype: DType, shape: &[u64], fill: Fill) -> Stored {
    Stored { name: name.to_owned(), dtype, shape: shape.to_vec(), fill }
}

impl Fill {
    /// Single floats.
    pub fn singles(numbers: impl IntoIterator<Item = f32>) -> Self {
        Self::Bytes(numbers.into_iter().flat_map(f32::to_le_bytes).collect())
    }

    /// 32-bit words.
    pub fn words(words: impl IntoIterator<Item = u32>) -> Self {
        Self::Bytes(words.into_iter().flat_map(u32::to_le_bytes).collect())
    }

    /// 64-bit words.
    pub fn long_words(words: impl IntoIterator<Item = u64>) -> Self {
        Self::Bytes(words.into_iter().flat_map(u64::to_le_bytes).collect())
    }
}

impl Stored {
    /// Whether the bytes of one can be used for the other.
    pub fn is_filled_as(&self, other: &Self) -> bool {
        (self.dtype, &self.shape, &self.fill) == (other.dtype, &other.shape, &other.fill)
    }

    /// Fills its bytes.
    pub fn fill(&self, bytes: &mut [u8], random: &mut Random) {
        match &self.fill {
            Fill::Bytes(given) => bytes.copy_from_slice(given),
            Fill::Codes => random.fill(bytes),
            Fill::Floats => {
                random.fill(bytes);
                for byte in bytes {
                    *byte = finite(self.dtype, *byte);
                }
            }
            Fill::Scales => self.numbers(bytes, random, false),
            Fill::Biases => self.numbers(bytes, random, true),
        }
    }

    /// Numbers of about 2^-9.
    fn numbers(&self, bytes: &mut [u8], random: &mut Random, signed: bool) {
        let (size, free, fixed): (usize, u32, u32) = match self.dtype {
            DType::F32 => (4, 0x007f_ffff, 0x3b00_0000),
            DType::BF16 => (2, 0x007f, 0x3b00),
            DType::F16 => (2, 0x0fff, 0x1400),
            DType::F8_E4M3 => (1, 0x0f, 0x20),
            // Exponents.
            DType::F8_E8M0 | DType::U8 => (1, 0x03, 0x78),
            other => panic!("no scales are of {other:?}"),
        };
        let sign = if signed { 1 << (8 * size - 1) } else { 0 };
        for number in bytes.chunks_exact_mut(size) {
            let bits = ((random.next() >> 24) as u32 & (free | sign)) | fixed;
            number.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
}

/// The nearest code that is a number.
fn finite(dtype: DType, code: u8) -> u8 {
    match dtype {
        DType::F8_E4M3 if code & 0x7f == 0x7f => code ^ 1,
        DType::F8_E5M2 if code & 0x7c == 0x7c => code ^ 4,
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_small_and_floats_finite() {
        let mut random = Random(1);
        let mut bytes = vec![0; 4096];
        for (dtype, fill) in [(DType::F16, Fill::Scales), (DType::F32, Fill::Biases)] {
            stored("s", dtype, &[], fill).fill(&mut bytes, &mut random);
            let halves =
                bytes.as_chunks::<2>().0.iter().map(|b| weighbridge::f16::from_le_bytes(*b));
            let singles = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            match dtype {
                DType::F16 => assert!(halves.map(f32::from).all(|n| n > 1e-4 && n < 0.01)),
                _ => assert!(singles.map(f32::abs).all(|n| n > 1e-4 && n < 0.01)),
            }
        }
        stored("w", DType::F8_E4M3, &[], Fill::Floats).fill(&mut bytes, &mut random);
        assert!(bytes.iter().all(|byte| byte & 0x7f != 0x7f));
    }
}
