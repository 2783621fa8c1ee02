//! The least that decoding must do: read every byte of the input and write every byte of the
//! output, with ordinary stores.
//!
//! Neither a copy nor a fill of the standard library, which switch to stores that bypass the
//! cache on large buffers: what is written here depends on what was read, so the loop stays a
//! loop of vector stores.
#![allow(unsafe_code)]

/// Elements that are read and written in one step: every block type's count divides it.
const STEP: usize = 256;

/// Reads `input`, of which `unit` bytes make 256 elements, and writes `SIZE` bytes an element.
pub fn pass<const SIZE: usize>(input: &[u8], unit: usize, output: &mut [u8]) {
    assert!(unit >= 32 && input.len() / unit * STEP * SIZE == output.len());
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { pass_avx2::<SIZE>(input, unit, output) };
    }
    pass_words::<SIZE>(input, unit, output);
}

/// With the widest vectors that are common. Every 32 elements: what they take is read, then what
/// they give is written; longer bursts of either were slower. Intrinsics, since the compiler
/// would rearrange the reading into something slower.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pass_avx2<const SIZE: usize>(input: &[u8], unit: usize, output: &mut [u8]) {
    use std::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
    };
    const PARTS: usize = STEP / 32;
    let load = |source: &[u8], at: usize| {
        // The last line of a unit may begin a little early: its bytes are then read twice.
        let at = at.min(unit - 32);
        // SAFETY: the source is `unit` bytes long, so 32 of them begin there; an unaligned load
        // needs no more.
        unsafe { _mm256_loadu_si256(source.as_ptr().add(at).cast::<__m256i>()) }
    };
    let mut seen = _mm256_setzero_si256();
    for (source, target) in input.chunks_exact(unit).zip(output.chunks_exact_mut(STEP * SIZE)) {
        for (part, target) in target.as_chunks_mut::<32>().0.chunks_exact_mut(SIZE).enumerate() {
            let (mut at, end) = (unit * part / PARTS, unit * (part + 1) / PARTS);
            while at < end {
                seen = _mm256_xor_si256(seen, load(source, at));
                at += 32;
            }
            for line in target {
                // SAFETY: the 32 bytes are there and ours to write.
                unsafe { _mm256_storeu_si256(line.as_mut_ptr().cast::<__m256i>(), seen) };
            }
        }
    }
}

/// With what every processor has.
fn pass_words<const SIZE: usize>(input: &[u8], unit: usize, output: &mut [u8]) {
    let mut seen = [0u64; 2];
    let mut mix = |line: &[u8; 16]| {
        for (word, bytes) in seen.iter_mut().zip(line.as_chunks::<8>().0) {
            *word ^= u64::from_ne_bytes(*bytes);
        }
        seen
    };
    for (source, target) in input.chunks_exact(unit).zip(output.chunks_exact_mut(STEP * SIZE)) {
        let mut now = [0; 2];
        for line in source.as_chunks::<16>().0.iter().chain(source.last_chunk::<16>()) {
            now = mix(line);
        }
        for line in target.as_chunks_mut::<16>().0 {
            for (bytes, word) in line.as_chunks_mut::<8>().0.iter_mut().zip(now) {
                *bytes = word.to_ne_bytes();
            }
        }
    }
}
