//! Where the original of a stored number may have been.
//!
//! Nearly every quantizer chooses its codes last, and takes the level that is nearest under the
//! scales it stores. So an original lies between the midpoints to the two levels beside the stored
//! one, give or take what rounding the scales moved. Beyond the outermost levels it may lie as far
//! as the quantizer clips.

use std::ops::Range;

use crate::simd::{self, Isa, kernel};

mod inside;

/// The interval that the original of a stored number lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Its lower end; infinite where anything may have been clipped.
    pub low: f32,
    /// Its upper end.
    pub high: f32,
}

impl Bounds {
    /// Whether a number lies within these bounds.
    pub fn contains(&self, number: f32) -> bool {
        self.low <= number && number <= self.high
    }

    /// Whether an original lies outside, which itself may be off by a share of it. One that is not
    /// finite never does: it is judged elsewhere.
    #[inline(always)]
    pub fn exclude(self, original: f32, share: f32) -> bool {
        let more = original.abs() * share;
        (original + more < self.low) | (original - more > self.high)
    }
}

/// Numbers that may have been the originals of stored ones.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// What is stored.
    pub stored: &'a [f32],
    /// What it may have been made from.
    pub originals: &'a [f32],
    /// The share by which the originals themselves may be off.
    pub share: f32,
}

impl Candidates<'_> {
    /// Some of them.
    #[inline(always)]
    pub fn part(&self, range: Range<usize>) -> Self {
        let [stored, originals] =
            [self.stored, self.originals].map(|side| side.get(range.clone()).unwrap_or_default());
        Self { stored, originals, share: self.share }
    }
}

/// The levels of a stretch of elements that share their scales.
#[derive(Clone, Copy, Debug)]
pub struct Levels<'a> {
    /// How far apart they are.
    pub gaps: Gaps<'a>,
    /// What a code of zero stands for: distances are measured from there.
    pub zero: f32,
    /// The lowest level.
    pub lowest: f32,
    /// The highest level.
    pub highest: f32,
    /// How far beyond these an original may lie; infinite where anything may be clipped.
    pub beyond: f32,
    /// What the rounding of stored scales adds to each half of a gap.
    pub slack: Slack,
}

/// How far a level lies from the ones beside it.
#[derive(Clone, Copy, Debug)]
pub enum Gaps<'a> {
    /// Always the same distance.
    Even(f32),
    /// As in an ascending table of numbers, times a scale.
    Table {
        /// The scale.
        scale: f32,
        /// The numbers.
        numbers: &'a [f32],
    },
    /// As between floating-point numbers, times a scale.
    Floats {
        /// The scale.
        scale: f32,
        /// The digits after the point.
        digits: i32,
        /// The smallest number that has all of these digits.
        smallest_normal: f32,
    },
}

/// What the rounding of stored scales adds to half a gap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slack {
    /// Always.
    pub constant: f32,
    /// For each unit of distance from [`Levels::zero`].
    pub of_distance: f32,
    /// For each unit of the number itself.
    pub of_value: f32,
}

/// Half a gap is widened by this factor: many times what computing it in f32 may lose.
const WIDER: f32 = 1.0 + 1.0 / 1024.0;

