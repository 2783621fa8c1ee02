//! Four-bit floats (a sign, two bits of exponent, one of fraction) with scales of eight bits.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | MXFP4 | exponent `e`; 16 bytes of nibbles | doubled(q) 2^(e - 128) |
//! | NVFP4 | four scales `s`; four times 8 bytes of nibbles | doubled(q) half(s) |
//!
//! In the bytes of one scale low nibbles are the first half of the elements, high nibbles the
//! second half. `doubled` is twice what a nibble stands for, an integer, and its -0 is 0. The
//! exponent 255 is a number like any other (2^127, or infinity from a magnitude of 2 on), not NaN.
//! A scale of NVFP4 has four bits of exponent, biased by 7, and three of fraction; its highest
//! bit does not count, 0x7f is 0, and 0xff is 480.
//!
//! Encoding: the exponent of MXFP4 is that of the largest magnitude, less 2; a scale of NVFP4 is the
//! largest magnitude of its 16 numbers over 6, rounded half away from zero. A nibble is the nearest
//! of the sixteen, the first of equals. ggml has no further scale for NVFP4, so that the scales of
//! small weights are subnormal, or 0.

use half::{bf16, f16};

use super::kernel::{Blocks, Encodes, Kernel, Rows, coder};
use super::rounding::largest_magnitude;
use crate::dtype::DType;
use crate::simd::{self, Isa, Level, Number, Task};

pub(super) static KERNELS: &[Kernel] =
    &[coder::<Mxfp4, Mxfp4, 17, 32>(), coder::<Nvfp4, Nvfp4, 36, 64>()];

/// Twice what the sixteen nibbles stand for.
const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Bytes of nibbles as doubled numbers times a scale.
#[inline(always)]
fn doubled_times_scale<const BYTES: usize>(nibbles: &[u8; BYTES], scale: f32, out: &mut [f32]) {
    let (low, high) = out.split_at_mut(BYTES);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(nibbles) {
        *low = f32::from(DOUBLED[usize::from(byte & 15)]) * scale;
        *high = f32::from(DOUBLED[usize::from(byte >> 4)]) * scale;
    }
}

/// 2^(exponent - 128); the two least are subnormal.
#[inline(always)]
pub(super) const fn half_power(exponent: u8) -> f32 {
    f32::from_bits(match exponent {
        0 | 1 => 0x0020_0000 << exponent,
        _ => (exponent as u32 - 1) << 23,
    })
}

/// Half of what a scale of NVFP4 stands for.
const fn half_scale(scale: u8) -> f32 {
    if scale == 0x7f {
        return 0.0;
    }
    // The seven bits moved to where a single-precision number has them lack 120 in the exponent;
    // the product makes up for it, takes half, and is exact for subnormal scales too.
    f32::from_bits((scale as u32 & 0x7f) << 20) * f32::from_bits((127 + 120 - 1) << 23)
}

/// A function of every byte.
macro_rules! of_every_byte {
    ($function:ident) => {{
        let mut table = [0.0; 256];
        let mut byte = 0u8;
        loop {
            table[byte as usize] = $function(byte);
            match byte.checked_add(1) {
                Some(next) => byte = next,
                None => break table,
            }
        }
    }};
}

/// Half of what every scale of NVFP4 stands for.
static HALF_SCALES: [f32; 256] = of_every_byte!(half_scale);

static MXFP4: Finished = Finished::new(&of_every_byte!(half_power));

static NVFP4: Finished = Finished::new(&HALF_SCALES);

/// All values that a type can have, as the bytes of 16-bit numbers: for each scale the lower
/// bytes of sixteen numbers, then the upper bytes.
struct Finished {
    bf16: [[u8; 32]; 256],
    f16: [[u8; 32]; 256],
}

impl Finished {
    const fn new(scales: &[f32; 256]) -> Self {
        let mut tables = Self { bf16: [[0; 32]; 256], f16: [[0; 32]; 256] };
        let mut index = 0;
        while index < 256 * 16 {
            let (scale, nibble) = (index / 16, index % 16);
            let value = DOUBLED[nibble] as f32 * scales[scale];
            let bf16 = bf16::from_f32_const(value).to_bits().to_le_bytes();
            let f16 = f16::from_f32_const(value).to_bits().to_le_bytes();
            [tables.bf16[scale][nibble], tables.bf16[scale][16 + nibble]] = bf16;
            [tables.f16[scale][nibble], tables.f16[scale][16 + nibble]] = f16;
            index += 1;
        }
        tables
    }

