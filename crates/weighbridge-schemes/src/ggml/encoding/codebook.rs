//! Numbers into nibbles that choose from a table of steps.

use crate::ggml::codebook::STEPS;
#[cfg(test)]
use crate::ggml::search::squares;
use crate::ggml::search::{NOTHING, farthest, half, important, low_byte, nearest};

/// The definition for blocks of 32.
#[cfg(test)]
pub(in crate::ggml) fn define_small(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 18]]) {
    for (at, (values, block)) in row.as_chunks::<32>().0.iter().zip(out).enumerate() {
        let importance = importance.map(|all| &all[at * 32..][..32]);
        let weights = define_weights(values, importance, squares(values) * (2.0 / 32.0));
        let scale = define_scale(values, &weights);
        block[..2].copy_from_slice(&half(scale).to_le_bytes());
        define_nibbles(values, inverse(scale), &mut block[2..]);
    }
}

/// The definition for blocks of 256.
#[cfg(test)]
pub(in crate::ggml) fn define_large(
    row: &[f32],
    importance: Option<&[f32]>,
    out: &mut [[u8; 136]],
) {
    for (at, (values, block)) in row.as_chunks::<256>().0.iter().zip(out).enumerate() {
        let variance = squares(values) * (2.0 / 256.0);
        let groups = values.as_chunks::<32>().0;
        let scales = std::array::from_fn(|group| {
            let importance = importance.map(|all| &all[at * 256 + group * 32..][..32]);
            let weights = define_weights(&groups[group], importance, variance);
            define_scale(&groups[group], &weights)
        });
        let scales = put_scales(block, &scales);
        for (group, (values, out)) in groups.iter().zip(block[8..].chunks_mut(16)).enumerate() {
            define_nibbles(values, inverse(scales[group]), out);
        }
    }
}

/// The nibble of the nearest step, the upper one of two. What is no number has the last.
#[inline(always)]
fn nearest_step(value: f32) -> u8 {
    let nibbles = (0u8..15).zip(STEPS.windows(2));
    let below = nibbles.map_while(|(nibble, steps)| {
        let middle = (f32::from(steps[0]) + f32::from(steps[1])) / 2.0;
        let is_below = value < middle;
        (!is_below).then_some(nibble + 1)
    });
    below.last().unwrap_or(0)
}

/// The scale that leaves the least error: the one that fits the number farthest from zero, or one
/// of those around its negative.
pub(super) fn define_scale(values: &[f32; 32], weights: &[f32; 32]) -> f32 {
    let (size, of) = farthest(values);
    if size < NOTHING {
        return 0.0;
    }
    let first = f32::from(STEPS[0]);
    let sums = |inverse: f32| {
        let pairs = values.iter().zip(weights);
        pairs.fold((0.0, 0.0), |(products, squares), (&value, &weight)| {
            let step = f32::from(STEPS[usize::from(nearest_step(inverse * value))]);
            (products + weight * step * value, squares + weight * step * step)
        })
    };
    let (products, squares) = sums(1.0 / (-of / first));
    let mut scale = if squares > 0.0 { products / squares } else { 0.0 };
    let mut best = scale * products;
    for tried in -7i8..=7 {
        let (products, squares) = sums((f32::from(tried) + first) / of);
        if squares > 0.0 && products * products > best * squares {
            scale = products / squares;
            best = scale * products;
        }
    }
    scale
}

/// How much each number of 32 matters.
pub(super) fn define_weights(
    values: &[f32; 32],
    importance: Option<&[f32]>,
    variance: f32,
) -> [f32; 32] {
    match importance {
        Some(importance) => important(values, importance, variance),
        None => values.map(|value| value * value),
    }
}

/// The inverse of a scale, or zero.
#[inline(always)]
pub(super) fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

/// The nibbles of 32 numbers.
#[cfg(test)]
fn define_nibbles(values: &[f32; 32], inverse: f32, out: &mut [u8]) {
    for (at, byte) in out.iter_mut().enumerate() {
        let [low, high] = [at, at + 16].map(|at| nearest_step(inverse * values[at]));
        *byte = low | high << 4;
    }
}

/// Stores the scale and those of the groups; returns what the groups are scaled by.
#[inline(always)]
pub(super) fn put_scales(block: &mut [u8; 136], scales: &[f32; 8]) -> [f32; 8] {
    let (_, of) = farthest(scales);
    let d = -of / 32.0;
    let levels = scales.map(|scale| nearest(inverse(d) * scale).clamp(-32, 31));
    let bytes = levels.map(|level| low_byte(level + 32));
    let upper = (0..8).fold(0, |bits, at| bits | u16::from(bytes[at] >> 4) << (2 * at));
    block[..2].copy_from_slice(&half(d).to_le_bytes());
    block[2..4].copy_from_slice(&upper.to_le_bytes());
    for (byte, pair) in block[4..8].iter_mut().zip(bytes.as_chunks::<2>().0) {
        *byte = pair[0] & 15 | pair[1] << 4;
    }
    levels.map(|level| d * level as f32)
}
