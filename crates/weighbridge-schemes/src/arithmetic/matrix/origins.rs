//! Bounds on the originals of codes with factors.
//!
//! Codes are the nearest under the factors of their group. The rest depends on how a scheme's
//! library computes its factors: [`Loss`].

use std::ops::Range;

use super::{Arithmetic, Factor, GROUPS, Matrix, length};
use crate::bounds::{Bounds, Candidates, Gaps, Levels, Slack};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::{Origins, Portion, RowRule, Rule};
use crate::simd::codes::{Numbers, Spacing};
use crate::simd::{self, Isa, Task};

/// How codes were chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// Each code is the nearest.
    Nearest(Loss),
    /// Together, to minimise the change of the layer's outputs.
    Together(RowRule),
    /// Either way; no file states which.
    Either(Loss, RowRule),
}

/// Further losses if codes are the nearest. Scales are those that are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Loss {
    /// Maximum shift of a number by rounding factors and quotients, relative to it.
    pub relative: f32,
    /// Maximum difference of a scale from the one that codes were chosen with.
    pub scale: f32,
    /// Maximum shift of a number by rounding the original itself: relative to it, and a constant.
    pub original: [f32; 2],
    /// Maximum distance of originals beyond the outermost levels, in scales.
    pub beyond: f32,
    /// Maximum magnitude of originals if the scale is zero.
    pub flushed: f32,
}

impl Loss {
    /// No further loss and no clipping.
    pub(crate) const NONE: Self =
        Self { relative: 0.0, scale: 0.0, original: [0.0; 2], beyond: 0.0, flushed: 0.0 };

    /// Factors or quotients are rounded to this type.
    pub(crate) const fn rounded_to(dtype: DType) -> Self {
        let (relative, scale) = match dtype {
            DType::BF16 => (1.0 / (1 << 8) as f32, 0.0),
            // Small scales have fewer digits.
            DType::F16 => (1.0 / (1 << 11) as f32, 1.0 / (1 << 25) as f32),
            _ => (0.0, 0.0),
        };
        Self { relative, scale, ..Self::NONE }
    }

    /// Adds originals that are up to `scales` scales beyond the outermost levels.
    pub(crate) const fn beyond(self, scales: f32) -> Self {
        Self { beyond: scales, ..self }
    }

    /// Scales are powers of two: the nearest to the largest number over the highest level, by an
    /// imprecise logarithm. A scale may be too low by slightly more than the square root of two.
    pub(crate) fn of_nearest_powers(highest: f32) -> Self {
        Self::NONE.beyond(highest / 2.0)
    }

    /// Eight-bit scales of four-bit floats; `below` is whether there is also a global scale. The
    /// smallest scale may have been rounded down by half, or to zero.
    pub(crate) fn of_small_scales(below: bool) -> Self {
        let flushed = if below { f32::INFINITY } else { 6.0 / (1 << 10) as f32 };
        Self { beyond: 3.05, flushed, ..Self::NONE }
    }

    /// Scales are powers of two, from one that is not above the largest number of a group. That
    /// number may be anywhere below the power of two that follows the highest level.
    pub(crate) fn of_powers(highest: f32) -> Self {
        let next = f32::from_bits((highest.to_bits() & 0x7f80_0000) + 0x0080_0000);
        // Logarithms are rounded too.
        Self::NONE.beyond((next - highest) * 1.0125)
    }
}

