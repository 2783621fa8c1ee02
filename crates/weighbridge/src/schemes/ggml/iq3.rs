//! IQ3: four magnitudes from a grid, a sign each, and a scale of four bits over 32 of them.
//!
//! | type | bytes of a block of 256 | value |
//! |---|---|---|
//! | IQ3_XXS | f16 `d`; 64 grid bytes; for each 32: u32 of four times seven signs and the scale | d (s + 1/2) / 2 times the signed magnitude |
//! | IQ3_S | f16 `d`; 64 lower grid bytes; 64 ninth bits of the grid; 32 times eight signs; 8 scales | d (2 s + 1) times the signed magnitude |
//!
//! Where seven signs are stored, the eighth makes their number even.
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::grids::avx2::{
    crossed_bits, even_signs as even_signs8, join16, odd_scales8, signed, spread, upper16,
};
use super::grids::{self, even_signs, scale_signed};
use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Xxs, 98, 256>(), kernel::<S, 110, 256>()];

/// Two entries of a grid side by side.
#[inline(always)]
fn pair([a, b, c, d]: [u8; 4], [e, f, g, h]: [u8; 4]) -> [u8; 8] {
    [a, b, c, d, e, f, g, h]
}

/// A grid for the AVX2 form.
#[cfg(target_arch = "x86_64")]
struct Grid<const N: usize> {
    /// What digits stand for.
    magnitudes: [f32; 8],
    /// The entries' digits.
    digits: &'static [[u8; 4]; N],
    /// The entries' magnitudes.
    numbers: &'static [[f32; 4]; N],
}

/// A block from its signs, 32 a group, and its scales; `entry` gives the place in the grid of
/// four elements.
///
/// # Safety
///
/// Every place lies in the grid.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn decode<T: Number, const N: usize>(
    out: &mut [T; 256],
    grid: &Grid<N>,
    signs: &[[u8; 4]; 8],
    scales: &[f32; 8],
    entry: impl Fn(usize) -> usize,
) {
    for (group, (out, &signs)) in out.as_chunks_mut().0.iter_mut().zip(signs).enumerate() {
        let entries = [0, 1, 2, 3, 4, 5, 6, 7].map(|four| entry(8 * group + four));
        // SAFETY: passed on.
        unsafe {
            let scale = _mm256_set1_ps(scales[group]);
            if T::IS_16_BIT {
                looked_up32(out, grid, entries, signs, scale);
            } else {
                multiplied32(out, grid, entries, signs, scale);
            }
        }
    }
}

/// A group of single-precision numbers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn multiplied32<T: Number, const N: usize>(
    out: &mut [T; 32],
    grid: &Grid<N>,
    entries: [usize; 8],
    signs: [u8; 4],
    scale: __m256,
) {
    // SAFETY: entries lie in the grid and have four numbers; twice sixteen are written.
    unsafe {
        let signs = _mm256_set1_epi32(i32::from_le_bytes(signs));
        for (half, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let mut lanes = [_mm256_setzero_ps(); 2];
            for (part, lanes) in lanes.iter_mut().enumerate() {
                let eight = 2 * half + part;
                let first = grid.numbers.get_unchecked(entries[2 * eight]);
                let second = grid.numbers.get_unchecked(entries[2 * eight + 1]);
                let numbers = _mm256_loadu2_m128(second.as_ptr(), first.as_ptr());
                *lanes = signed(_mm256_mul_ps(numbers, scale), signs, eight);
            }
            T::store16(out.as_mut_ptr(), lanes[0], lanes[1]);
        }
    }
}

/// A group of sixteen-bit numbers. Codes: three bits of digit, the sign.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn looked_up32<T: Number, const N: usize>(
    out: &mut [T; 32],
    grid: &Grid<N>,
    entries: [usize; 8],
    signs: [u8; 4],
    scale: __m256,
) {
    // SAFETY: entries lie in the grid; 32 are written.
    unsafe {
        let [a, b, c, d, e, f, g, h] =
            entries.map(|entry| i32::from_le_bytes(*grid.digits.get_unchecked(entry)));
        let digits = _mm256_setr_epi32(a, b, e, f, c, d, g, h);
        let codes = _mm256_or_si256(digits, crossed_bits(signs, 8));
        let numbers = _mm256_mul_ps(_mm256_loadu_ps(grid.magnitudes.as_ptr()), scale);
        avx2::Table16::signed::<T>(numbers).store_crossed32(out.as_mut_ptr(), codes);
    }
}

