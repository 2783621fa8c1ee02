//! IQ1: eight of -1, 0 and 1 from a grid, moved up or down by 1/8, and a scale of three bits.
//!
//! | type | bytes of a block of 256 |
//! |---|---|
//! | IQ1_S | f16 `d`; 32 lower grid bytes; for each 32 a u16: four times the upper three bits of the grid, the scale, the direction |
//! | IQ1_M | 32 lower grid bytes; for each 8 a nibble: the upper three bits of the grid, the direction; four u16 |
//!
//! Each u16 of IQ1_M holds four scales, for 16 elements each, and above them four bits of the f16
//! `d`, the lowest first. A direction that is set means down. Value: d (2 s + 1) times the moved
//! number.
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::grids;
#[cfg(target_arch = "x86_64")]
use super::grids::avx2::{crossed_digits, join16, odd_scales8, picked, spread, upper16};
use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::half_to_f32;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] = &[kernel::<S, 50, 256>(), kernel::<M, 56, 256>()];

/// What a scale of three bits, the lowest of `bits`, makes of `d`.
#[inline(always)]
fn scaled(d: f32, bits: u16) -> f32 {
    d * f32::from(2 * (bits & 7) + 1)
}

/// Eight numbers of the grid, moved and scaled.
#[inline(always)]
fn scale_moved(out: &mut [f32], scale: f32, entry: [u8; 8], down: bool) {
    let delta = if down { -0.125 } else { 0.125 };
    for (out, number) in out.iter_mut().zip(entry) {
        *out = scale * (f32::from(number.cast_signed()) + delta);
    }
}

/// A shuffle that puts each of four u16 into four lanes.
#[cfg(target_arch = "x86_64")]
const WORDS: [u16; 16] = spread(4, 0x0100, 0x0202);
/// What moves four fields of three bits, one a lane, to bits 9 to 11.
#[cfg(target_arch = "x86_64")]
const THREE_BITS: [u16; 8] = [512, 64, 8, 1, 512, 64, 8, 1];

/// What the digits stand for, in both halves.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn numbers() -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_setr_ps(-1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0) }
}

/// The upper bits of four nibbles, each as eight bytes: the bytes are
/// [`crossed`](avx2::crossed), and 4 where the bit is set.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn crossed_directions(nibbles: [u8; 2]) -> __m256i {
    // SAFETY: registers only.
    unsafe {
        let each = |byte: u8| i64::from_le_bytes([byte; 8]);
        let byte = _mm256_setr_epi64x(each(0), each(1), each(0), each(1));
        let bit = _mm256_setr_epi64x(each(8), each(8), each(128), each(128));
        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi16(i16::from_le_bytes(nibbles)), byte);
        let set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
        _mm256_and_si256(set, _mm256_set1_epi8(4))
    }
}

/// 32 sixteen-bit numbers of IQ1_M. Codes: two bits of digit, the direction, which of the two
/// scales.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn looked_up32_of_m<T: Number>(
    out: &mut [T; 32],
    digits: __m256i,
    nibbles: [u8; 2],
    scales: [f32; 2],
) {
    // SAFETY: 32 are written.
    unsafe {
        let second = i64::from_le_bytes([8; 8]);
        let codes = _mm256_or_si256(
            _mm256_or_si256(digits, crossed_directions(nibbles)),
            _mm256_setr_epi64x(0, second, 0, second),
        );
        let moved = _mm256_setr_ps(-0.875, 0.125, 1.125, 0.0, -1.125, -0.125, 0.875, 0.0);
        let low = _mm256_mul_ps(moved, _mm256_set1_ps(scales[0]));
        let high = _mm256_mul_ps(moved, _mm256_set1_ps(scales[1]));
        avx2::Table16::new::<T>(low, high).store_crossed32(out.as_mut_ptr(), codes);
    }
}

