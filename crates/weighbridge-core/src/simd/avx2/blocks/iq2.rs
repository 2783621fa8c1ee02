//! IQ2: eight magnitudes from a grid, a sign each, and a scale of four bits over 16 or 32 of them.

use std::arch::x86_64::*;

use super::grids::{
    crossed_bits, crossed_digits, even, even_signs, join16, odd_scales8, picked, signed, spread,
    upper16,
};
use crate::simd::avx2::lanes::{is_16_bit, store16};
use crate::simd::{Number, avx2};

/// A block from its signs, 32 per group, and its scales; `entry` gives the digits of eight.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn decode<T: Number, const SCALES: usize>(
    out: &mut [T; 256],
    signs: &[[u8; 4]],
    scales: &[f32; SCALES],
    entry: impl Fn(usize) -> &'static [u8; 8],
) {
    // What digits stand for, in both halves.
    let magnitudes = _mm256_setr_ps(8.0, 25.0, 43.0, 0.0, 8.0, 25.0, 43.0, 0.0);
    for (group, (out, &signs)) in out.as_chunks_mut::<32>().0.iter_mut().zip(signs).enumerate() {
        let entries = [0, 1, 2, 3].map(|eight| entry(4 * group + eight));
        let scales = [0, 1].map(|half| scales[(2 * group + half) * SCALES / 16]);
        // SAFETY: 32 are written.
        unsafe {
            if is_16_bit::<T>() {
                // Codes: two bits of digit, which of the two scales, the sign.
                let second = i64::from_le_bytes([4; 8]);
                let codes = _mm256_or_si256(
                    _mm256_or_si256(crossed_digits(entries), crossed_bits(signs, 8)),
                    _mm256_setr_epi64x(0, second, 0, second),
                );
                let scales = _mm256_set_m128(_mm_set1_ps(scales[1]), _mm_set1_ps(scales[0]));
                let table = avx2::Table16::signed::<T>(_mm256_mul_ps(magnitudes, scales));
                table.store_crossed32(out.as_mut_ptr(), codes);
                continue;
            }
            let signs = _mm256_set1_epi32(i32::from_le_bytes(signs));
            for (half, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let (first, second) = (2 * half, 2 * half + 1);
                let table = _mm256_mul_ps(magnitudes, _mm256_set1_ps(scales[half]));
                let low = signed(picked(table, entries[first]), signs, first);
                let high = signed(picked(table, entries[second]), signs, second);
                store16(out.as_mut_ptr(), low, high);
            }
        }
    }
}

/// The scales that the 16 nibbles at `at` and `d` give.
///
/// # Safety
///
/// Eight bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn scales16(at: *const u8, d: f32) -> [f32; 16] {
    let mut scales = [0.0; 16];
    // SAFETY: eight bytes may be read.
    unsafe {
        let bytes = _mm_loadl_epi64(at.cast());
        let both = _mm_unpacklo_epi8(bytes, _mm_srli_epi16::<4>(bytes));
        let nibbles = _mm_and_si128(both, _mm_set1_epi8(15));
        // (s + 1/2) / 4 is (2 s + 1) / 8.
        odd_scales8(&mut scales, _mm256_cvtepu8_epi32(nibbles), d * 0.125);
        let upper = _mm_srli_si128::<8>(nibbles);
        odd_scales8(&mut scales[8..], _mm256_cvtepu8_epi32(upper), d * 0.125);
    }
    scales
}

/// IQ2_XXS.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq2_xxs<T: Number>(block: &[u8; 66], grid: &'static [[u8; 8]; 256], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let words = |at: *const u8| _mm256_castsi256_ps(_mm256_loadu_si256(at.cast()));
        // The odd words of both, within 128-bit halves; the permutation puts them in order.
        let odd = _mm256_shuffle_ps::<0b11_01_11_01>(words(at.add(2)), words(at.add(34)));
        let odd = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(odd));
        let mut signs = [[0; 4]; 8];
        _mm256_storeu_si256(signs.as_mut_ptr().cast(), even_signs(odd));
        let mut scales = [0.0; 8];
        odd_scales8(&mut scales, _mm256_srli_epi32::<28>(odd), avx2::half(at) * 0.125);
        decode(out, &signs, &scales, |eight| {
            &grid[usize::from(block[2 + eight / 4 * 8 + eight % 4])]
        });
    }
}

/// IQ2_XS.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq2_xs<T: Number>(block: &[u8; 74], grid: &'static [[u8; 8]; 512], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let words = |at: *const u8| _mm256_srli_epi16::<9>(_mm256_loadu_si256(at.cast()));
        // Packing works within 128-bit halves; the permutation puts them in order.
        let sevens = _mm256_packus_epi16(words(at.add(2)), words(at.add(34)));
        let sevens = _mm256_permute4x64_epi64::<0b11_01_10_00>(sevens);
        let mut signs = [[0; 4]; 8];
        _mm256_storeu_si256(signs.as_mut_ptr().cast(), even(sevens));
        let scales = scales16(at.add(66), avx2::half(at));
        decode(out, &signs, &scales, |eight| {
            let word = u16::from_le_bytes([block[2 + 2 * eight], block[3 + 2 * eight]]);
            &grid[usize::from(word & 511)]
        });
    }
}

/// IQ2_S.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq2_s<T: Number>(block: &[u8; 82], grid: &'static [[u8; 8]; 1024], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        const SPREADS: [[u16; 16]; 2] = [spread(4, 0xff00, 1), spread(4, 0xff04, 1)];
        let mut entries = [0u16; 32];
        let bytes = at.add(66).cast::<i64>().read_unaligned();
        for (half, spread) in SPREADS.iter().enumerate() {
            let times = [256, 64, 16, 4, 256, 64, 16, 4];
            let upper = upper16(bytes, spread, times, 0x300);
            join16(&mut entries[16 * half..], at.add(2 + 16 * half), upper);
        }
        let signs = block[34..66].as_chunks().0;
        decode(out, signs, &scales16(at.add(74), avx2::half(at)), |eight| {
            // SAFETY: a byte and two bits above it are below 1024.
            grid.get_unchecked(usize::from(entries[eight]))
        });
    }
}
