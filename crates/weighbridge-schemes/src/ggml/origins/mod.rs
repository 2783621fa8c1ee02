//! Where the originals of the numbers in blocks may have been.
//!
//! ggml chooses codes last: each is the one nearest under the block's own scales. For most types
//! these are the scales as stored; for some they are what the stored ones were rounded from, which
//! moves every level a little. Codes of the grid types are chosen together, so only signs and
//! whole rows can be judged.

use std::ops::Range;

use super::kernel::MOST_ELEMENTS;
use super::{BlockRows, Maker};
use crate::bounds::{Bounds, Candidates, Gaps, Levels, Slack};
use crate::error::Result;
use crate::framework::{Origins, RowRule, Rule};
use crate::simd::near::EvenReach;
use crate::simd::{self, Isa, Task};
use crate::source::Staged;

mod levels;
#[cfg(test)]
mod round_trips;
mod scales;
mod table;
#[cfg(test)]
mod tests;

pub(super) use levels::add_levels;
use scales::{Layout, Scales};
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
    /// Where the scales of a block are.
    layout: Layout,
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
struct Numbers {
    /// The first and the last.
    ends: [f32; 2],
    /// The middling gap between two of them, and the widest.
    middling: f32,
    widest: f32,
    /// All of them, ascending, if gaps are not even.
    table: Option<&'static [f32]>,
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

/// What rounding to half precision may add to a scale is at least this share of it (less a little):
/// half a step of the last of eleven digits.
const LEAST_SLACK: f32 = 0.999 / (1 << 12) as f32;

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
    /// Whether the rounding of scales moves levels.
    #[inline(always)]
    fn slackens(&self, maker: Maker) -> bool {
        self.is_before_rounding || maker == Maker::Apr
    }

    /// Groups of a whole block, as bits, in which every original lies at most half a gap from its
    /// number, with the least that rounding a scale can add. Where levels are even these lie within
    /// the full bounds, which end no nearer to the outermost levels: more than a gap beyond them.
    #[inline(always)]
    fn near_groups(
        &self,
        isa: impl Isa,
        scales: &Scales,
        maker: Maker,
        Candidates { stored, originals, .. }: Candidates<'_>,
    ) -> u32 {
        if self.numbers.table.is_some() {
            return 0;
        }
        let half = self.numbers.middling / 2.0;
        let slack = if self.slackens(maker) { LEAST_SLACK } else { 0.0 };
        let (mut near, mut group) = (0, 0);
        let [mut stored, mut originals] = [stored, originals];
        // Divisions, as for chunks of this length, would take as long as the rest.
        while let (Some((numbers, after)), Some((others, later))) =
            (stored.split_at_checked(self.group), originals.split_at_checked(self.group))
        {
            let half_gap = half * scales.scales[group].abs();
            let constant = half_gap + half_gap * slack;
            let reach = EvenReach { constant, of_distance: slack, zero: scales.zeros[group] };
            near |= u32::from(isa.near_even(&reach, numbers, others)) << group;
            (stored, originals, group) = (after, later, group + 1);
        }
        near
    }

    #[inline(always)]
    fn levels(&self, scales: &Scales, group: usize, beyond: f32) -> Levels<'static> {
        let (scale, zero) = (scales.scales[group], scales.zeros[group]);
        let [first, last] = self.numbers.ends.map(|number| number * scale + zero);
        let gaps = match self.numbers.table {
            None => Gaps::Even(self.numbers.middling * scale.abs()),
            Some(numbers) => Gaps::Table { scale, numbers },
        };
        let slack = Slack::default();
        let (lowest, highest) = (first.min(last), first.max(last));
        // No minimum is above zero, so nothing is lost below the levels.
        let to_zero = if self.loses_zeros { (-highest).max(0.0) } else { 0.0 };
        Levels { gaps, zero, lowest, highest, beyond: beyond + to_zero, slack }
    }

    /// What the rounding of scales adds, where codes are chosen before it.
    #[inline(always)]
    fn slack(&self, scales: &Scales, group: usize) -> Slack {
        let half_gap = self.numbers.widest / 2.0 * scales.scales[group].abs();
        Slack {
            constant: scales.relative * half_gap + self.most[1] * scales.unsure[1],
            of_distance: scales.relative,
            of_value: 0.0,
        }
    }

    /// How far beyond the outermost levels of a block of so many groups an original may lie.
    #[inline(always)]
    fn beyond(&self, scales: &Scales, groups: usize) -> f32 {
        let [first, last] = self.numbers.ends;
        let largest =
            scales.scales[..groups].iter().fold(0.0, |most: f32, scale| most.max(scale.abs()));
        let rounded = (last - first) * self.most[0] * scales.unsure[0];
        self.clipped * largest * self.numbers.middling + rounded + self.most[1] * scales.unsure[1]
    }
}

impl BlockRows {
    fn is_by_importance(&self) -> bool {
        self.maker == Maker::Ggml { by_importance: true }
    }

    /// The bounds of a stretch.
    fn fill_bounds(&self, stretch: &BlockStretch<'_>, values: &[f32], out: &mut [Bounds]) {
        let none = |_: &Nearest, _: &Scales, _: Range<usize>| 0;
        self.each_group(stretch, none, |here, levels| {
            levels.fill(&values[here.clone()], &mut out[here]);
        });
    }

