//! `APR_Q8`: one f32 scale, then one signed byte per element of the tensor.

use std::ops::Range;

use crate::bounds::{Bounds, Gaps, Levels, Slack};
use crate::error::{Error, Result};
use crate::framework::recipe::in_type_of;
use crate::framework::{Origins, Portion, Recipe, Rule};
use crate::number::Out;
use crate::simd::{self, Isa, Level, Number, Task};
use crate::source::{Slab, Staged};

/// Bytes of the scale.
const SCALE: u64 = 4;

/// A tensor of signed bytes after one scale.
pub(super) struct ScaledBytes;

impl Recipe for ScaledBytes {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let count = elements.end - elements.start;
        // A tensor without elements may lack its scale.
        slabs.push(Slab::whole(0, 0, if count == 0 { 0 } else { SCALE }));
        slabs.push(Slab::whole(0, if count == 0 { 0 } else { SCALE + elements.start }, count));
    }

    fn decode(&self, staged: &[Staged<'_>], _: Range<u64>, out: Out<'_>) -> Result<()> {
        let [scale, bytes] = staged else {
            return Err(Error::usage("expected a scale and its bytes"));
        };
        let Some(&scale) = scale.bytes().first_chunk() else {
            return Ok(());
        };
        scaled(simd::level(), f32::from_le_bytes(scale), bytes.bytes(), out);
        Ok(())
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }
}

impl Origins for ScaledBytes {
    fn rule(&self) -> Rule {
        Rule::Bounded
    }

    /// Codes are the nearest, and the largest number has the largest code.
    fn bounds(&self, of: &Portion<'_>, values: &[f32], out: &mut [Bounds]) -> Result<()> {
        let Some(&scale) = of.staged.first().and_then(|scale| scale.bytes().first_chunk()) else {
            return Ok(());
        };
        let scale = f32::from_le_bytes(scale).abs();
        let levels = Levels {
            gaps: Gaps::Even(scale),
            zero: 0.0,
            lowest: -128.0 * scale,
            highest: 127.0 * scale,
            beyond: scale / 2.0,
            slack: Slack::default(),
        };
        levels.fill(values, out);
        Ok(())
    }
}

/// Multiplies each signed byte by the scale.
fn scaled(level: Level, scale: f32, bytes: &[u8], out: Out<'_>) {
    // Products of a quiet NaN can be narrowed without a check.
    let scale = if scale.is_nan() { f32::NAN } else { scale };
    in_type_of!(out, scaled_as(level, scale, bytes, out));
}

fn scaled_as<T: Number>(level: Level, scale: f32, bytes: &[u8], out: &mut [T]) {
    simd::run(level, Scaled { scale, bytes, out });
}

/// The task of [`scaled_as`].
struct Scaled<'a, T> {
    scale: f32,
    bytes: &'a [u8],
    out: &'a mut [T],
}

impl<T: Number> Task for Scaled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { scale, bytes, out } = self;
        let done = isa.scaled_bytes(scale, bytes, out);
        for (out, byte) in out.iter_mut().zip(bytes).skip(done) {
            *out = T::narrow(f32::from(byte.cast_signed()) * scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::agreement::{self, Subject};

    #[test]
    fn every_level_agrees_at_every_length() {
        let all: Vec<u8> = (0..=255).collect();
        let inputs: Vec<_> = (0..=70).map(|len| all[91..91 + len].to_vec()).collect();
        let bits = [0x7fff_ffff, 0xff80_0001_u32].map(f32::from_bits);
        let scales = [0.0, -0.0, 1e-45, -1e-39, 0.007, -3.5, 2e36, f32::MAX, f32::NEG_INFINITY];
        for scale in scales.into_iter().chain(bits) {
            let subject = Subject {
                name: "APR_Q8",
                elements: 1,
                bytes: 1,
                decode: &|level, bytes, out| scaled(level, scale, bytes, out),
            };
            agreement::check(&subject, &inputs);
            agreement::check(&subject, std::slice::from_ref(&all));
        }
    }
}
