//! How codes lie in bytes, and what each stands for.

use std::ops::Range;
use std::sync::OnceLock;

use super::Numbers;
use crate::simd::small_floats;

/// How the codes of a row are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// A byte each.
    Bytes,
    /// Two in a byte, the low nibble first.
    LowNibbles,
    /// Two in a byte, the high nibble first.
    HighNibbles,
    /// One stream of codes of this many bits, low bits first: codes cross bytes and words.
    Stream(u32),
    /// Codes of this many bits in 32-bit little-endian words, low bits first. No code crosses a
    /// word; the bits left over are unused.
    Words(u32),
}

impl Packing {
    /// Bits of a code.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bytes => 8,
            Self::LowNibbles | Self::HighNibbles => 4,
            Self::Stream(bits) | Self::Words(bits) => bits,
        }
    }

    /// The smallest number of codes that fill whole bytes, and how many bytes.
    fn unit(self) -> (u64, u64) {
        match self {
            Self::Bytes => (1, 1),
            Self::LowNibbles | Self::HighNibbles => (2, 1),
            Self::Stream(bits) => (8, bits.into()),
            Self::Words(bits) => (u64::from(32 / bits), 4),
        }
    }

    /// Bytes that a row of `codes` codes takes, without padding after the last unit.
    pub fn row_bytes(self, codes: u64) -> u64 {
        match self {
            Self::Stream(bits) => (codes * u64::from(bits)).div_ceil(8),
            _ => codes.div_ceil(self.unit().0) * self.unit().1,
        }
    }

    /// The bytes that hold some codes of a row, and how many other codes come first in them.
    pub fn bytes_of(self, codes: Range<u64>) -> (Range<u64>, u64) {
        let (count, bytes) = self.unit();
        let first = codes.start / count;
        (first * bytes..self.row_bytes(codes.end), codes.start - first * count)
    }

    /// Code `index` of `bytes`.
    #[inline(always)]
    pub fn code(self, bytes: &[u8], index: usize) -> u8 {
        match self {
            Self::Bytes => bytes[index],
            Self::LowNibbles => bytes[index / 2] >> (index % 2 * 4) & 15,
            Self::HighNibbles => bytes[index / 2] >> (4 - index % 2 * 4) & 15,
            Self::Stream(bits) => {
                let at = index * bits as usize;
                let high = bytes.get(at / 8 + 1).copied().unwrap_or(0);
                let pair = u16::from_le_bytes([bytes[at / 8], high]) >> (at % 8);
                low_bits(pair.into(), bits)
            }
            Self::Words(bits) => {
                let per_word = 32 / bits as usize;
                let word = bytes.as_chunks::<4>().0[index / per_word];
                low_bits(u32::from_le_bytes(word) >> (index % per_word * bits as usize), bits)
            }
        }
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // At most eight bits are left.
fn low_bits(value: u32, bits: u32) -> u8 {
    (value & ((1 << bits) - 1)) as u8
}

/// Codes and their meaning.
#[derive(Clone, Debug)]
pub struct Codes {
    /// How they are packed.
    pub packing: Packing,
    /// The number of each code; codes of fewer than eight bits use the front of the table.
    pub numbers: Box<[f32; 256]>,
    /// What kind of numbers they are.
    pub kind: CodeKind,
    /// For sixteen codes whose upper eight have the magnitudes of the lower eight: in the highest
    /// bit of each byte, whether the sign differs.
    pub mirror: Option<[u8; 16]>,
    /// These numbers in ascending order, computed on first use.
    pub in_order: OnceLock<Numbers>,
}

/// Kinds of numbers that can be computed faster than looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// Bytes, signed.
    Signed,
    /// Bytes, unsigned.
    Unsigned,
    /// 8-bit floats with four bits of exponent, in the form without infinities.
    E4m3,
    /// 8-bit floats with five bits of exponent: the upper half of half precision.
    E5m2,
    /// Sixteen codes.
    Sixteen,
    /// Anything else.
    Other,
}

