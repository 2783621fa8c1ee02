//! The least that decoding must do: read every byte of the input and write every byte of the
//! output, with ordinary stores.
//!
//! It does not use the standard library's copy or fill, which switch to stores that bypass the
//! cache on large buffers. What is written here depends on what was read, so the loop stays a
//! loop of vector stores.
#![allow(unsafe_code)]

/// Elements that are read and written in one step: every block type's count divides it.
const STEP: usize = 256;

/// Reads the parts of a tensor, one after the other, and writes `SIZE` bytes per element. Each part
/// gets the same share of the output as it has of the input. A part too short for a step is left
/// out.
pub fn pass_parts<const SIZE: usize>(parts: &[&[u8]], mut output: &mut [u8]) {
    let mut bytes: usize = parts.iter().map(|part| part.len()).sum();
    for part in parts {
        let steps = output.len() / (STEP * SIZE);
        // To the nearest step; in u128, since both factors are large.
        let (twice, whole) = (2 * steps as u128 * part.len() as u128, bytes.max(1) as u128);
        let share = ((twice + whole) / (2 * whole)) as usize;
        let (now, later) = output.split_at_mut(share * STEP * SIZE);
        if share > 0 {
            pass::<SIZE>(part, now);
        }
        (output, bytes) = (later, bytes - part.len());
    }
    assert!(output.is_empty(), "the last part takes what is left");
}

/// How long `steps` equal stretches of `len` bytes are, and where each begins. If `len` does not
/// divide evenly, some overlap by one byte.
fn stretches(len: usize, steps: usize) -> (usize, impl Iterator<Item = usize>) {
    let unit = len.div_ceil(steps);
    let (whole, rest) = (len / steps, len % steps);
    let (mut at, mut owed) = (0, 0);
    let starts = (0..steps).map(move |_| {
        let start = at;
        at += whole;
        owed += rest;
        if owed >= steps {
            (at, owed) = (at + 1, owed - steps);
        }
        start.min(len - unit)
    });
    (unit, starts)
}

/// Reads `input` and writes `SIZE` bytes per element, 256 elements at a time.
fn pass<const SIZE: usize>(input: &[u8], output: &mut [u8]) {
    let steps = output.len() / (STEP * SIZE);
    assert!(steps > 0 && input.len() / steps >= 32 && steps * STEP * SIZE == output.len());
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has the instructions that the function is compiled for.
        return unsafe { pass_avx2::<SIZE>(input, output) };
    }
    pass_words::<SIZE>(input, output);
}

/// With the widest vectors that are common. For every 32 elements, their input is read, then their
/// output written; longer bursts of either were slower. Uses intrinsics, since the compiler would
/// rearrange the reads into something slower.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pass_avx2<const SIZE: usize>(input: &[u8], output: &mut [u8]) {
    use std::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
    };
    const PARTS: usize = STEP / 32;
    let (unit, starts) = stretches(input.len(), output.len() / (STEP * SIZE));
    let load = |source: &[u8], at: usize| {
        // The last line of a unit may begin a little early: its bytes are then read twice.
        let at = at.min(unit - 32);
        // SAFETY: the source is `unit` bytes long, so 32 of them begin there; an unaligned load
        // needs no more.
        unsafe { _mm256_loadu_si256(source.as_ptr().add(at).cast::<__m256i>()) }
    };
    let mut seen = _mm256_setzero_si256();
    for (start, target) in starts.zip(output.chunks_exact_mut(STEP * SIZE)) {
        let source = &input[start..start + unit];
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

/// With instructions that every CPU has.
fn pass_words<const SIZE: usize>(input: &[u8], output: &mut [u8]) {
    let (unit, starts) = stretches(input.len(), output.len() / (STEP * SIZE));
    let mut seen = [0u64; 2];
    let mut mix = |line: &[u8; 16]| {
        for (word, bytes) in seen.iter_mut().zip(line.as_chunks::<8>().0) {
            *word ^= u64::from_ne_bytes(*bytes);
        }
        seen
    };
    for (start, target) in starts.zip(output.chunks_exact_mut(STEP * SIZE)) {
        let source = &input[start..start + unit];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_reach_every_byte() {
        for (len, steps) in [(1000, 7), (64, 2), (33, 1), (1001, 10)] {
            let (unit, starts) = stretches(len, steps);
            let mut end = 0;
            for start in starts {
                assert!(start <= end && start + unit <= len);
                end = start + unit;
            }
            assert_eq!(end, len);
        }
    }

    #[test]
    fn every_part_is_read_and_all_is_written() {
        let parts = [vec![1u8; 4096], vec![2; 1200], vec![4; 3]];
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let mut output = vec![0xffu8; 32 * STEP * 2];
        pass_parts::<2>(&parts, &mut output);
        assert!(output.iter().all(|byte| *byte < 8));
    }
}
