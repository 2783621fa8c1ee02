//! First looks at a group of candidates: whether all of them lie within bounds that are a little
//! narrower than the full ones. Nearly always they do, and then nothing else has to be computed.
//!
//! The first look asks how far each original lies from its stored number, and leaves clipping out.
//! Where levels are even, a group in which something was clipped gets a second one: an original that
//! is brought back between the outermost levels lies at most half a gap from its level, and before
//! that it lay no farther beyond them than the quantizer clips.

use super::{Candidates, Gaps, Levels};
use crate::simd::Isa;
use crate::simd::near::{Cells, EvenReach, FloatReach, MOST_LEVELS};

/// Of slack, this share is used: what is left out is many times what rounding may lose. Half a gap
/// loses as much, because the full bounds widen it.
const LESS: f32 = 1.0 - 1.0 / 1024.0;

/// Quotients may have been rounded to the other side of a power of two. The full bounds allow for
/// twice this.
const NEAR: f32 = 1.0 / (1 << 21) as f32;

impl Levels<'_> {
    /// Whether all candidates lie within the narrower bounds. To be called within a task.
    #[inline(always)]
    pub(super) fn hold_all(&self, isa: impl Isa, candidates: Candidates<'_>) -> bool {
        let Candidates { stored, originals, .. } = candidates;
        match self.gaps {
            Gaps::Even(gap) => {
                let is_near = |reach| isa.near_even(&reach, stored, originals);
                self.even_reach(gap).is_some_and(is_near) || self.hold_clipped(gap, candidates)
            }
            Gaps::Floats { scale, digits, smallest_normal } => {
                let reach = self.float_reach(scale, digits, smallest_normal);
                reach.is_some_and(|reach| isa.near_floats(&reach, stored, originals))
            }
            Gaps::Table { scale, numbers } => {
                let cells = self.cells(scale, numbers);
                cells.is_some_and(|cells| isa.in_cells(&cells, stored, originals))
            }
        }
    }

    /// What of the slack grows with the distance from zero.
    #[inline(always)]
    fn slack_of_distance(&self) -> f32 {
        let of_value = if self.zero == 0.0 { self.slack.of_value } else { 0.0 };
        (self.slack.of_distance + of_value) * LESS
    }

    /// How far an original may lie from its level; `None` if that may be farther beyond the
    /// outermost levels than an original may lie.
    #[inline(always)]
    fn even_reach(&self, gap: f32) -> Option<EvenReach> {
        let constant = gap / 2.0 + self.slack.constant * LESS;
        let of_distance = self.slack_of_distance();
        let farthest = greater((self.lowest - self.zero).abs(), (self.highest - self.zero).abs());
        let is_inside = constant + farthest * of_distance <= self.beyond * LESS;
        is_inside.then_some(EvenReach { constant, of_distance, zero: self.zero })
    }

    /// Whether this is so of all originals once they are brought back between the outermost levels.
    #[inline(always)]
    fn hold_clipped(&self, gap: f32, Candidates { stored, originals, .. }: Candidates<'_>) -> bool {
        let Self { lowest, highest, beyond, .. } = *self;
        let half = gap / 2.0 + self.slack.constant * LESS;
        let outer = [lowest - beyond, highest + beyond];
        let mut outside = 0;
        for (&value, &original) in stored.iter().zip(originals) {
            let back = lesser(greater(original, lowest), highest);
            let is_near = (back - value).abs() <= half;
            let is_in = (original >= outer[0]) & (original <= outer[1]);
            outside |= u32::from(!(is_near & is_in));
        }
        outside == 0
    }

    /// How far an original may lie from a float, and how large it may be.
    #[inline(always)]
    fn float_reach(&self, scale: f32, digits: i32, smallest_normal: f32) -> Option<FloatReach> {
        let inverse = 1.0 / scale.abs() * (1.0 + NEAR);
        // Two to the minus digits.
        let last_digit = f32::from_bits(u32::try_from(127 - digits).ok()? << 23);
        let of_value =
            if self.zero == 0.0 { self.slack_of_distance() } else { self.slack.of_value * LESS };
        let reach = FloatReach {
            inverse,
            smallest_normal,
            step: last_digit * scale.abs() / 2.0,
            constant: self.slack.constant * LESS,
            of_value,
            most: lesser(self.highest + self.beyond, self.beyond - self.lowest),
        };
        inverse.is_finite().then_some(reach)
    }

    /// The cells around the levels of a table. Slack is left out if it could lead farther beyond the
    /// outermost levels than an original may lie; where it is not, it is taken off there.
    #[inline(always)]
    fn cells(&self, scale: f32, numbers: &[f32]) -> Option<Cells> {
        let is_plain = scale != 0.0 && scale.is_finite() && self.zero == 0.0;
        if !is_plain || numbers.len() > MOST_LEVELS {
            return None;
        }
        let [constant, of_value] =
            [self.slack.constant, self.slack.of_distance + self.slack.of_value];
        let most = (constant + of_value * greater(-self.lowest, self.highest)) / LESS;
        let [most, constant, of_value] =
            if most <= self.beyond { [most, constant * LESS, of_value * LESS] } else { [0.0; 3] };
        let middle = |a: f32, b: f32| (a + b) / 2.0 * scale;
        let mut edges = [self.highest + (self.beyond - most); MOST_LEVELS + 1];
        match <&[f32; MOST_LEVELS]>::try_from(numbers) {
            // Of a length that is known, it is done without a loop.
            Ok(numbers) if scale > 0.0 => {
                for index in 1..MOST_LEVELS {
                    edges[index] = middle(numbers[index - 1], numbers[index]);
                }
            }
            // Under a scale below zero the last number is the lowest level.
            Ok(numbers) => {
                for index in 1..MOST_LEVELS {
                    edges[index] =
                        middle(numbers[MOST_LEVELS - index], numbers[MOST_LEVELS - 1 - index]);
                }
            }
            Err(_) => {
                for (index, pair) in (1..).zip(numbers.windows(2)) {
                    let edge = if scale > 0.0 { index } else { numbers.len() - index };
                    edges[edge] = middle(pair[0], pair[1]);
                }
            }
        }
        edges[0] = self.lowest - (self.beyond - most);
        Some(Cells { edges, constant, of_value })
    }
}