impl Loss {
    /// Computes the levels of a group of codes that stand for such numbers. `unsure` is how far its
    /// scale may be from the one that codes were chosen with.
    #[inline(always)]
    pub(crate) fn levels<'n>(
        &self,
        numbers: &'n Numbers,
        arithmetic: Arithmetic,
        Factor { scale, offset }: Factor,
        unsure: f32,
    ) -> Levels<'n> {
        let ends = numbers.ends();
        // These are the steps of decoding.
        let [first, last] = ends.map(|number| match arithmetic {
            Arithmetic::Times => number * scale,
            Arithmetic::MinusTimes => (number - offset) * scale,
            Arithmetic::TimesPlus => number * scale + offset,
            Arithmetic::TimesTimes(constant) => (number * scale) * constant,
        });
        let (scale, zero) = match arithmetic {
            Arithmetic::Times => (scale, 0.0),
            Arithmetic::MinusTimes => (scale, -offset * scale),
            Arithmetic::TimesPlus => (scale, offset),
            Arithmetic::TimesTimes(constant) => (scale * constant, 0.0),
        };
        let (lowest, highest) = (first.min(last), first.max(last));
        let gaps = match numbers.spacing {
            Spacing::Even(gap) => Gaps::Even(gap * scale.abs()),
            Spacing::Floats { digits, smallest_normal } => {
                Gaps::Floats { scale, digits, smallest_normal }
            }
            Spacing::Uneven => Gaps::Table { scale, numbers: &numbers.all },
        };
        // Added or subtracted values are rounded too, and so is the result.
        let has_offset = matches!(arithmetic, Arithmetic::MinusTimes | Arithmetic::TimesPlus);
        let added = if arithmetic == Arithmetic::TimesPlus { offset.abs() } else { 0.0 };
        let unsure = unsure + self.scale;
        let of_scale = if scale == 0.0 { 0.0 } else { unsure / scale.abs() };
        let [of_original, least] = self.original;
        let slack = Slack {
            constant: self.relative * (numbers.half_gap * scale.abs() + added)
                + numbers.half_gap * unsure
                + least,
            of_distance: of_scale + if has_offset { self.relative } else { 0.0 },
            of_value: self.relative + of_original,
        };
        let farthest = lowest.abs().max(highest.abs());
        let beyond = self.beyond * scale.abs()
            + self.relative * (farthest + 2.0 * added)
            + unsure * ends[0].abs().max(ends[1].abs())
            + of_original * farthest
            + least;
        let beyond = if scale == 0.0 { beyond + self.flushed } else { beyond };
        Levels { gaps, zero, lowest, highest, beyond, slack }
    }
}

impl Origins for Matrix {
    fn rule(&self) -> Rule {
        match self.choice {
            Choice::Nearest(_) => Rule::Bounded,
            Choice::Together(rule) => Rule::ByRows(rule),
            Choice::Either(_, rule) => Rule::BoundedOrByRows(rule),
        }
    }

    fn bounds(&self, of: &Portion<'_>, values: &[f32], out: &mut [Bounds]) -> Result<()> {
        self.each_group(of, |here, levels| levels.fill(&values[here.clone()], &mut out[here]))
    }

    fn count_outside(&self, of: &Portion<'_>, candidates: Candidates<'_>) -> Result<Option<u64>> {
        simd::run(simd::level(), Count { matrix: self, of, candidates }).map(Some)
    }
}

impl Matrix {
    /// Calls `tell` with the levels of each group and its position among the elements.
    #[inline(always)]
    fn each_group(
        &self,
        of: &Portion<'_>,
        mut tell: impl FnMut(Range<usize>, &Levels<'_>),
    ) -> Result<()> {
        let (Some((_, staged)), Choice::Nearest(loss) | Choice::Either(loss, _)) =
            (of.staged.split_first(), &self.choice)
        else {
            return Err(Error::usage(
                "expected the codes of a matrix, each the nearest to its value",
            ));
        };
        let numbers = Numbers::of(&self.codes);
        let (mut at, mut unsure) = (0, [0.0; GROUPS]);
        let of = Portion { staged, elements: of.elements.clone() };
        self.each_run(&of, false, |of, columns, factors| {
            self.factors.unsure(of, &mut unsure[..factors.len()]);
            let mut column = columns.start;
            for ((group, factor), unsure) in of.groups.clone().zip(factors).zip(unsure) {
                let end = columns.end.min((group + 1) * self.group);
                let here = at..at + length(end - column);
                (column, at) = (end, here.end);
                tell(here, &loss.levels(numbers, self.arithmetic, *factor, unsure));
            }
        })
    }
}

/// Counts the candidates outside their bounds.
struct Count<'a> {
    matrix: &'a Matrix,
    of: &'a Portion<'a>,
    candidates: Candidates<'a>,
}

impl Task for Count<'_> {
    type Output = Result<u64>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<u64> {
        let Self { matrix, of, candidates } = self;
        let mut count = 0;
        matrix.each_group(of, |here, levels| {
            count += u64::from(levels.count_outside(isa, candidates.part(here)));
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod tests;
