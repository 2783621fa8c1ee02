//! Whole slices from one type to another, at a level.
#![allow(unsafe_code)]

use super::{Level, Number};

/// Rounds each of `values` to `out`'s type. NaN stays NaN.
pub(crate) fn narrow<T: Number>(level: Level, values: &[f32], out: &mut [T]) {
    match level {
        Level::Baseline => narrow_scalar(values, out),
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { narrow_avx2(values, out) },
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 => narrow_scalar(values, out),
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
            let lanes = _mm256_loadu_ps(values.as_ptr());
            // Any NaN may come here: its fraction is cut to what `store8` asks for.
            let quiet = _mm256_or_ps(
                _mm256_and_ps(
                    lanes,
                    _mm256_castsi256_ps(_mm256_set1_epi32(0xffc0_0000_u32.cast_signed())),
                ),
                _mm256_castsi256_ps(_mm256_set1_epi32(0x0040_0000)),
            );
            let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(lanes, lanes);
            T::store8(out.as_mut_ptr(), _mm256_blendv_ps(lanes, quiet, nan));
        }
    }
    rest_out.iter_mut().zip(rest).for_each(|(o, &value)| *o = T::narrow(value));
}