    /// Calls `tell` with the levels of each group of a stretch, and with where it lies in that; not
    /// of groups whose bits `near` sets, given a whole block.
    #[inline(always)]
    fn each_group(
        &self,
        &BlockStretch { bytes, first, count, factor }: &BlockStretch<'_>,
        near: impl Fn(&Nearest, &Scales, Range<usize>) -> u32,
        mut tell: impl FnMut(Range<usize>, &Levels<'static>),
    ) {
        let Some(Choice::Nearest(nearest)) = of_type(self.block.name) else { return };
        let each = self.block.elements as usize;
        let (size, groups) = (nearest.group, each / nearest.group);
        let is_clipped =
            self.is_by_importance() && !matches!(nearest.importance, Importance::Ignored);
        let slackens = nearest.slackens(self.maker);
        let mut scales = Scales::default();
        // The remainder is less than a block.
        let mut skip = usize::try_from(first % each as u64).unwrap_or_default();
        let mut done = 0;
        let all = u32::MAX >> (32 - groups);
        for block in bytes.chunks_exact(self.block.bytes as usize) {
            let end = each.min(skip + count - done);
            if end == skip {
                break;
            }
            nearest.layout.read(block, &mut scales);
            if let Some(factor) = factor {
                scales.multiply(factor);
            }
            let near =
                if end - skip == each { near(nearest, &scales, done..done + each) } else { 0 };
            if near != all {
                scales.settle();
                let beyond =
                    if is_clipped { f32::INFINITY } else { nearest.beyond(&scales, groups) };
                let wanted = skip / size..end.div_ceil(size);
                for group in wanted.filter(|group| near >> group & 1 == 0) {
                    let mut levels = nearest.levels(&scales, group, beyond);
                    if slackens {
                        levels.slack = nearest.slack(&scales, group);
                    }
                    let here = (group * size).max(skip)..end.min((group + 1) * size);
                    tell(done + here.start - skip..done + here.end - skip, &levels);
                }
            }
            (done, skip) = (done + end - skip, 0);
        }
    }
}

/// How many candidates of a stretch lie outside its bounds.
struct Count<'a> {
    blocks: &'a BlockRows,
    stretch: BlockStretch<'a>,
    candidates: Candidates<'a>,
}

impl Task for Count<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> u64 {
        let Self { blocks, stretch, candidates } = self;
        let mut count = 0;
        let near = |nearest: &Nearest, scales: &Scales, here: Range<usize>| {
            nearest.near_groups(isa, scales, blocks.maker, candidates.part(here))
        };
        blocks.each_group(&stretch, near, |here, levels| {
            count += u64::from(levels.count_outside(isa, candidates.part(here)));
        });
        count
    }
}

/// A weight whose numbers lie in blocks.
pub(crate) trait InBlocks: Send + Sync {
    /// What its blocks are.
    fn blocks(&self) -> &BlockRows;

    /// Some elements as stretches of blocks. `staged` is what decoding them was given.
    fn stretches<'s>(
        &'s self,
        staged: &[Staged<'s>],
        elements: &Range<u64>,
    ) -> Result<impl Iterator<Item = BlockStretch<'s>>>;
}

/// Elements in blocks that have all of their factors in common.
pub(crate) struct BlockStretch<'a> {
    /// Blocks from that of the first on.
    pub(crate) bytes: &'a [u8],
    /// The first.
    pub(crate) first: u64,
    /// How many they are.
    pub(crate) count: usize,
    /// What the numbers of all blocks are multiplied by.
    pub(crate) factor: Option<f32>,
}

impl InBlocks for BlockRows {
    fn blocks(&self) -> &BlockRows {
        self
    }

    fn stretches<'s>(
        &'s self,
        staged: &[Staged<'s>],
        &Range { start: first, end }: &Range<u64>,
    ) -> Result<impl Iterator<Item = BlockStretch<'s>>> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        let count = usize::try_from(end - first).unwrap_or(usize::MAX);
        Ok(std::iter::once(BlockStretch { bytes, first, count, factor: None }))
    }
}

impl<T: InBlocks> Origins for T {
    fn rule(&self) -> Rule {
        let blocks = self.blocks();
        match of_type(blocks.block.name) {
            Some(Choice::Nearest(Nearest { importance: Importance::Refits(loose), .. })) => {
                Rule::Refitted {
                    tight: TIGHT,
                    loose: *loose,
                    by_importance: blocks.is_by_importance(),
                    block: blocks.block.elements.into(),
                }
            }
            Some(Choice::Grid(grid)) => Rule::ByRows(RowRule {
                wrong_signs: Some(grid.wrong_signs[usize::from(blocks.is_by_importance())]),
                correlation: grid.correlation,
                gain: grid.gain.filter(|_| !blocks.is_by_importance()),
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
        let mut done = 0;
        for stretch in self.stretches(staged, &elements)? {
            self.blocks().fill_bounds(&stretch, &values[done..], &mut out[done..]);
            done += stretch.count;
        }
        Ok(())
    }

    fn count_outside(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        candidates: Candidates<'_>,
    ) -> Result<Option<u64>> {
        let (mut outside, mut done) = (0, 0);
        for stretch in self.stretches(staged, &elements)? {
            let end = done + stretch.count;
            let candidates = candidates.part(done..end);
            outside +=
                simd::run(simd::level(), Count { blocks: self.blocks(), stretch, candidates });
            done = end;
        }
        Ok(Some(outside))
    }
}