impl CodeKind {
    fn of(packing: Packing, numbers: &[f32; 256]) -> Self {
        let all = |number: &dyn Fn(u8) -> f32| {
            (0..=255u8).all(|code| {
                let (found, wanted) = (numbers[usize::from(code)], number(code));
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan()
            })
        };
        match packing {
            Packing::LowNibbles | Packing::HighNibbles => Self::Sixteen,
            Packing::Bytes if all(&|code| f32::from(code.cast_signed())) => Self::Signed,
            Packing::Bytes if all(&|code| f32::from(code)) => Self::Unsigned,
            Packing::Bytes if all(&small_floats::e4m3) => Self::E4m3,
            Packing::Bytes if all(&small_floats::e5m2) => Self::E5m2,
            _ => Self::Other,
        }
    }
}

impl Codes {
    /// Codes packed this way, each standing for `number(code)`.
    pub fn new(packing: Packing, number: impl Fn(u8) -> f32) -> Self {
        let mut numbers = Box::new([0.0; 256]);
        let last = low_bits(u32::MAX, packing.bits());
        (0..=last).for_each(|code| numbers[usize::from(code)] = number(code));
        let kind = CodeKind::of(packing, &numbers);
        let mirror = mirror(&numbers).filter(|_| kind == CodeKind::Sixteen);
        Self { packing, numbers, kind, mirror, in_order: OnceLock::new() }
    }
}

fn mirror(numbers: &[f32; 256]) -> Option<[u8; 16]> {
    let mut signs = [0; 16];
    for code in 8..16 {
        match numbers[code].to_bits() ^ numbers[code - 8].to_bits() {
            0 => {}
            0x8000_0000 => signs[code] = 0x80,
            _ => return None,
        }
    }
    Some(signs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every packing gives back the packed codes, from any stretch.
    #[test]
    fn codes_come_back_from_every_stretch() {
        let all = [
            Packing::Bytes,
            Packing::LowNibbles,
            Packing::HighNibbles,
            Packing::Stream(1),
            Packing::Stream(2),
            Packing::Stream(3),
            Packing::Stream(4),
            Packing::Stream(5),
            Packing::Stream(6),
            Packing::Stream(7),
            Packing::Stream(8),
            Packing::Words(2),
            Packing::Words(3),
            Packing::Words(5),
            Packing::Words(6),
            Packing::Words(7),
        ];
        for packing in all {
            let codes: Vec<u8> =
                (0..70u32).map(|i| low_bits(i * 37 + i / 5, packing.bits())).collect();
            let bytes = packed(packing, &codes);
            assert_eq!(bytes.len() as u64, packing.row_bytes(codes.len() as u64), "{packing:?}");
            for start in 0..codes.len() {
                for end in start + 1..=codes.len() {
                    let (range, skip) = packing.bytes_of(start as u64..end as u64);
                    let [from, to, skip] =
                        [range.start, range.end, skip].map(|x| usize::try_from(x).unwrap());
                    let piece = &bytes[from..to];
                    let found = (0..end - start).map(|i| packing.code(piece, skip + i));
                    assert!(
                        found.eq(codes[start..end].iter().copied()),
                        "{packing:?} {start}..{end}"
                    );
                }
            }
        }
    }

    /// Bit by bit, as the definitions say.
    fn packed(packing: Packing, codes: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0u8; 400];
        let bits = packing.bits() as usize;
        let mut last = 0;
        for (index, code) in codes.iter().enumerate() {
            let start = match packing {
                Packing::HighNibbles => index / 2 * 8 + 4 - index % 2 * 4,
                Packing::Words(_) => index / (32 / bits) * 32 + index % (32 / bits) * bits,
                _ => index * bits,
            };
            for bit in 0..bits {
                bytes[(start + bit) / 8] |= (code >> bit & 1) << ((start + bit) % 8);
            }
            last = last.max(start + bits);
        }
        let unit = if matches!(packing, Packing::Words(_)) { 32 } else { 8 };
        bytes.truncate(last.div_ceil(unit) * unit / 8);
        bytes
    }
}
