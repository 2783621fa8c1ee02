//! Numbers into the types of the first generation.

use crate::ggml::search::minimum::{self, Trials};
use crate::ggml::search::{farthest, half, important, low_byte, signed, squares, truncated};

/// What a type stores beside its codes.
#[derive(Clone, Copy)]
pub(in crate::ggml) enum Kind {
    /// A scale; codes lie between this number, negated, and one less than it.
    Signed(i16),
    /// A scale and a minimum; codes lie between zero and this.
    Minimum(u8),
}

/// What the types differ in.
pub(in crate::ggml) trait Simple<const BYTES: usize> {
    /// What is stored.
    const KIND: Kind;

    /// Stores the codes. Of each, as many bits as the type has.
    fn put(block: &mut [u8; BYTES], codes: &[u8; 32]);
}

/// The definition of [`Encodes`](crate::ggml::kernel::Encodes) for the types with few bits.
pub(in crate::ggml) fn define<T: Simple<BYTES>, const BYTES: usize>(
    row: &[f32],
    importance: Option<&[f32]>,
    out: &mut [[u8; BYTES]],
) {
    #[allow(clippy::cast_precision_loss)] // As ggml does it.
    let variance = importance.map(|_| squares(row) / row.len() as f32).unwrap_or_default();
    for (at, (values, block)) in row.as_chunks::<32>().0.iter().zip(out).enumerate() {
        if let Some(importance) = importance {
            define_weighted::<T, BYTES>(values, &importance[at * 32..][..32], variance, block);
            continue;
        }
        let (scales, codes) = match T::KIND {
            Kind::Signed(most) => define_signed(most, values),
            Kind::Minimum(most) => define_minimum(most, values),
        };
        put_scales(block, T::KIND, scales);
        T::put(block, &codes);
    }
}

/// A block, by the importance of its columns.
pub(super) fn define_weighted<T: Simple<BYTES>, const BYTES: usize>(
    values: &[f32; 32],
    importance: &[f32],
    variance: f32,
    block: &mut [u8; BYTES],
) {
    let weights = important(values, importance, variance);
    let found = match T::KIND {
        Kind::Signed(most) => signed::define(most, values, &weights),
        Kind::Minimum(most) => minimum::define(&trials(most), values, &weights),
    };
    put_scales(block, T::KIND, [found.scale, -found.below]);
    T::put(block, &found.codes);
}

/// What importance asks to be tried.
pub(super) const fn trials(most: u8) -> Trials {
    Trials { most, first: 0.0, by: 0.0, last: 0, plain_errors: false }.by_importance()
}

/// Stores the scale, and the minimum if there is one.
#[inline(always)]
pub(super) fn put_scales<const BYTES: usize>(
    block: &mut [u8; BYTES],
    kind: Kind,
    scales: [f32; 2],
) {
    let [scale, minimum] = scales.map(|scale| half(scale).to_le_bytes());
    block[..2].copy_from_slice(&scale);
    if matches!(kind, Kind::Minimum(_)) {
        block[2..4].copy_from_slice(&minimum);
    }
}

/// The inverse of a scale, or zero.
#[inline(always)]
fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

/// The scale that the number farthest from zero asks for, and codes from zero up.
fn define_signed(most: i16, values: &[f32; 32]) -> ([f32; 2], [u8; 32]) {
    let (_, of) = farthest(values);
    let (inverse, middle) = (inverse(of / -f32::from(most)), f32::from(most) + 0.5);
    let code = |value: f32| low_byte(truncated(value * inverse + middle)).cast_signed();
    let largest = 2 * most - 1;
    let codes = values.map(|value| low_byte(i32::from(i16::from(code(value)).min(largest))));
    ([of / -f32::from(most), 0.0], codes)
}

/// The scale and minimum that the extremes ask for.
fn define_minimum(most: u8, values: &[f32; 32]) -> ([f32; 2], [u8; 32]) {
    let min = values.iter().fold(f32::MAX, |min, &value| if value < min { value } else { min });
    let max = values.iter().fold(f32::MIN, |max, &value| if value > max { value } else { max });
    let scale = (max - min) / f32::from(most);
    let inverse = inverse(scale);
    let code = |value: f32| low_byte(truncated((value - min) * inverse + 0.5));
    // Five bits are cut by storing them.
    let codes = values.map(|value| match most {
        15 => code(value).cast_signed().min(15).cast_unsigned(),
        _ => code(value),
    });
    ([scale, min], codes)
}

/// The definition for bytes.
pub(in crate::ggml) fn define_bytes(row: &[f32], out: &mut [[u8; 34]]) {
    for (values, block) in row.as_chunks::<32>().0.iter().zip(out) {
        // What is no number is forgotten at the next one.
        let size = values.iter().fold(
            0.0,
            |most: f32, value| {
                if most > value.abs() { most } else { value.abs() }
            },
        );
        let d = size / 127.0;
        let inverse = inverse(d);
        block[..2].copy_from_slice(&half(d).to_le_bytes());
        for (value, code) in values.iter().zip(&mut block[2..]) {
            *code = low_byte(truncated((value * inverse).round()));
        }
    }
}