impl Levels<'_> {
    /// The bounds of stored numbers, all of which are levels.
    pub fn fill(&self, values: &[f32], out: &mut [Bounds]) {
        fill(simd::level(), *self, values, out);
    }

    /// How many candidates lie outside the bounds that [`fill`](Self::fill) would give. To be
    /// called within a [`Task`](crate::simd::Task).
    #[inline(always)]
    pub fn count_outside(&self, isa: impl Isa, candidates: Candidates<'_>) -> u32 {
        if self.hold_all(isa, candidates) { 0 } else { self.count_in_full(candidates) }
    }

    #[inline(always)]
    fn count_in_full(&self, Candidates { stored, originals, share }: Candidates<'_>) -> u32 {
        let mut count = 0;
        let pairs = stored.iter().zip(originals);
        self.each(pairs, |bounds, original| count += u32::from(bounds.exclude(*original, share)));
        count
    }

    /// Calls `take` with the bounds of each number, and with what comes with it.
    #[inline(always)]
    fn each<'v, T>(&self, values: impl Iterator<Item = (&'v f32, T)>, take: impl FnMut(Bounds, T)) {
        match self.gaps {
            Gaps::Even(gap) => self.each_by(values, |_| [gap / 2.0; 2], take),
            Gaps::Table { scale, .. } | Gaps::Floats { scale, .. } if scale == 0.0 => {
                self.each_by(values, |_| [0.0; 2], take);
            }
            // Of a length that is known, a table needs no branches.
            Gaps::Table { scale, numbers } => match <&[f32; 16]>::try_from(numbers) {
                Ok(numbers) => {
                    self.each_by(values, |value| in_table(numbers, scale, value - self.zero), take);
                }
                Err(_) => {
                    self.each_by(values, |value| in_table(numbers, scale, value - self.zero), take);
                }
            },
            Gaps::Floats { scale, digits, smallest_normal } => {
                let step = (-digits as f32).exp2() * scale.abs() / 2.0;
                let half_gaps = |value: f32| {
                    of_float((value / scale).abs(), smallest_normal, value < 0.0)
                        .map(|power| power * step)
                };
                self.each_by(values, half_gaps, take);
            }
        }
    }

    /// The bounds of each number follow from half the gaps below and above it.
    #[inline(always)]
    fn each_by<'v, T>(
        &self,
        values: impl Iterator<Item = (&'v f32, T)>,
        half_gaps: impl Fn(f32) -> [f32; 2],
        mut take: impl FnMut(Bounds, T),
    ) {
        let Self { zero, lowest, highest, beyond, slack, .. } = *self;
        let (first, last) = (lowest - beyond, highest + beyond);
        values.for_each(|(&value, with)| {
            let [below, above] = half_gaps(value);
            let more = slack.constant
                + slack.of_distance * (value - zero).abs()
                + slack.of_value * value.abs();
            let (low, high) = (value - (below * WIDER + more), value + (above * WIDER + more));
            let low = if low <= lowest { first } else { low };
            let high = if high >= highest { last } else { high };
            take(Bounds { low, high }, with);
        });
    }
}

kernel! {
    fn fill(_isa; levels: Levels<'_>, values: &[f32], out: &mut [Bounds]) -> () {
        levels.each(values.iter().zip(out), |bounds, out| *out = bounds);
    }
}

/// Half the gaps around the level `distance` from zero, for a table of numbers times a scale.
#[inline(always)]
fn in_table(numbers: &[f32], scale: f32, distance: f32) -> [f32; 2] {
    let place = distance / scale;
    let gap = |index: usize| match (numbers.get(index), numbers.get(index + 1)) {
        (Some(number), Some(next)) => next - number,
        _ => 0.0,
    };
    let [mut below, mut above] = [gap(0); 2];
    for index in 0..numbers.len().saturating_sub(1) {
        let here = gap(index);
        // Outside the outermost level there is no gap; the one inside stands in for it.
        let next = if index + 2 < numbers.len() { gap(index + 1) } else { here };
        let is_passed = place >= numbers[index] + here / 2.0;
        below = if is_passed { here } else { below };
        above = if is_passed { next } else { above };
    }
    let half = scale.abs() / 2.0;
    if scale < 0.0 { [above * half, below * half] } else { [below * half, above * half] }
}

