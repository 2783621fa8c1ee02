//! Decodes freshly encoded groups, so that an encoder can report its error.

use crate::arithmetic::matrix::{Arithmetic, Codes, Factor, Loss, Numbers, Run, decode};
use crate::framework::SameLevels;
use crate::simd;

/// Consecutive groups of codes.
pub(crate) struct Coded<'a> {
    /// Meaning and packing of the codes.
    pub(crate) codes: &'a Codes,
    pub(crate) arithmetic: Arithmetic,
    /// Numbers per group.
    pub(crate) group: usize,
    pub(crate) bytes: &'a [u8],
    /// Factors of each group.
    pub(crate) factors: &'a [Factor],
    /// Typical step between neighbouring levels; `None` if the levels are too uneven.
    pub(crate) step: Option<f32>,
}

impl Coded<'_> {
    /// Decodes all groups, and adds their levels if they have steps.
    pub(crate) fn decode(&self, out: &mut [f32], levels: &mut Vec<SameLevels>) {
        let Self { codes, arithmetic, factors, .. } = *self;
        let group = self.group.max(1);
        let run = Run { codes: self.bytes, start: 0, factors, group, into: 0 };
        decode(simd::level(), codes, arithmetic, false, &run, out);
        let Some(step) = self.step else { return };
        let all = Numbers::of(codes);
        for (numbers, factor) in out.chunks(group).zip(factors) {
            let own = Loss::NONE.levels(all, arithmetic, *factor, 0.0);
            levels.push(SameLevels {
                elements: numbers.len(),
                step: step * factor.scale.abs(),
                lowest: own.lowest,
                highest: own.highest,
            });
        }
    }
}

/// Returns the factors of groups without zero points.
pub(crate) fn scaled(scales: impl Iterator<Item = f32>) -> Vec<Factor> {
    scales.map(|scale| Factor { scale, offset: 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::matrix::Packing;

    #[test]
    fn scales_and_zero_points_are_those_of_the_group() {
        let coded = Coded {
            codes: &Codes::new(Packing::LowNibbles, |code| f32::from(code) - 8.0),
            arithmetic: Arithmetic::MinusTimes,
            group: 2,
            bytes: &[0x98, 0x0f],
            factors: &[Factor { scale: 0.5, offset: 0.0 }, Factor { scale: 2.0, offset: 1.0 }],
            step: Some(1.0),
        };
        let (mut out, mut levels) = ([0.0; 4], Vec::new());
        coded.decode(&mut out, &mut levels);
        assert_eq!(out, [0.0, 0.5, 12.0, -18.0]);
        assert_eq!((levels[1].step, levels[1].lowest, levels[1].highest), (2.0, -18.0, 12.0));
    }
}