    /// The numbers of a scale, in a 16-bit type.
    #[inline(always)]
    fn of<T: Number>(&self, scale: u8) -> &[u8; 32] {
        let tables = if T::DTYPE == DType::BF16 { &self.bf16 } else { &self.f16 };
        &tables[usize::from(scale)]
    }
}

struct Mxfp4;

impl Blocks<17, 32> for Mxfp4 {
    const NAME: &'static str = "MXFP4";

    #[inline(always)]
    fn define(block: &[u8; 17], out: &mut [f32; 32]) {
        let [exponent, nibbles @ ..] = block;
        doubled_times_scale(nibbles, half_power(*exponent), out);
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 17], out: &mut [T; 32]) {
        let (scale, finished) = (half_power(block[0]), MXFP4.of::<T>(block[0]));
        isa.mxfp4(block, &DOUBLED, scale, finished, out, |values| Self::define(block, values));
    }
}

struct Nvfp4;

/// Half of what the four scales of an NVFP4 block stand for.
#[inline(always)]
pub(super) fn half_scales(block: &[u8; 36]) -> [f32; 4] {
    [0, 1, 2, 3].map(|group| HALF_SCALES[usize::from(block[group])])
}

impl Blocks<36, 64> for Nvfp4 {
    const NAME: &'static str = "NVFP4";

    #[inline(always)]
    fn define(block: &[u8; 36], out: &mut [f32; 64]) {
        let (scales, nibbles) = block.split_at(4);
        let groups = nibbles.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<16>().0);
        for ((nibbles, out), &scale) in groups.zip(scales) {
            doubled_times_scale(nibbles, HALF_SCALES[usize::from(scale)], out);
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 36], out: &mut [T; 64]) {
        let finished = [0, 1, 2, 3].map(|group| NVFP4.of::<T>(block[group]));
        let define = |values: &mut _| Self::define(block, values);
        isa.nvfp4(block, &DOUBLED, half_scales(block), finished, out, define);
    }
}

/// NVFP4 blocks times a factor, any number: both products are rounded in single precision.
pub(super) fn nvfp4_times<T: Number>(level: Level, blocks: &[u8], factor: f32, out: &mut [T]) {
    // Blocks have no NaN. A quiet NaN as the factor can be narrowed without a check.
    let factor = if factor.is_nan() { f32::NAN } else { factor };
    let (blocks, out) = (blocks.as_chunks().0, out.as_chunks_mut().0);
    debug_assert_eq!(blocks.len(), out.len());
    simd::run(level, Nvfp4Times { blocks, factor, out });
}

/// The task of [`nvfp4_times`].
struct Nvfp4Times<'a, T> {
    blocks: &'a [[u8; 36]],
    factor: f32,
    out: &'a mut [[T; 64]],
}

impl<T: Number> Task for Nvfp4Times<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let factor = self.factor;
        for (block, out) in self.blocks.iter().zip(self.out) {
            isa.nvfp4_times(block, &DOUBLED, half_scales(block), factor, out, |values| {
                Nvfp4::define(block, values);
                values.iter_mut().for_each(|value| *value *= factor);
            });
        }
    }
}

/// The nearest of the sixteen numbers times a scale, the first of equals: the definition.
fn nearest_nibble(value: f32, scale: f32) -> u8 {
    let mut best = (0, value.abs());
    for (nibble, doubled) in (0..).zip(DOUBLED) {
        let error = (f32::from(doubled) * scale - value).abs();
        if error < best.1 {
            best = (nibble, error);
        }
    }
    best.0
}

/// Halfway between the doubled numbers.
const HALFWAY: [f32; 7] = [0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0];

/// The nearest numbers times a scale, of which `most` is the largest magnitude.
#[inline(always)]
fn nearest_nibbles<const N: usize>(values: &[f32; N], scale: f32, most: f32) -> [u8; N] {
    // Far beyond the largest number errors are equal once they are rounded. Below, those on both
    // sides of a halfway mark are exact.
    if most > 64.0 * scale {
        return values.map(|value| nearest_nibble(value, scale));
    }
    let halfway = HALFWAY.map(|mark| mark * scale);
    values.map(|value| {
        let magnitude = halfway.iter().fold(0, |n, &mark| n + u8::from(value.abs() > mark));
        magnitude | (u8::from(value < 0.0) & u8::from(magnitude > 0)) << 3
    })
}

