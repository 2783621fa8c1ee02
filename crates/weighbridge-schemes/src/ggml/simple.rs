//! The first generation: blocks of 32 with one scale, and for some one minimum.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | Q4_0 | f16 `d`; 16 bytes of nibbles | (q - 8) d |
//! | Q4_1 | f16 `d`, f16 `m`; 16 bytes of nibbles | q d + m |
//! | Q5_0 | f16 `d`; 32 fifth bits; 16 bytes of nibbles | (q - 16) d |
//! | Q5_1 | f16 `d`, f16 `m`; 32 fifth bits; 16 bytes of nibbles | q d + m |
//! | Q8_0 | f16 `d`; 32 signed bytes | q d |
//! | Q8_1 | f16 `d`, f16 `s`; 32 signed bytes | q d (`s` is `d` times their sum, kept for dot products) |
//!
//! Low nibbles are elements 0 to 15, high nibbles elements 16 to 31.

use super::encoding::simple::{Kind, Simple};
use super::encoding::simple_in_lanes::{FirstGeneration, ScaledBytes};
use super::kernel::{Blocks, Kernel, coder, decoded_by, half_at, kernel};

pub(super) static KERNELS: &[Kernel] = &[
    coder::<Q4_0, FirstGeneration, 18, 32>(),
    coder::<Q4_1, FirstGeneration, 20, 32>(),
    coder::<Q5_0, FirstGeneration, 22, 32>(),
    coder::<Q5_1, FirstGeneration, 24, 32>(),
    coder::<Q8_0, ScaledBytes, 34, 32>(),
    kernel::<Q8_1, 36, 32>(),
];

/// Fills 32 elements from sixteen bytes of nibbles: low ones first, then high ones.
#[inline(always)]
fn each_nibble(nibbles: &[u8], out: &mut [f32; 32], value: impl Fn(u8) -> f32) {
    for (index, byte) in nibbles.iter().enumerate() {
        out[index] = value(byte & 15);
        out[index + 16] = value(byte >> 4);
    }
}

/// Fills 32 elements from 32 fifth bits (four bytes) and sixteen bytes of nibbles.
#[inline(always)]
fn each_five_bits(block: &[u8], out: &mut [f32; 32], value: impl Fn(u8) -> f32) {
    let (fifths, nibbles) = block.split_at(4);
    let fifths = u32::from_le_bytes([fifths[0], fifths[1], fifths[2], fifths[3]]);
    let fifth = |index: usize| if fifths & 1 << index == 0 { 0 } else { 16 };
    for (index, byte) in nibbles.iter().enumerate() {
        out[index] = value(byte & 15 | fifth(index));
        out[index + 16] = value(byte >> 4 | fifth(index + 16));
    }
}

/// Sixteen bytes of nibbles: the first half of the codes low, the second high.
#[inline(always)]
fn put_nibbles(out: &mut [u8], codes: &[u8; 32]) {
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = codes[at] & 15 | codes[at + 16] << 4;
    }
}

/// Four bytes of fifth bits, and the nibbles.
#[inline(always)]
fn put_five_bits(out: &mut [u8], codes: &[u8; 32]) {
    let (fifths, nibbles) = out.split_at_mut(4);
    for (byte, codes) in fifths.iter_mut().zip(codes.as_chunks().0) {
        let eight = u64::from_le_bytes(*codes) >> 4 & 0x0101_0101_0101_0101;
        // Adds them up in the highest byte, each one place above the one before.
        *byte = eight.wrapping_mul(0x0102_0408_1020_4080).to_le_bytes()[7];
    }
    put_nibbles(nibbles, codes);
}

struct Q4_0;

impl Blocks<18, 32> for Q4_0 {
    const NAME: &'static str = "Q4_0";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 32]) {
        let d = half_at(block, 0);
        each_nibble(&block[2..], out, |q| (f32::from(q) - 8.0) * d);
    }

    decoded_by!(18 => 32: q4_0(block));
}

impl Simple<18> for Q4_0 {
    const KIND: Kind = Kind::Signed(8);

    #[inline(always)]
    fn put(block: &mut [u8; 18], codes: &[u8; 32]) {
        put_nibbles(&mut block[2..], codes);
    }
}

struct Q4_1;

impl Blocks<20, 32> for Q4_1 {
    const NAME: &'static str = "Q4_1";

    #[inline(always)]
    fn define(block: &[u8; 20], out: &mut [f32; 32]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        each_nibble(&block[4..], out, |q| f32::from(q) * d + m);
    }

    decoded_by!(20 => 32: q4_1(block));
}

impl Simple<20> for Q4_1 {
    const KIND: Kind = Kind::Minimum(15);

    #[inline(always)]
    fn put(block: &mut [u8; 20], codes: &[u8; 32]) {
        put_nibbles(&mut block[4..], codes);
    }
}

struct Q5_0;

impl Blocks<22, 32> for Q5_0 {
    const NAME: &'static str = "Q5_0";

    #[inline(always)]
    fn define(block: &[u8; 22], out: &mut [f32; 32]) {
        let d = half_at(block, 0);
        each_five_bits(&block[2..], out, |q| (f32::from(q) - 16.0) * d);
    }

    decoded_by!(22 => 32: q5_0(block));
}

impl Simple<22> for Q5_0 {
    const KIND: Kind = Kind::Signed(16);

    #[inline(always)]
    fn put(block: &mut [u8; 22], codes: &[u8; 32]) {
        put_five_bits(&mut block[2..], codes);
    }
}

struct Q5_1;

impl Blocks<24, 32> for Q5_1 {
    const NAME: &'static str = "Q5_1";

    #[inline(always)]
    fn define(block: &[u8; 24], out: &mut [f32; 32]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        each_five_bits(&block[4..], out, |q| f32::from(q) * d + m);
    }

    decoded_by!(24 => 32: q5_1(block));
}

impl Simple<24> for Q5_1 {
    const KIND: Kind = Kind::Minimum(31);

    #[inline(always)]
    fn put(block: &mut [u8; 24], codes: &[u8; 32]) {
        put_five_bits(&mut block[4..], codes);
    }
}

/// Signed bytes from byte `START` on, behind a scale.
#[inline(always)]
fn bytes_times_scale<const START: usize>(block: &[u8], out: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for (out, byte) in out.iter_mut().zip(&block[START..]) {
        *out = f32::from(byte.cast_signed()) * d;
    }
}

struct Q8_0;

impl Blocks<34, 32> for Q8_0 {
    const NAME: &'static str = "Q8_0";

    #[inline(always)]
    fn define(block: &[u8; 34], out: &mut [f32; 32]) {
        bytes_times_scale::<2>(block, out);
    }

    decoded_by!(34 => 32: q8_0(block));
}

struct Q8_1;

impl Blocks<36, 32> for Q8_1 {
    const NAME: &'static str = "Q8_1";

    #[inline(always)]
    fn define(block: &[u8; 36], out: &mut [f32; 32]) {
        bytes_times_scale::<4>(block, out);
    }

    decoded_by!(36 => 32: q8_1(block));
}
