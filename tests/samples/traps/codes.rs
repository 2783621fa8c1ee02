//! Codes of few bits as numbers, and where they lie in their bytes.

use half::{bf16, f16};

pub fn e4m3(code: u8) -> f32 {
    let (exponent, fraction) = (i32::from(code >> 3 & 15), f32::from(code & 7) / 8.0);
    let size = match exponent {
        0 => fraction * 2f32.powi(-6),
        _ => (1.0 + fraction) * 2f32.powi(exponent - 7),
    };
    if code < 128 { size } else { -size }
}

/// The upper half of an f16.
pub fn e5m2(code: u8) -> f32 {
    f16::from_le_bytes([0, code]).to_f32()
}

/// A power of two; the byte 0 is the least, which f32 has as a subnormal number.
pub fn e8m0(code: u8) -> f32 {
    f32::from_bits(if code == 0 { 1 << 22 } else { u32::from(code) << 23 })
}

pub const E2M1: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

pub fn e2m1(code: u8) -> f32 {
    let size = E2M1[usize::from(code & 7)];
    if code < 8 { size } else { -size }
}

/// Nibble `at` of bytes, low or high half first.
pub fn nibble(bytes: &[u8], at: usize, high_first: bool) -> u8 {
    let high = (at % 2 == 1) != high_first;
    if high { bytes[at / 2] >> 4 } else { bytes[at / 2] & 15 }
}

/// `bits` bits of a stream of words.
pub fn field(words: &[u32], start: usize, bits: usize) -> u32 {
    (0..bits).map(|i| (words[(start + i) / 32] >> ((start + i) % 32) & 1) << i).sum()
}

pub fn in_bf16(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}
