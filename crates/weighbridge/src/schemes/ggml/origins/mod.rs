//! Where the originals of the numbers in blocks may have been.
//!
//! ggml chooses codes last: each is the one nearest under the block's own scales. For most types
//! these are the scales as stored; for some they are what the stored ones were rounded from, which
//! moves every level a little. Codes of the grid types are chosen together, so only signs and
//! whole rows can be judged.

use std::ops::Range;

use super::kernel::MOST_ELEMENTS;
use super::{BlockRows, Maker};
use crate::bounds::{Bounds, Gaps, Levels, Slack};
use crate::error::Result;
use crate::schemes::{Origins, RowRule, Rule};
use crate::source::Staged;

#[cfg(test)]
mod round_trips;
mod scales;
mod table;
#[cfg(test)]
mod tests;

use scales::Scales;
pub(super) use table::of_type;

/// How the codes of a block type are chosen.
pub(super) enum Choice {
    /// The nearest, each by itself.
    Nearest(Nearest),
    /// Together, from a grid.
    Grid(Grid),
}

/// Codes that are the nearest.
pub(super) struct Nearest {
    /// What they stand for.
    numbers: Numbers,
    /// Elements that share a scale.
    group: usize,
    /// Reads the scales of a block.
    scales: fn(&[u8], &mut Scales),
    /// The largest whole numbers that the block's scale and minimum are multiplied by.
    most: [f32; 2],
    /// Whether ggml chooses codes under the scale before it is rounded.
    is_before_rounding: bool,
    /// How far beyond the outermost levels an original may lie, in middling gaps of the group
    /// whose scale is the largest.
    clipped: f32,
    /// Whether fitting the levels weighs numbers by their size: then numbers near zero may be
    /// clipped, however far from zero the levels end.
    loses_zeros: bool,
    importance: Importance,
}

/// What codes stand for, before scales.
enum Numbers {
    /// Whole numbers from the first to the last.
    Whole(f32, f32),
    /// Two numbers that are the same but for their signs.
    Signs,
    /// An ascending table, its middling gap and its widest.
    Table { numbers: &'static [f32], middling: f32, widest: f32 },
}

/// What an importance matrix does to a type.
#[derive(Clone, Copy)]
enum Importance {
    /// Nothing: the type's quantizer does not look at it.
    Ignored,
    /// Anything may be clipped; the codes are still the nearest.
    Clips,
    /// Scales are refitted while codes stay as they were: originals may be this many times as far
    /// from their stored numbers as the bounds are.
    Refits(f32),
}

/// How many times as far out as the bounds originals may lie, if few do: not every file says that
/// an importance matrix was used.
const TIGHT: f32 = 1.5;

/// Below this, scales of grid types have too few digits for rows to be told apart.
const SMALLEST: f64 = 1e-4;

/// Codes from a grid.
pub(super) struct Grid {
    /// Wrong signs in eight, without an importance matrix and with one.
    wrong_signs: [u32; 2],
    correlation: f64,
    /// The gain of a block; with an importance matrix it may be anything.
    gain: Option<[f64; 2]>,
    /// Elements that share a scale.
    group: u64,
}

impl Nearest {
    /// The bounds of some elements of a block, from `skip` on.
    fn fill(&self, scales: &Scales, maker: Maker, skip: usize, values: &[f32], out: &mut [Bounds]) {
        let is_clipped = maker == Maker::Ggml { by_importance: true }
            && !matches!(self.importance, Importance::Ignored);
        let beyond = if is_clipped { f32::INFINITY } else { self.beyond(scales) };
        let slackens = self.is_before_rounding || maker == Maker::Apr;
        let mut at = 0;
        while at < values.len() {
            let group = (skip + at) / self.group;
            let end = values.len().min((group + 1) * self.group - skip);
            let mut levels = self.levels(scales, group, beyond);
            if slackens {
                levels.slack = self.slack(scales, group);
            }
            levels.fill(&values[at..end], &mut out[at..end]);
            at = end;
        }
    }

    fn levels(&self, scales: &Scales, group: usize, beyond: f32) -> Levels<'static> {
        let (scale, zero) = (scales.scales[group], scales.zeros[group]);
        let [first, last] = self.numbers.ends().map(|number| number * scale + zero);
        let gaps = match self.numbers {
            Numbers::Whole(..) => Gaps::Even(scale.abs()),
            Numbers::Signs => Gaps::Even(2.0 * scale.abs()),
            Numbers::Table { numbers, .. } => Gaps::Table { scale, numbers },
        };
        let slack = Slack::default();
        let (lowest, highest) = (first.min(last), first.max(last));
        // No minimum is above zero, so nothing is lost below the levels.
        let to_zero = if self.loses_zeros { (-highest).max(0.0) } else { 0.0 };
        Levels { gaps, zero, lowest, highest, beyond: beyond + to_zero, slack }
    }