struct Xxs;

impl Blocks<98, 256> for Xxs {
    const NAME: &'static str = "IQ3_XXS";

    #[inline(always)]
    fn define(block: &[u8; 98], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (entries, words) = (block[2..66].as_chunks::<2>().0, block[66..].as_chunks::<4>().0);
        for (index, (&entries, out)) in entries.iter().zip(out.chunks_exact_mut(8)).enumerate() {
            let word = u32::from_le_bytes(words[index / 4]);
            let scale = d * (0.5 + f32::from(words[index / 4][3] >> 4)) * 0.5;
            let [first, second] = entries.map(|entry| grids::IQ3_XXS[usize::from(entry)]);
            scale_signed(out, scale, pair(first, second), even_signs(word >> (7 * (index % 4))));
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 98], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block.
        unsafe {
            let at = block.as_ptr();
            let words = _mm256_loadu_si256(at.add(66).cast());
            let mut signs = [[0; 4]; 8];
            _mm256_storeu_si256(signs.as_mut_ptr().cast(), even_signs8(words));
            let mut scales = [0.0; 8];
            // (s + 1/2) / 2 is (2 s + 1) / 4.
            odd_scales8(&mut scales, _mm256_srli_epi32::<28>(words), avx2::half(at) * 0.25);
            let grid = Grid {
                magnitudes: [4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0],
                digits: &grids::avx2::IQ3_XXS.0,
                numbers: &grids::avx2::IQ3_XXS_NUMBERS.0,
            };
            decode(out, &grid, &signs, &scales, |four| usize::from(block[2 + four]));
        }
    }
}

struct S;

impl Blocks<110, 256> for S {
    const NAME: &'static str = "IQ3_S";

    #[inline(always)]
    fn define(block: &[u8; 110], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (lower, ninth, signs, scales) =
            (&block[2..66], &block[66..74], &block[74..106], &block[106..110]);
        let entry = |at: usize| {
            let above = usize::from(ninth[at / 8] >> (at % 8) & 1);
            grids::IQ3_S[usize::from(lower[at]) | above << 8]
        };
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let scale = scales[index / 8] >> (index / 4 % 2 * 4) & 15;
            let scale = d * (1.0 + 2.0 * f32::from(scale));
            scale_signed(out, scale, pair(entry(2 * index), entry(2 * index + 1)), signs[index]);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 110], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block.
        unsafe {
            let at = block.as_ptr();
            const SPREADS: [[u16; 16]; 4] = [
                spread(8, 0xff00, 1),
                spread(8, 0xff02, 1),
                spread(8, 0xff04, 1),
                spread(8, 0xff06, 1),
            ];
            let mut entries = [0u16; 64];
            let bytes = at.add(66).cast::<i64>().read_unaligned();
            for (part, spread) in SPREADS.iter().enumerate() {
                let times = [256, 128, 64, 32, 16, 8, 4, 2];
                let upper = upper16(bytes, spread, times, 0x100);
                join16(&mut entries[16 * part..], at.add(2 + 16 * part), upper);
            }
            let mut scales = [0.0; 8];
            let bytes = _mm_cvtsi32_si128(at.add(106).cast::<i32>().read_unaligned());
            let both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16::<4>(bytes));
            let nibbles = _mm_and_si128(both, _mm_set1_epi8(15));
            odd_scales8(&mut scales, _mm256_cvtepu8_epi32(nibbles), avx2::half(at));
            let signs = block[74..106].as_chunks::<4>().0.as_array().unwrap();
            let grid = Grid {
                magnitudes: [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0],
                digits: &grids::avx2::IQ3_S.0,
                numbers: &grids::avx2::IQ3_S_NUMBERS.0,
            };
            // A byte and a bit above it are below 512.
            decode(out, &grid, signs, &scales, |four| usize::from(entries[four]));
        }
    }
}
