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
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use half::{bf16, f16};

use super::kernel::{Blocks, Kernel, kernel};
#[cfg(target_arch = "x86_64")]
use super::simple::nibbles32;
#[cfg(target_arch = "x86_64")]
use crate::dtype::DType;
#[cfg(target_arch = "x86_64")]
use crate::simd::avx2;
use crate::simd::{Level, Number, Set};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Mxfp4, 17, 32>(), kernel::<Nvfp4, 36, 64>()];

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
const fn half_power(exponent: u8) -> f32 {
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

#[cfg(target_arch = "x86_64")]
static MXFP4: Finished = Finished::new(&of_every_byte!(half_power));
#[cfg(target_arch = "x86_64")]
static NVFP4: Finished = Finished::new(&HALF_SCALES);

/// All values that a type can have, as the bytes of 16-bit numbers: for each scale the lower
/// bytes of sixteen numbers, then the upper bytes.
#[cfg(target_arch = "x86_64")]
struct Finished {
    bf16: [[u8; 32]; 256],
    f16: [[u8; 32]; 256],
}

#[cfg(target_arch = "x86_64")]
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
    unsafe fn table<T: Number>(&self, scale: u8) -> avx2::Table16 {
        let tables = if T::DTYPE == DType::BF16 { &self.bf16 } else { &self.f16 };
        // SAFETY: passed on.
        unsafe { avx2::Table16::load(&tables[usize::from(scale)]) }
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

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 17], out: &mut [T; 32]) {
        // SAFETY: everything read lies in the block; twice sixteen are written.
        unsafe {
            let out = out.as_mut_ptr();
            if T::IS_16_BIT {
                let codes = avx2::crossed_nibbles32(block.as_ptr().add(1));
                return MXFP4.table::<T>(block[0]).store_crossed32(out, codes);
            }
            let table = _mm_loadu_si128(DOUBLED.as_ptr().cast());
            let scale = _mm256_set1_ps(half_power(block[0]));
            let (bytes, low) = (_mm_loadu_si128(block.as_ptr().add(1).cast()), _mm_set1_epi8(15));
            let first = _mm_and_si128(bytes, low);
            let second = _mm_and_si128(_mm_srli_epi16::<4>(bytes), low);
            avx2::scaled16(out, _mm_shuffle_epi8(table, first), scale);
            avx2::scaled16(out.add(16), _mm_shuffle_epi8(table, second), scale);
        }
    }
}

struct Nvfp4;

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

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 36], out: &mut [T; 64]) {
        // SAFETY: everything read lies in the block; four times sixteen are written.
        unsafe {
            let (at, out) = (block.as_ptr(), out.as_mut_ptr());
            if T::IS_16_BIT {
                for pair in 0..2 {
                    // Low nibbles of two groups in the lower half, high nibbles in the upper.
                    let codes = nibbles32(at.add(4 + 16 * pair));
                    let table = |group| NVFP4.table::<T>(block[2 * pair + group]);
                    let out = out.add(32 * pair).cast::<__m256i>();
                    _mm256_storeu_si256(out, table(0).look_up(codes)[0]);
                    _mm256_storeu_si256(out.add(1), table(1).look_up(codes)[1]);
                }
                return;
            }
            nvfp4_avx2(block, out, |lanes| lanes);
        }
    }
}

/// The four groups of an NVFP4 block by way of single precision; `finish` sees each value last.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn nvfp4_avx2<T: Number>(block: &[u8; 36], out: *mut T, finish: impl Fn(__m256) -> __m256) {
    // SAFETY: everything read lies in the block; four times sixteen are written.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(DOUBLED.as_ptr().cast()));
        let (bytes, low) = (_mm256_loadu_si256(block.as_ptr().add(4).cast()), _mm256_set1_epi8(15));
        let first = _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, low));
        let second = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
        let second = _mm256_shuffle_epi8(table, second);
        // Low nibbles and high nibbles of eight bytes: groups 0 and 2, then 1 and 3.
        let even = _mm256_unpacklo_epi64(first, second);
        let odd = _mm256_unpackhi_epi64(first, second);
        for (group, values) in [
            _mm256_castsi256_si128(even),
            _mm256_castsi256_si128(odd),
            _mm256_extracti128_si256::<1>(even),
            _mm256_extracti128_si256::<1>(odd),
        ]
        .into_iter()
        .enumerate()
        {
            let scale = _mm256_set1_ps(HALF_SCALES[usize::from(block[group])]);
            let (out, value) = (out.add(16 * group), |lanes| finish(_mm256_mul_ps(lanes, scale)));
            // Weaving saves shuffles where rounding needs them too.
            if T::DTYPE == DType::BF16 {
                let words = _mm256_cvtepi8_epi16(values);
                T::store_woven16(out, value(avx2::even(words)), value(avx2::odd(words)));
            } else {
                let (low, high) = (values, _mm_srli_si128::<8>(values));
                T::store16(out, value(avx2::signed8(low)), value(avx2::signed8(high)));
            }
        }
    }
}

/// NVFP4 blocks times a factor, any number: both products are rounded in single precision.
pub(super) fn nvfp4_times<T: Number>(level: Level, blocks: &[u8], factor: f32, out: &mut [T]) {
    let (blocks, out) = (blocks.as_chunks().0, out.as_chunks_mut().0);
    debug_assert_eq!(blocks.len(), out.len());
    match level.set() {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { nvfp4_times_avx2(blocks, factor, out) },
        _ => {
            for (block, out) in blocks.iter().zip(out) {
                T::through(out, |values| {
                    Nvfp4::define(block, values);
                    values.iter_mut().for_each(|value| *value *= factor);
                });
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn nvfp4_times_avx2<T: Number>(blocks: &[[u8; 36]], factor: f32, out: &mut [[T; 64]]) {
    // Blocks have no NaN. Of the plain one, products can be narrowed without a look at them.
    let factor = _mm256_set1_ps(if factor.is_nan() { f32::NAN } else { factor });
    for (block, out) in blocks.iter().zip(out) {
        // SAFETY: the caller saw to the CPU.
        unsafe { nvfp4_avx2(block, out.as_mut_ptr(), |lanes| _mm256_mul_ps(lanes, factor)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::Out;
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