/// The powers of two that set the gaps below and above a floating-point number.
#[inline(always)]
fn of_float(magnitude: f32, smallest_normal: f32, is_negative: bool) -> [f32; 2] {
    // The quotient may have been rounded to the other side of a power of two.
    const NEAR: f32 = 1.0 / (1 << 20) as f32;
    let power = |x: f32| f32::from_bits(x.to_bits() & 0x7f80_0000).max(smallest_normal);
    let [inner, outer] = [power(magnitude * (1.0 - NEAR)), power(magnitude * (1.0 + NEAR))];
    if is_negative { [outer, inner] } else { [inner, outer] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Originals around some levels, and the levels nearest to them; in every second turn one of
    /// them is not.
    pub(super) fn numbers_for(levels: &[f32], turn: u32) -> (Vec<f32>, Vec<f32>) {
        let mut state = turn.wrapping_mul(747_796_405).wrapping_add(1);
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1u32 << 24) as f32
        };
        let count = 3 + turn as usize % 61;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is between 0 and 1.
        let pick = |x: f32| ((x * levels.len() as f32) as usize).min(levels.len() - 1);
        let nearest = |x: f32, skipped: Option<f32>| {
            let others = levels.iter().copied().filter(|level| Some(*level) != skipped);
            others.min_by(|a, b| (a - x).abs().total_cmp(&(b - x).abs())).unwrap()
        };
        let originals: Vec<f32> = (0..count)
            .map(|_| {
                let (a, b) = (levels[pick(random())], levels[pick(random())]);
                a + (b - a) * random() * 0.1
            })
            .collect();
        let wrong = (turn % 2 == 1).then(|| turn as usize % count);
        let stored = originals.iter().enumerate().map(|(at, &x)| {
            if wrong == Some(at) { nearest(x, Some(nearest(x, None))) } else { nearest(x, None) }
        });
        (stored.collect(), originals)
    }

    fn bounds(levels: &Levels<'_>, value: f32) -> [f32; 2] {
        let mut out = [Bounds::default()];
        levels.fill(&[value], &mut out);
        [out[0].low, out[0].high]
    }

    fn near(found: [f32; 2], wanted: [f32; 2]) {
        for (found, wanted) in found.into_iter().zip(wanted) {
            assert!((found - wanted).abs() <= 2e-3 * wanted.abs().max(0.5), "{found} {wanted}");
        }
    }

    #[test]
    fn even_levels_reach_to_their_midpoints_and_the_outermost_as_far_as_is_clipped() {
        let levels = Levels {
            gaps: Gaps::Even(2.0),
            zero: 0.0,
            lowest: -16.0,
            highest: 14.0,
            beyond: 3.0,
            slack: Slack::default(),
        };
        near(bounds(&levels, 0.0), [-1.0, 1.0]);
        near(bounds(&levels, -14.0), [-15.0, -13.0]);
        near(bounds(&levels, -16.0), [-19.0, -15.0]);
        near(bounds(&levels, 14.0), [13.0, 17.0]);
        let slack = Slack { constant: 0.5, of_distance: 0.1, of_value: 0.2 };
        near(bounds(&Levels { slack, ..levels }, 4.0), [4.0 - 2.7, 4.0 + 2.7]);
        let clipped = Levels { beyond: f32::INFINITY, ..levels };
        assert_eq!(bounds(&clipped, -16.0)[0], f32::NEG_INFINITY);
    }

    #[test]
    fn the_levels_of_a_table_have_gaps_of_their_own_and_turn_with_the_scale() {
        let numbers = [-4.0, -1.0, 0.0, 2.0, 10.0];
        for scale in [1.0, -1.0, 0.25] {
            let ends = [numbers[0] * scale, numbers[4] * scale];
            let levels = Levels {
                gaps: Gaps::Table { scale, numbers: &numbers },
                zero: 0.0,
                lowest: ends[0].min(ends[1]),
                highest: ends[0].max(ends[1]),
                beyond: 0.0,
                slack: Slack::default(),
            };
            let middles = [-4.0, -2.5, -0.5, 1.0, 6.0, 10.0];
            for (index, number) in numbers.iter().enumerate() {
                let [a, b] = [middles[index] * scale, middles[index + 1] * scale];
                near(bounds(&levels, number * scale), [a.min(b), a.max(b)]);
            }
        }
    }

    #[test]
    fn floats_have_half_the_gap_below_a_power_of_two() {
        // Three digits after the point, as E4M3 has them.
        for scale in [1.0_f32, 0.3, 1.7e-3] {
            let levels = Levels {
                gaps: Gaps::Floats { scale, digits: 3, smallest_normal: 1.0 / 64.0 },
                zero: 0.0,
                lowest: -448.0 * scale,
                highest: 448.0 * scale,
                beyond: 0.0,
                slack: Slack::default(),
            };
            for (value, low, high) in [
                (1.0, 0.968_75, 1.0625),
                (1.125, 1.0625, 1.1875),
                (-1.0, -1.0625, -0.968_75),
                (-8.0, -8.5, -7.75),
                (0.0, -0.000_976_6, 0.000_976_6),
                (1.0 / 512.0, 0.000_976_6, 0.002_93),
                (448.0, 432.0, 448.0),
            ] {
                let [found_low, found_high] = bounds(&levels, value * scale).map(|x| x / scale);
                let close = |found: f32, wanted: f32| {
                    (found - wanted).abs() <= 2e-3 * wanted.abs().max(1e-3)
                };
                assert!(
                    close(found_low, low) && close(found_high, high),
                    "{value}: {found_low} {found_high}"
                );
            }
        }
    }

    #[test]
    fn a_scale_of_zero_leaves_one_level() {
        let levels = Levels {
            gaps: Gaps::Table { scale: 0.0, numbers: &[0.0, 1.0] },
            zero: 0.5,
            lowest: 0.5,
            highest: 0.5,
            beyond: 0.25,
            slack: Slack::default(),
        };
        assert_eq!(bounds(&levels, 0.5), [0.25, 0.75]);
    }
}