/// The greater of two numbers; the second, if the first is NaN.
#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The lesser of two numbers; the second, if the first is NaN.
#[inline(always)]
fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Slack, tests::numbers_for};
    use super::*;
    use crate::simd::{self, Task};

    struct HoldAll<'a>(Levels<'a>, Candidates<'a>);

    impl Task for HoldAll<'_> {
        type Output = bool;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> bool {
            self.0.hold_all(isa, self.1)
        }
    }

    /// What is held here lies within the full bounds, for every kind of gaps, clipped or not; and
    /// what was stored as the nearest level is held.
    #[test]
    fn nothing_is_held_that_lies_outside() {
        let table: [f32; 16] = std::array::from_fn(|i| (i as f32 - 7.0).powi(3) / 100.0 + i as f32);
        for scale in [1.0f32, 0.037, 3e-5, -0.5] {
            let floats = Gaps::Floats { scale, digits: 3, smallest_normal: 1.0 / 64.0 };
            let gaps = [Gaps::Even(scale.abs()), floats, Gaps::Table { scale, numbers: &table }];
            for gaps in gaps {
                for beyond in [0.0, 1.5 * scale.abs(), f32::INFINITY] {
                    let (held, all) = held_of(gaps, scale, beyond, &table);
                    assert!(held > all / 20, "{gaps:?} {beyond}: {held} of {all}");
                }
            }
        }
    }

    /// At the edges of the full bounds, a step this way or that, nothing is held that lies outside;
    /// and what lies well inside is held, slack included.
    #[test]
    fn the_edges_of_bounds_are_not_passed() {
        let table: [f32; 16] = std::array::from_fn(|i| (i as f32 - 7.0).powi(3) / 100.0 + i as f32);
        for scale in [1.0f32, 0.037, 3e-5, -0.5, 1e-38] {
            let size = scale.abs();
            let floats = Gaps::Floats { scale, digits: 3, smallest_normal: 1.0 / 64.0 };
            for gaps in [Gaps::Even(size), floats, Gaps::Table { scale, numbers: &table }] {
                for zero in [0.0, -3.3 * size, 1e4 * size] {
                    if zero != 0.0 && matches!(gaps, Gaps::Floats { .. }) {
                        continue;
                    }
                    for beyond in [0.0, 0.6 * size, 1.5 * size, f32::INFINITY] {
                        let slack = |constant: f32, of_distance: f32, of_value: f32| Slack {
                            constant: constant * size,
                            of_distance,
                            of_value,
                        };
                        let all = [slack(0.0, 0.0, 0.0), slack(0.01, 0.004, 0.0)];
                        for slack in all.into_iter().chain([slack(0.0, 0.5, 0.004)]) {
                            let levels = levels_of(gaps, scale, zero, &table);
                            look_at_edges(&of_levels(&levels, gaps, zero, beyond, slack), &levels);
                        }
                    }
                }
            }
        }
    }

    fn look_at_edges(of: &Levels<'_>, levels: &[f32]) {
        const COUNT: usize = 11;
        let holds = |value: f32, original: f32, at: usize| {
            let (stored, mut originals) = ([value; COUNT], [value; COUNT]);
            originals[at % COUNT] = original;
            let candidates = Candidates { stored: &stored, originals: &originals, share: 0.0 };
            let is_held = simd::run(simd::level(), HoldAll(*of, candidates));
            assert!(!is_held || of.count_in_full(candidates) == 0, "{of:?} {value} {original}");
            is_held
        };
        for &value in levels {
            let mut bounds = [Bounds::default()];
            of.fill(&[value], &mut bounds);
            let ends = [bounds[0].low, bounds[0].high].map(|end| end.clamp(f32::MIN, f32::MAX));
            for (end, middle) in ends.into_iter().flat_map(|end| [(end, end), (end, of.zero)]) {
                for step in -5i32..=5 {
                    let near = f32::from_bits(end.to_bits().wrapping_add_signed(step));
                    holds(value, near, step.unsigned_abs() as usize * 3);
                    holds(value, near + (middle - near) / 1024.0, 9);
                }
                let inside = end + (value - end) / 64.0;
                let is_even = matches!(of.gaps, Gaps::Even(_));
                let is_exact = of.zero.abs() < 100.0 * of.highest.abs() && of.slack.of_value == 0.0;
                if is_even && is_exact && of.beyond > 10.0 * (of.highest - of.lowest) {
                    let is_inner = value > of.lowest && value < of.highest;
                    assert!(!is_inner || holds(value, inside, 2), "{of:?} {value} {inside}");
                }
            }
        }
    }

    fn levels_of(gaps: Gaps<'_>, scale: f32, zero: f32, table: &[f32; 16]) -> Vec<f32> {
        let levels: Vec<f32> = match gaps {
            Gaps::Even(gap) => (-8i8..8).map(|code| f32::from(code) * gap + zero).collect(),
            Gaps::Floats { .. } => {
                (0..=255u8).map(|c| crate::simd::small_floats::e4m3(c) * scale).collect()
            }
            Gaps::Table { .. } => table.iter().map(|number| number * scale + zero).collect(),
        };
        levels.into_iter().filter(|level| level.is_finite()).collect()
    }

    fn of_levels<'a>(
        levels: &[f32],
        gaps: Gaps<'a>,
        zero: f32,
        beyond: f32,
        slack: Slack,
    ) -> Levels<'a> {
        let lowest = levels.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = levels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        Levels { gaps, zero, lowest, highest, beyond, slack }
    }

    fn held_of(gaps: Gaps<'_>, scale: f32, beyond: f32, table: &[f32; 16]) -> (u32, u32) {
        let levels = levels_of(gaps, scale, 0.0, table);
        let of = of_levels(&levels, gaps, 0.0, beyond, Slack::default());
        let (mut held, mut all) = (0, 0);
        for seed in 0..400 {
            let (stored, originals) = numbers_for(&levels, seed);
            let candidates = Candidates { stored: &stored, originals: &originals, share: 0.0 };
            let is_held = simd::run(simd::level(), HoldAll(of, candidates));
            assert!(!is_held || of.count_in_full(candidates) == 0, "{gaps:?} {seed}");
            (held, all) = (held + u32::from(is_held), all + 1);
        }
        (held, all)
    }
}
