//! Whole slices from one type to another, at a level.
#![allow(unsafe_code)]

use super::{Level, Number, Set};

/// Fills `out` with `f` of each `N` bytes, compiled for the level.
pub(crate) fn map<const N: usize>(
    level: Level,
    bytes: &[u8],
    out: &mut [f32],
    f: impl Fn([u8; N]) -> f32,
) {
    match level.set() {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { map_avx2(bytes, out, f) },
        _ => map_scalar(bytes, out, f),
    }
}

#[inline(always)]
fn map_scalar<const N: usize>(bytes: &[u8], out: &mut [f32], f: impl Fn([u8; N]) -> f32) {
    out.iter_mut().zip(bytes.as_chunks().0).for_each(|(out, bytes)| *out = f(*bytes));
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn map_avx2<const N: usize>(bytes: &[u8], out: &mut [f32], f: impl Fn([u8; N]) -> f32) {
    map_scalar(bytes, out, f);
}

/// Asks for memory that will be written soon. Rows of an output lie pages apart: where a kernel
/// goes from row to row, the CPU does not see it coming.
#[inline(always)]
pub(crate) fn prefetch<T>(level: Level, out: &[T]) {
    #[cfg(target_arch = "x86_64")]
    if level.set() == Set::Avx2 {
        use std::arch::x86_64::*;
        for at in (0..size_of_val(out)).step_by(64) {
            // SAFETY: inside the slice; and a prefetch reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(out.as_ptr().cast::<i8>().add(at)) }
        }
    }
}

/// Rounds each of `values` to `out`'s type. NaN stays NaN.
pub(crate) fn narrow<T: Number>(level: Level, values: &[f32], out: &mut [T]) {
    match level.set() {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { narrow_avx2(values, out) },
        _ => narrow_scalar(values, out),
    }
}

#[inline(never)]
fn narrow_scalar<T: Number>(values: &[f32], out: &mut [T]) {
    out.iter_mut().zip(values).for_each(|(o, &value)| *o = T::narrow(value));
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn narrow_avx2<T: Number>(values: &[f32], out: &mut [T]) {
    use std::arch::x86_64::*;
    let ((values, rest), (out, rest_out)) = (values.as_chunks::<8>(), out.as_chunks_mut::<8>());
    for (values, out) in values.iter().zip(out) {
        // SAFETY: eight are read, eight are written; the caller saw to the CPU.
        unsafe {
            T::store8(out.as_mut_ptr(), T::any_nan(_mm256_loadu_ps(values.as_ptr())));
        }
    }
    rest_out.iter_mut().zip(rest).for_each(|(o, &value)| *o = T::narrow(value));
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    /// Ties, both ends of the ranges, and NaNs with every kind of fraction.
    fn values() -> Vec<f32> {
        let uppers = (0..=u16::MAX).step_by(37).chain([0x7f80, 0x7fff, 0xff80, 0xffff, 0x477f]);
        let lowers = [0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff];
        uppers
            .flat_map(|upper| lowers.map(|low| f32::from_bits(u32::from(upper) << 16 | low)))
            .collect()
    }

    #[test]
    fn every_level_narrows_slices_of_every_length_as_the_half_crate_does() {
        let values = values();
        for &level in Level::available() {
            for values in (0..40).map(|len| &values[..len]).chain([&values[..]]) {
                let (mut bf, mut hf) =
                    (vec![bf16::ZERO; values.len()], vec![f16::ZERO; values.len()]);
                narrow(level, values, &mut bf);
                narrow(level, values, &mut hf);
                for ((&value, bf), hf) in values.iter().zip(bf).zip(hf) {
                    assert_eq!(bf.to_bits(), bf16::from_f32(value).to_bits(), "{value:e}");
                    assert_eq!(hf.to_bits(), f16::from_f32(value).to_bits(), "{value:e}");
                }
            }
        }
    }

    #[test]
    fn every_level_maps_every_element() {
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let mut scalar = vec![0.0; 1 << 16];
        map(Level::BASELINE, &bytes, &mut scalar, |x| {
            super::super::half_to_f32(u16::from_le_bytes(x))
        });
        for &level in Level::available() {
            let mut out = vec![0.0; 1 << 16];
            map(level, &bytes, &mut out, |x| super::super::half_to_f32(u16::from_le_bytes(x)));
            assert!(out.iter().zip(&scalar).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
