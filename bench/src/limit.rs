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
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { pass_avx2::<SIZE>(input, unit, output) };
    }
    pass_any::<SIZE>(input, unit, output);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pass_avx2<const SIZE: usize>(input: &[u8], unit: usize, output: &mut [u8]) {
    pass_any::<SIZE>(input, unit, output);
}

#[inline(always)]
fn pass_any<const SIZE: usize>(input: &[u8], unit: usize, output: &mut [u8]) {
    assert!(unit >= 32 && input.len() / unit * STEP * SIZE == output.len());
    let mut seen = [0u64; 4];
    for (source, target) in input.chunks_exact(unit).zip(output.chunks_exact_mut(STEP * SIZE)) {
        let (lines, _) = source.as_chunks::<32>();
        lines.iter().for_each(|line| mix(&mut seen, line));
        source.last_chunk::<32>().into_iter().for_each(|line| mix(&mut seen, line));
        for line in target.as_chunks_mut::<32>().0 {
            for (bytes, word) in line.as_chunks_mut::<8>().0.iter_mut().zip(seen) {
                *bytes = word.to_ne_bytes();
            }
        }
    }
}

#[inline(always)]
fn mix(seen: &mut [u64; 4], line: &[u8; 32]) {
    for (word, bytes) in seen.iter_mut().zip(line.as_chunks::<8>().0) {
        *word ^= u64::from_ne_bytes(*bytes);
    }
}
