//! Weights of -1, 0 and 1 times one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | TQ1_0 | 32, 16 and 4 bytes of base-3 digits; f16 `d` | (digit - 1) d |
//! | TQ2_0 | twice 32 bytes of 2-bit numbers; f16 `d` | (q - 1) d |
//!
//! A run of bytes holds as many elements for its first digits, then as many for its second
//! digits, and so on: five digits a byte, four in the last 4 bytes. A byte is a fraction of 256
//! whose base-3 digits follow the point: three times it has the first digit above its eight bits
//! and the remaining ones below. In TQ2_0 a run of 32 bytes holds 32 elements in its lowest two
//! bits, 32 in the next two, and so on; nothing writes the number 3, which reads as 2.
//!
//! Encoding: `d` is the largest magnitude, digits are the numbers times 1 / d, rounded half away
//! from zero.

use super::kernel::{Blocks, Encodes, Kernel, Rows, coder, decoded_by, half_at};
use super::rounding::{half_bytes, largest_magnitude};
use crate::simd::Isa;

pub(super) static KERNELS: &[Kernel] =
    &[coder::<Tq1_0, Tq1_0, 54, 256>(), coder::<Tq2_0, Tq2_0, 66, 256>()];

/// Where the runs of a TQ1_0 block start: in the block, and among the elements.
const SECOND: (usize, usize) = (32, 160);
const THIRD: (usize, usize) = (48, 240);

/// A run of bytes: their first digits, their second digits, and so on.
#[inline(always)]
fn digits_times_scale<const BYTES: usize>(run: &[u8], scale: f32, out: &mut [f32]) {
    let mut rest: [u8; BYTES] = run.as_chunks().0[0];
    for out in out.as_chunks_mut::<BYTES>().0 {
        for (out, rest) in out.iter_mut().zip(&mut rest) {
            let digit = (u16::from(*rest) * 3) >> 8;
            *out = f32::from(digit.cast_signed() - 1) * scale;
            *rest = rest.wrapping_mul(3);
        }
    }
}

struct Tq1_0;

impl Blocks<54, 256> for Tq1_0 {
    const NAME: &'static str = "TQ1_0";

    #[inline(always)]
    fn define(block: &[u8; 54], out: &mut [f32; 256]) {
        let d = half_at(block, 52);
        digits_times_scale::<32>(block, d, &mut out[..SECOND.1]);
        digits_times_scale::<16>(&block[SECOND.0..], d, &mut out[SECOND.1..THIRD.1]);
        digits_times_scale::<4>(&block[THIRD.0..], d, &mut out[THIRD.1..]);
    }

    decoded_by!(54 => 256: tq1_0(block));
}

struct Tq2_0;

impl Blocks<66, 256> for Tq2_0 {
    const NAME: &'static str = "TQ2_0";

    #[inline(always)]
    fn define(block: &[u8; 66], out: &mut [f32; 256]) {
        let d = half_at(block, 64);
        for (run, out) in block.as_chunks::<32>().0.iter().zip(out.as_chunks_mut::<128>().0) {
            for (shift, out) in [0, 2, 4, 6].into_iter().zip(out.as_chunks_mut::<32>().0) {
                for (out, byte) in out.iter_mut().zip(run) {
                    *out = f32::from((byte >> shift & 3).cast_signed() - 1) * d;
                }
            }
        }
    }

    decoded_by!(66 => 256: tq2_0(block));
}

/// Digits of a block, each between 0 and 2, and its scale.
#[inline(always)]
fn digits(values: &[f32; 256]) -> ([u8; 256], [u8; 2]) {
    let d = match largest_magnitude(values) {
        // What ggml's macro leaves of numbers with NaN among them.
        d if d.is_nan() => values.iter().fold(0.0, |d, v| if d > v.abs() { d } else { v.abs() }),
        d => d,
    };
    let inverse = if d == 0.0 { 0.0 } else { 1.0 / d };
    (values.map(|value| digit(value * inverse)), half_bytes(d))
}

/// -1, 0 or 1, plus one. What no integer holds is 0.
#[inline(always)]
fn digit(value: f32) -> u8 {
    let is_far = (value.abs() >= 0.5) & (value.abs() < f32::INFINITY);
    1 + u8::from(is_far & (value > 0.0)) - u8::from(is_far & (value < 0.0))
}

/// Digits that become a run of bytes, as many as `PLACES` for each byte.
#[inline(always)]
fn pack_run<const BYTES: usize, const PLACES: usize>(digits: &[u8], run: &mut [u8]) {
    let (digits, run) = (digits.as_chunks::<BYTES>().0, &mut run[..BYTES]);
    for (index, byte) in run.iter_mut().enumerate() {
        let places = (0..5).map(|place| if place < PLACES { digits[place][index] } else { 0 });
        let number = places.fold(0u16, |number, digit| number * 3 + u16::from(digit));
        // The fraction of 256, rounded up.
        *byte = (number * 256).div_ceil(243).to_le_bytes()[0];
    }
}

impl Encodes<Self, 54, 256> for Tq1_0 {
    #[inline(always)]
    fn encode<I: Isa>(_: I, rows: Rows<'_>, out: &mut [[u8; 54]]) {
        for (values, out) in rows.values.as_chunks().0.iter().zip(out) {
            let (digits, d) = digits(values);
            pack_run::<32, 5>(&digits[..SECOND.1], out);
            pack_run::<16, 5>(&digits[SECOND.1..THIRD.1], &mut out[SECOND.0..]);
            pack_run::<4, 4>(&digits[THIRD.1..], &mut out[THIRD.0..]);
            out[52..].copy_from_slice(&d);
        }
    }
}

impl Encodes<Self, 66, 256> for Tq2_0 {
    #[inline(always)]
    fn encode<I: Isa>(_: I, rows: Rows<'_>, out: &mut [[u8; 66]]) {
        for (values, out) in rows.values.as_chunks().0.iter().zip(out) {
            let (digits, d) = digits(values);
            let halves = digits.as_chunks::<128>().0.iter();
            for (digits, run) in halves.zip(out.as_chunks_mut::<32>().0) {
                let [a, b, c, e] = [0, 32, 64, 96].map(|at| &digits[at..at + 32]);
                for index in 0..32 {
                    run[index] = a[index] | b[index] << 2 | c[index] << 4 | e[index] << 6;
                }
            }
            out[64..].copy_from_slice(&d);
        }
    }
}
