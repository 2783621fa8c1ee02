//! Whole slices from one type to another, at a level.

use super::{Level, Number};

/// Fills `out` with `f` of each `N` bytes, compiled for the level.
pub fn map<const N: usize>(
    level: Level,
    bytes: &[u8],
    out: &mut [f32],
    f: impl Fn([u8; N]) -> f32,
) {
    map_chunks(level, bytes.as_chunks().0, out, f);
}

kernel! {
    fn map_chunks[const N: usize, F: Fn([u8; N]) -> f32](
        _isa; chunks: &[[u8; N]], out: &mut [f32], f: F
    ) -> () {
        out.iter_mut().zip(chunks).for_each(|(out, chunk)| *out = f(*chunk));
    }
}

kernel! {
    /// Prefetches memory that will be written soon. Rows of an output lie pages apart, so the CPU
    /// cannot predict the next one where a kernel goes from row to row.
    pub fn prefetch[T](isa; out: &[T]) -> () { isa.prefetch(out); }
}

kernel! {
    /// Rounds each of `values` to `out`'s type. NaN stays NaN.
    pub fn narrow[T: Number](isa; values: &[f32], out: &mut [T]) -> () { isa.narrow(values, out); }
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