    /// What the rounding of scales adds, where codes are chosen before it.
    fn slack(&self, scales: &Scales, group: usize) -> Slack {
        let half_gap = self.numbers.widest() / 2.0 * scales.scales[group].abs();
        Slack {
            constant: scales.relative * half_gap + self.most[1] * scales.unsure[1],
            of_distance: scales.relative,
            of_value: 0.0,
        }
    }

    /// How far beyond the outermost levels of a block an original may lie.
    fn beyond(&self, scales: &Scales) -> f32 {
        let [first, last] = self.numbers.ends();
        let largest = scales.scales.iter().fold(0.0, |most: f32, scale| most.max(scale.abs()));
        let rounded = (last - first) * self.most[0] * scales.unsure[0];
        self.clipped * largest * self.numbers.middling() + rounded + self.most[1] * scales.unsure[1]
    }
}

impl Numbers {
    fn ends(&self) -> [f32; 2] {
        match self {
            Self::Whole(first, last) => [*first, *last],
            Self::Signs => [-1.0, 1.0],
            Self::Table { numbers, .. } => [numbers[0], numbers[numbers.len() - 1]],
        }
    }

    fn middling(&self) -> f32 {
        match self {
            Self::Whole(..) => 1.0,
            Self::Signs => 2.0,
            Self::Table { middling, .. } => *middling,
        }
    }

    fn widest(&self) -> f32 {
        match self {
            Self::Table { widest, .. } => *widest,
            even => even.middling(),
        }
    }
}

impl BlockRows {
    /// What is known about how codes were chosen.
    pub(crate) fn origins(&self) -> Option<&dyn Origins> {
        of_type(self.block.name).map(|_| self as &dyn Origins)
    }

    fn is_by_importance(&self) -> bool {
        self.maker == Maker::Ggml { by_importance: true }
    }

    /// The bounds of elements from `first` on. `bytes` start with the block that holds the first.
    /// `factor` is what the numbers of all blocks were multiplied by, where there is one.
    pub(crate) fn fill_bounds(
        &self,
        bytes: &[u8],
        first: u64,
        factor: Option<f32>,
        values: &[f32],
        out: &mut [Bounds],
    ) {
        let Some(Choice::Nearest(nearest)) = of_type(self.block.name) else { return };
        let each = self.block.elements as usize;
        let mut scales = Scales::default();
        // The remainder is less than a block.
        let mut skip = usize::try_from(first % each as u64).unwrap_or_default();
        let (mut values, mut out) = (values, out);
        for block in bytes.chunks_exact(self.block.bytes as usize) {
            let count = (each - skip).min(values.len());
            if count == 0 {
                break;
            }
            let (now, rest) = values.split_at(count);
            let (bounds, others) = out.split_at_mut(count);
            (nearest.scales)(block, &mut scales);
            if let Some(factor) = factor {
                scales.multiply(factor);
            }
            nearest.fill(&scales, self.maker, skip, now, bounds);
            (values, out, skip) = (rest, others, 0);
        }
    }
}

impl Origins for BlockRows {
    fn rule(&self) -> Rule {
        match of_type(self.block.name) {
            Some(Choice::Nearest(Nearest { importance: Importance::Refits(loose), .. })) => {
                Rule::Refitted {
                    tight: TIGHT,
                    loose: *loose,
                    by_importance: self.is_by_importance(),
                    block: self.block.elements.into(),
                }
            }
            Some(Choice::Grid(grid)) => Rule::ByRows(RowRule {
                wrong_signs: Some(grid.wrong_signs[usize::from(self.is_by_importance())]),
                correlation: grid.correlation,
                gain: grid.gain.filter(|_| !self.is_by_importance()),
                gain_over: MOST_ELEMENTS as u64,
                row_gain: None,
                sparse_block: grid.group,
                smallest: SMALLEST,
            }),
            _ => Rule::Bounded,
        }
    }

    fn bounds(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        values: &[f32],
        out: &mut [Bounds],
    ) -> Result<()> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        self.fill_bounds(bytes, elements.start, None, values, out);
        Ok(())
    }
}
