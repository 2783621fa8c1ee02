//! IQ3: four magnitudes from a grid, a sign each, and a scale of four bits over 32 of them.

use std::arch::x86_64::*;

use super::grids::{crossed_bits, even_signs, join16, odd_scales8, signed, spread, upper16};
use crate::simd::avx2::lanes::{is_16_bit, store16};
use crate::simd::{Number, avx2};

struct Grid<const N: usize> {
    /// What digits stand for.
    magnitudes: [f32; 8],
    /// The entries' digits.
    digits: &'static [[u8; 4]; N],
    /// The entries' magnitudes.
    numbers: &'static [[f32; 4]; N],
}

/// A block from its signs, 32 per group, and its scales; `entry` gives the index in the grid of
/// four elements.
///
/// # Safety
///
/// Every index lies in the grid. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn decode<T: Number, const N: usize>(
    out: &mut [T; 256],
    grid: &Grid<N>,
    signs: &[[u8; 4]],
    scales: &[f32; 8],
    entry: impl Fn(usize) -> usize,
) {
    for (group, (out, &signs)) in out.as_chunks_mut::<32>().0.iter_mut().zip(signs).enumerate() {
        let entries = [0, 1, 2, 3, 4, 5, 6, 7].map(|four| entry(8 * group + four));
        // SAFETY: entries lie in the grid and have four numbers; 32 are written.
        unsafe {
            let scale = _mm256_set1_ps(scales[group]);
            if is_16_bit::<T>() {
                // Codes: three bits of digit, the sign.
                let [a, b, c, d, e, f, g, h] =
                    entries.map(|entry| i32::from_le_bytes(*grid.digits.get_unchecked(entry)));
                let digits = _mm256_setr_epi32(a, b, e, f, c, d, g, h);
                let codes = _mm256_or_si256(digits, crossed_bits(signs, 8));
                let numbers = _mm256_mul_ps(_mm256_loadu_ps(grid.magnitudes.as_ptr()), scale);
                avx2::Table16::signed::<T>(numbers).store_crossed32(out.as_mut_ptr(), codes);
                continue;
            }
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
                store16(out.as_mut_ptr(), lanes[0], lanes[1]);
            }
        }
    }
}

/// IQ3_XXS.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq3_xxs<T: Number>(
    block: &[u8; 98],
    magnitudes: [f32; 8],
    digits: &'static [[u8; 4]; 256],
    numbers: &'static [[f32; 4]; 256],
    out: &mut [T; 256],
) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let words = _mm256_loadu_si256(at.add(66).cast());
        let mut signs = [[0; 4]; 8];
        _mm256_storeu_si256(signs.as_mut_ptr().cast(), even_signs(words));
        let mut scales = [0.0; 8];
        // (s + 1/2) / 2 is (2 s + 1) / 4.
        odd_scales8(&mut scales, _mm256_srli_epi32::<28>(words), avx2::half(at) * 0.25);
        let grid = Grid { magnitudes, digits, numbers };
        decode(out, &grid, &signs, &scales, |four| usize::from(block[2 + four]));
    }
}

/// IQ3_S.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq3_s<T: Number>(
    block: &[u8; 110],
    magnitudes: [f32; 8],
    digits: &'static [[u8; 4]; 512],
    numbers: &'static [[f32; 4]; 512],
    out: &mut [T; 256],
) {
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
        let signs = block[74..106].as_chunks().0;
        let grid = Grid { magnitudes, digits, numbers };
        // A byte and a bit above it are below 512.
        decode(out, &grid, signs, &scales, |four| usize::from(entries[four]));
    }
}