/// Nibbles of the first half of a group in the lower half of the bytes.
#[inline(always)]
fn pack_halves<const BYTES: usize>(nibbles: &[u8], out: &mut [u8]) {
    let (low, high) = (&nibbles[..BYTES], &nibbles[BYTES..2 * BYTES]);
    for ((out, low), high) in out[..BYTES].iter_mut().zip(low).zip(high) {
        *out = low | high << 4;
    }
}

/// The largest magnitude, NaN passed over.
#[inline(always)]
fn most_of(values: &[f32]) -> f32 {
    match largest_magnitude(values) {
        most if most.is_nan() => values.iter().fold(0.0, |most, value| value.abs().max(most)),
        most => most,
    }
}

/// The exponent of a block whose largest magnitude is known, as ggml has it: it wraps around for
/// magnitudes below 2^-125, and is 0 for infinity.
#[inline(always)]
fn exponent_of(most: f32) -> u8 {
    let (bits, is_normal) = (most.to_bits(), most.is_normal());
    // Its logarithm is rounded to single precision, which gives a whole number too early.
    let below_power = bits & 0x007f_ff00 == 0x007f_ff00;
    let floor = if is_normal && !below_power {
        (bits >> 23).cast_signed() - 127
    } else if most == 0.0 || most == f32::INFINITY {
        return 0;
    } else {
        #[allow(clippy::cast_possible_truncation)] // The rounding is intended; the value is small.
        let floor = (f64::from(most).log2() as f32).floor() as i32;
        floor
    };
    (floor + 125).to_le_bytes()[0]
}

impl Encodes<Self, 17, 32> for Mxfp4 {
    #[inline(always)]
    fn encode<I: Isa>(_: I, rows: Rows<'_>, out: &mut [[u8; 17]]) {
        for (values, [exponent, nibbles @ ..]) in rows.values.as_chunks::<32>().0.iter().zip(out) {
            let most = most_of(values);
            *exponent = exponent_of(most);
            pack_halves::<16>(&nearest_nibbles(values, half_power(*exponent), most), nibbles);
        }
    }
}

/// The scale of NVFP4 that is nearest to a number, ties away from zero; but from 248 on it is 448,
/// as in ggml.
#[inline(always)]
fn scale_of(number: f32) -> u8 {
    const LEAST_NORMAL: f32 = 1.0 / 64.0;
    if number <= 0.0 {
        return 0;
    }
    if number >= 248.0 {
        return 0x7e;
    }
    if number < LEAST_NORMAL {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // At most 8.
        let steps = (number * 512.0 + 0.5) as u8;
        // What would round up to a normal number stays the largest subnormal one.
        return steps.min(7);
    }
    // Half of the last place is added; a carry runs into the exponent, which lacks 120.
    let rounded = (number.to_bits() + (1 << 19)) >> 20;
    (rounded - (120 << 3)).to_le_bytes()[0]
}

impl Encodes<Self, 36, 64> for Nvfp4 {
    #[inline(always)]
    fn encode<I: Isa>(_: I, rows: Rows<'_>, out: &mut [[u8; 36]]) {
        for (values, out) in rows.values.as_chunks::<64>().0.iter().zip(out) {
            let (scales, nibbles) = out.split_at_mut(4);
            let groups = values.as_chunks::<16>().0.iter().zip(nibbles.as_chunks_mut::<8>().0);
            for ((values, nibbles), scale) in groups.zip(scales) {
                let most = most_of(values);
                *scale = scale_of(most / 6.0);
                let half = HALF_SCALES[usize::from(*scale)];
                pack_halves::<8>(&nearest_nibbles(values, half, most), nibbles);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Out;
    use crate::simd::agreement::{self, Subject};

    #[test]
    fn a_factor_is_applied_alike_at_every_level() {
        let inputs: Vec<Vec<u8>> = (0..=255)
            .map(|byte: u8| (0..36).map(|at| byte.wrapping_mul(at | 1) ^ at).collect())
            .collect();
        let factors = [1.0, -0.0037, 1e-39, 3e38, f32::INFINITY, f32::NAN, 0.0];
        for factor in factors.into_iter().chain([f32::from_bits(0xff80_0001)]) {
            let subject = Subject {
                name: "NVFP4 times a factor",
                elements: 64,
                bytes: 36,
                decode: &|level, bytes, out| match out {
                    Out::F32(out) => nvfp4_times(level, bytes, factor, out),
                    Out::Bf16(out) => nvfp4_times(level, bytes, factor, out),
                    Out::F16(out) => nvfp4_times(level, bytes, factor, out),
                },
            };
            agreement::check(&subject, &inputs);
        }
    }
}