/// The grid's entry at a place of eleven bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn in_grid(place: u16) -> &'static [u8; 8] {
    // SAFETY: the grid has 2048 entries.
    unsafe { grids::avx2::IQ1.0.get_unchecked(usize::from(place)) }
}

/// A block of single-precision numbers from its scales and its deltas, of which there is one for every so many of the 32
/// eights; `entry` gives the digits of eight.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn decode<T: Number, const SCALES: usize, const DELTAS: usize>(
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
                T::store16(out.as_mut_ptr(), lanes[0], lanes[1]);
            }
        }
    }
}

/// Eight times 1/8, negative where the highest bit of a lane is set, to `at`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn deltas8(at: &mut [f32], down: __m256i) {
    debug_assert!(at.len() >= 8);
    // SAFETY: eight are written.
    unsafe {
        let sign = _mm256_and_ps(_mm256_castsi256_ps(down), _mm256_set1_ps(-0.0));
        _mm256_storeu_ps(at.as_mut_ptr(), _mm256_or_ps(sign, _mm256_set1_ps(0.125)));
    }
}

struct S;

impl Blocks<50, 256> for S {
    const NAME: &'static str = "IQ1_S";

    #[inline(always)]
    fn define(block: &[u8; 50], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (lower, words) = (&block[2..34], block[34..].as_chunks::<2>().0);
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let word = u16::from_le_bytes(words[index / 4]);
            let above = usize::from(word >> (index % 4 * 3) & 7);
            let entry = grids::IQ1[usize::from(lower[index]) | above << 8];
            scale_moved(out, scaled(d, word >> 12), entry, word >> 15 == 1);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 50], out: &mut [T; 256]) {
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
            let entry = |eight: usize| in_grid(entries[eight]);
            if !T::IS_16_BIT {
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
}

struct M;

/// The four u16 of scales, and `d` from their upper bits.
#[inline(always)]
fn scales_of_m(block: &[u8; 56]) -> ([u16; 4], f32) {
    let at = |word: usize| u16::from_le_bytes([block[48 + 2 * word], block[49 + 2 * word]]);
    let words = [at(0), at(1), at(2), at(3)];
    let d = words.iter().rev().fold(0, |d, word| d << 4 | word >> 12);
    (words, half_to_f32(d))
}

impl Blocks<56, 256> for M {
    const NAME: &'static str = "IQ1_M";

    #[inline(always)]
    fn define(block: &[u8; 56], out: &mut [f32; 256]) {
        let (scales, d) = scales_of_m(block);
        let (lower, nibbles) = (&block[..32], &block[32..48]);
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let nibble = nibbles[index / 2] >> (index % 2 * 4);
            let scale = scaled(d, scales[index / 8] >> (index / 2 % 4 * 3));
            let entry = grids::IQ1[usize::from(lower[index]) | usize::from(nibble & 7) << 8];
            scale_moved(out, scale, entry, nibble & 8 != 0);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 56], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block.
        unsafe {
            let at = block.as_ptr();
            let (mut entries, mut deltas) = ([0u16; 32], [0.0; 32]);
            for half in 0..2 {
                let bytes = at.add(32 + 8 * half).cast::<i64>().read_unaligned();
                // Each byte for two lanes, of which either nibble moves to bits 8 to 11.
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
            let (mut scales, d) = ([0.0; 16], scales_of_m(block).1);
            odd_scales8(&mut scales, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(s)), d);
            odd_scales8(
                &mut scales[8..],
                _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(s)),
                d,
            );
            let entry = |eight: usize| in_grid(entries[eight]);
            if !T::IS_16_BIT {
                return decode(out, &scales, &deltas, entry);
            }
            for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                let digits = crossed_digits([0, 1, 2, 3].map(|eight| entry(4 * group + eight)));
                let nibbles = [block[32 + 2 * group], block[33 + 2 * group]];
                let scales = [scales[2 * group], scales[2 * group + 1]];
                looked_up32_of_m(out, digits, nibbles, scales);
            }
        }
    }
}
