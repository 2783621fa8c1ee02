//! Encodes numbers as integers with one scale and bias per group.
//!
//! The arithmetic is that of `mx.quantize` of MLX 0.32.4 on a CPU, in single precision. The scale
//! is the range over the largest code, at least 1e-7, and negative unless the smallest number is
//! the farthest from zero. The farthest number (the edge) is to be a whole number of scales. So the
//! scale becomes the edge over the nearest such number, and the edge becomes the bias. If that
//! number is zero, the scale is kept and the bias is zero. Codes are the nearest, chosen with scale
//! and bias before these are rounded to the type of the weight.

use super::packing::pack;
use crate::simd::{Isa, Task};

/// Smallest scale.
const LEAST: f32 = 1e-7;

/// Added to a number below 2^22, leaves its nearest integer in the lowest bits.
const TO_WHOLE: f32 = 12_582_912.0;

/// Maximum group size.
const MOST: usize = 128;

/// Groups to encode in codes of `BITS` bits.
pub(super) struct Affine<'a, const BITS: usize> {
    pub(super) values: &'a [f32],
    /// Numbers per group.
    pub(super) group: usize,
    pub(super) codes: &'a mut [u8],
    /// Scale and bias of each group.
    pub(super) factors: &'a mut [[f32; 2]],
}

impl<const BITS: usize> Task for Affine<'_, BITS> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let groups = self.values.chunks_exact(self.group);
        let outs = self.codes.chunks_exact_mut(self.group / 8 * BITS).zip(self.factors);
        for (group, (out, factors)) in groups.zip(outs) {
            let most = ((1u16 << BITS) - 1).into();
            let [scale, bias] = scale_and_bias(group, most);
            let mut codes = [0; MOST];
            for (code, value) in codes.iter_mut().zip(group) {
                let number = ((value - bias) / scale).max(0.0).min(most) + TO_WHOLE;
                *code = number.to_bits().to_le_bytes()[0];
            }
            pack::<BITS>(&codes[..self.group.min(MOST)], out);
            *factors = [scale, bias];
        }
    }
}

#[inline(always)]
fn scale_and_bias(group: &[f32], most: f32) -> [f32; 2] {
    let low = group.iter().copied().fold(f32::INFINITY, f32::min);
    let high = group.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let is_below = low.abs() > high.abs();
    let step = ((high - low) / most).max(LEAST);
    let (scale, edge) = if is_below { (step, low) } else { (-step, high) };
    let steps = (edge / scale).round_ties_even();
    if steps == 0.0 { [scale, 0.0] } else { [edge / steps, edge] }
}
