//! IQ1: eight of -1, 0 and 1 from a grid, moved up or down by 1/8, and a scale of three bits.

use std::arch::x86_64::*;

use super::grids::{crossed_digits, join16, odd_scales8, picked, spread, upper16};
use crate::simd::avx2::lanes::{is_16_bit, store16};
use crate::simd::{Number, avx2};

/// A shuffle that puts each of four u16 into four lanes.
const WORDS: [u16; 16] = spread(4, 0x0100, 0x0202);

/// Factors that move four fields of three bits, one per lane, to bits 9 to 11.
const THREE_BITS: [u16; 8] = [512, 64, 8, 1, 512, 64, 8, 1];

/// What the digits stand for, in both halves.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn numbers() -> __m256 {
    _mm256_setr_ps(-1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0)
}

/// The upper bits of four nibbles, each as eight bytes: the bytes are
/// [`crossed`](avx2::crossed), and 4 where the bit is set.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn crossed_directions(nibbles: [u8; 2]) -> __m256i {
    let each = |byte: u8| i64::from_le_bytes([byte; 8]);
    let byte = _mm256_setr_epi64x(each(0), each(1), each(0), each(1));
    let bit = _mm256_setr_epi64x(each(8), each(8), each(128), each(128));
    let bytes = _mm256_shuffle_epi8(_mm256_set1_epi16(i16::from_le_bytes(nibbles)), byte);
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    _mm256_and_si256(set, _mm256_set1_epi8(4))
}

/// A block of single-precision numbers from its scales and its deltas, both spread evenly over the
/// 32 runs of eight; `entry` gives the digits of a run.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn decode<T: Number, const SCALES: usize, const DELTAS: usize>(
    out: &mut [T; 256],
    scales: &[f32; SCALES],
    deltas: &[f32; DELTAS],
    entry: impl Fn(usize) -> &'static [u8; 8],
) {
    // SAFETY: sixteen are written.
    unsafe {
        let numbers = numbers();
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            for (half, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let mut lanes = [_mm256_setzero_ps(); 2];
                for (part, lanes) in lanes.iter_mut().enumerate() {
                    let eight = 2 * half + part;
                    let delta = _mm256_set1_ps(deltas[(4 * group + eight) * DELTAS / 32]);
                    let scale = _mm256_set1_ps(scales[(4 * group + eight) * SCALES / 32]);
                    let table = _mm256_mul_ps(_mm256_add_ps(numbers, delta), scale);
                    *lanes = picked(table, entry(4 * group + eight));
                }
                store16(out.as_mut_ptr(), lanes[0], lanes[1]);
            }
        }
    }
}

/// Writes 1/8 eight times to `at`, negative where the highest bit of a lane is set.
///
/// # Safety
///
/// `at` has room for eight. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn deltas8(at: &mut [f32], down: __m256i) {
    debug_assert!(at.len() >= 8);
    // SAFETY: eight are written.
    unsafe {
        let sign = _mm256_and_ps(_mm256_castsi256_ps(down), _mm256_set1_ps(-0.0));
        _mm256_storeu_ps(at.as_mut_ptr(), _mm256_or_ps(sign, _mm256_set1_ps(0.125)));
    }
}

/// IQ1_S.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq1_s<T: Number>(block: &[u8; 50], grid: &'static [[u8; 8]; 2048], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let mut entries = [0u16; 32];
        for half in 0..2 {
            let words = at.add(34 + 8 * half).cast::<i64>().read_unaligned();
            // One place too high, so that the last three bits move up like the others.
            let upper = upper16(words, &WORDS, THREE_BITS, 0xe00);
            let upper = _mm256_srli_epi16::<1>(upper);
            join16(&mut entries[16 * half..], at.add(2 + 16 * half), upper);
        }
        let words = _mm256_cvtepu16_epi32(_mm_loadu_si128(at.add(34).cast()));
        let (mut scales, mut deltas) = ([0.0; 8], [0.0; 8]);
        let s = _mm256_and_si256(_mm256_srli_epi32::<12>(words), _mm256_set1_epi32(7));
        odd_scales8(&mut scales, s, avx2::half(at));
        deltas8(&mut deltas, _mm256_slli_epi32::<16>(words));
        // SAFETY: a byte and three bits above it are below 2048.
        let entry = |eight: usize| grid.get_unchecked(usize::from(entries[eight]));
        if !is_16_bit::<T>() {
            return decode(out, &scales, &deltas, entry);
        }
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let codes = crossed_digits([0, 1, 2, 3].map(|eight| entry(4 * group + eight)));
            let moved = _mm256_add_ps(numbers(), _mm256_set1_ps(deltas[group]));
            let table = _mm256_mul_ps(moved, _mm256_set1_ps(scales[group]));
            avx2::Table16::new::<T>(table, table).store_crossed32(out.as_mut_ptr(), codes);
        }
    }
}

/// IQ1_M.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq1_m<T: Number>(
    block: &[u8; 56],
    grid: &'static [[u8; 8]; 2048],
    scale: f32,
    out: &mut [T; 256],
) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let (mut entries, mut deltas) = ([0u16; 32], [0.0; 32]);
        for half in 0..2 {
            let bytes = at.add(32 + 8 * half).cast::<i64>().read_unaligned();
            // Two lanes take each byte; one nibble in each moves to bits 8 to 11.
            const SPREAD: [u16; 16] = spread(2, 0xff00, 1);
            let times = [256, 16, 256, 16, 256, 16, 256, 16];
            let nibbles = upper16(bytes, &SPREAD, times, 0xf00);
            let upper = _mm256_and_si256(nibbles, _mm256_set1_epi16(0x700));
            join16(&mut entries[16 * half..], at.add(16 * half), upper);
            let down = _mm256_slli_epi16::<4>(nibbles);
            let lower = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(down));
            let upper = _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(down));
            deltas8(&mut deltas[16 * half..], _mm256_slli_epi32::<16>(lower));
            deltas8(&mut deltas[16 * half + 8..], _mm256_slli_epi32::<16>(upper));
        }
        let words = at.add(48).cast::<i64>().read_unaligned();
        let s = _mm256_srli_epi16::<9>(upper16(words, &WORDS, THREE_BITS, 0xe00));
        let (mut scales, d) = ([0.0; 16], scale);
        odd_scales8(&mut scales, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(s)), d);
        odd_scales8(&mut scales[8..], _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(s)), d);
        // SAFETY: a byte and three bits above it are below 2048.
        let entry = |eight: usize| grid.get_unchecked(usize::from(entries[eight]));
        if !is_16_bit::<T>() {
            return decode(out, &scales, &deltas, entry);
        }
        // Codes: two bits of digit, the direction, which of the two scales.
        let second = i64::from_le_bytes([8; 8]);
        let second = _mm256_setr_epi64x(0, second, 0, second);
        let moved = _mm256_setr_ps(-0.875, 0.125, 1.125, 0.0, -1.125, -0.125, 0.875, 0.0);
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let digits = crossed_digits([0, 1, 2, 3].map(|eight| entry(4 * group + eight)));
            let directions = crossed_directions([block[32 + 2 * group], block[33 + 2 * group]]);
            let codes = _mm256_or_si256(_mm256_or_si256(digits, directions), second);
            let low = _mm256_mul_ps(moved, _mm256_set1_ps(scales[2 * group]));
            let high = _mm256_mul_ps(moved, _mm256_set1_ps(scales[2 * group + 1]));
            avx2::Table16::new::<T>(low, high).store_crossed32(out.as_mut_ptr(), codes);
        }
    }
}
