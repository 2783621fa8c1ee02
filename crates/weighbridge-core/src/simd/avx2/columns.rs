//! Codes that are stored by columns: words transposed in registers.

use std::arch::x86_64::*;
use std::ops::Range;

use super::transpose::four_columns;
use crate::simd::Number;
use crate::simd::avx2::lanes::store8;
use crate::simd::columns::{EIGHT, EightColumns};

/// Transposes all whole blocks of eight rows and four columns, starting with the first; returns
/// how many rows and columns it transposed.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn turn_words<'a, const BYTES: usize, const COLUMNS: usize>(
    streams: &mut [[u8; BYTES]; COLUMNS],
    row_of: impl Fn(usize) -> &'a [u8],
    columns: &Range<usize>,
    rows: &Range<usize>,
) -> (usize, usize) {
    let (whole_rows, whole_columns) = (rows.len() / 8 * 8, columns.len() / 4 * 4);
    for row in (0..whole_rows).step_by(8) {
        let words: [&[u8]; 8] = std::array::from_fn(|i| {
            &row_of(rows.start + row + i)[4 * columns.start..4 * columns.end]
        });
        for column in (0..whole_columns).step_by(4) {
            // SAFETY: each row has four words from there on, and `eight` has 32 bytes.
            unsafe {
                let four = four_columns(|row| words[row].as_ptr().add(4 * column));
                for (i, words) in four.into_iter().enumerate() {
                    let eight = &mut streams[column + i][4 * row..4 * row + 32];
                    _mm256_storeu_si256(eight.as_mut_ptr().cast(), words);
                }
            }
        }
    }
    (whole_rows, whole_columns)
}

/// Nibble `p` of each word of register `i` becomes nibble `i` of that word of register `p`.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn exchange_nibbles(mut words: [__m256i; 8]) -> [__m256i; 8] {
    let low_nibbles = _mm256_set1_epi8(0x0f);
    let low_bytes = _mm256_set1_epi16(0x00ff);
    for [i, j] in [[0, 1], [2, 3], [4, 5], [6, 7]] {
        let (a, b) = (words[i], words[j]);
        // The shifts move whole words: the mask removes what comes in from the next byte.
        let b_low = _mm256_slli_epi16::<4>(_mm256_and_si256(b, low_nibbles));
        let a_high = _mm256_and_si256(_mm256_srli_epi16::<4>(a), low_nibbles);
        words[i] = _mm256_or_si256(_mm256_and_si256(a, low_nibbles), b_low);
        words[j] = _mm256_or_si256(a_high, _mm256_andnot_si256(low_nibbles, b));
    }
    for [i, j] in [[0, 2], [1, 3], [4, 6], [5, 7]] {
        let (a, b) = (words[i], words[j]);
        let b_low = _mm256_slli_epi16::<8>(b);
        words[i] = _mm256_or_si256(_mm256_and_si256(a, low_bytes), b_low);
        words[j] = _mm256_or_si256(_mm256_srli_epi16::<8>(a), _mm256_andnot_si256(low_bytes, b));
    }
    for [i, j] in [[0, 4], [1, 5], [2, 6], [3, 7]] {
        let (a, b) = (words[i], words[j]);
        words[i] = _mm256_blend_epi16::<0b1010_1010>(a, _mm256_slli_epi32::<16>(b));
        words[j] = _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(a), b);
    }
    words
}

/// Regroups all whole blocks of 64 inputs of `columns`, starting with the first; returns how many
/// inputs it regrouped. Reads at most eight words of each row.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn turn_nibbles<'a, const BYTES: usize, const COLUMNS: usize>(
    streams: &mut [[u8; BYTES]; COLUMNS],
    row_of: impl Fn(usize) -> &'a [u8],
    columns: &Range<usize>,
    inputs: &Range<usize>,
    order: [u32; 8],
) -> usize {
    let words = columns.start / 8..columns.end.div_ceil(8);
    let whole = inputs.len() / 64 * 64;
    // The words of 64 inputs, eight inputs in each row: [inputs / 8][nibble][word].
    let mut block = [[[0u32; 8]; 8]; 8];
    for first in (0..whole).step_by(64) {
        for (eighth, block) in block.iter_mut().enumerate() {
            // SAFETY: each row of `block` has room for eight words.
            unsafe {
                let rows = std::array::from_fn(|i| {
                    let row = row_of(inputs.start + first + 8 * eighth + i);
                    load_words(&row[4 * words.start..4 * words.end])
                });
                for (words, block) in exchange_nibbles(rows).into_iter().zip(block) {
                    _mm256_storeu_si256(block.as_mut_ptr().cast(), words);
                }
            }
        }
        for (output, nibble) in (0..8).zip(order) {
            for word in (0..words.len()).step_by(4) {
                let row = |eighth: usize| &block[eighth][nibble as usize][word..word + 4];
                // SAFETY: each row has four words from there on, and `eight` has 32 bytes.
                unsafe {
                    let four = four_columns(|eighth| row(eighth).as_ptr().cast());
                    for (i, found) in four.into_iter().enumerate().take(words.len() - word) {
                        let stream = &mut streams[8 * (word + i) + output];
                        let eight = &mut stream[first / 2..first / 2 + 32];
                        _mm256_storeu_si256(eight.as_mut_ptr().cast(), found);
                    }
                }
            }
        }
    }
    whole
}

/// Up to eight words, the rest zero.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn load_words(bytes: &[u8]) -> __m256i {
    // SAFETY: eight words are read, from `bytes` if it is long enough, otherwise from `words`.
    unsafe {
        if bytes.len() >= 32 {
            return _mm256_loadu_si256(bytes.as_ptr().cast());
        }
        let mut words = [0u8; 32];
        words[..bytes.len()].copy_from_slice(bytes);
        _mm256_loadu_si256(words.as_ptr().cast())
    }
}

/// Decodes eight columns side by side.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn eight_columns<'a, T: Number, const STRIDE: usize>(
    codes: EightColumns<'a, impl Fn(usize) -> &'a [u8], STRIDE>,
    out: &mut [T],
) {
    let EightColumns { bits, words: words_of, groups, factors: [scales, zeros] } = codes;
    let mask = _mm256_set1_epi32((u32::MAX >> (32 - bits)).cast_signed());
    let shift = _mm_cvtsi32_si128(bits.cast_signed());
    let per_word = 32 / bits as usize;
    let rows = groups.chunks(per_word).zip(out.chunks_mut(EIGHT * per_word));
    for (row, (groups, out)) in rows.enumerate() {
        let mut words = load_words(words_of(row));
        for (group, out) in groups.iter().zip(out.as_chunks_mut::<EIGHT>().0) {
            let at = u32::from_le_bytes(*group) as usize * STRIDE;
            let (scales, zeros) = (&scales[at..at + EIGHT], &zeros[at..at + EIGHT]);
            // SAFETY: eight factors of each kind are read, eight numbers written.
            unsafe {
                let code = _mm256_cvtepi32_ps(_mm256_and_si256(words, mask));
                let above = _mm256_sub_ps(code, _mm256_loadu_ps(zeros.as_ptr()));
                let value = _mm256_mul_ps(above, _mm256_loadu_ps(scales.as_ptr()));
                store8(out.as_mut_ptr(), value);
                words = _mm256_srl_epi32(words, shift);
            }
        }
    }
}
