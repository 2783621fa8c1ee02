//! Where the original of a stored number may have been.
//!
//! Nearly every quantizer chooses its codes last, and takes the level that is nearest under the
//! scales it stores. So an original lies between the midpoints to the two levels beside the stored
//! one, give or take what rounding the scales moved. Beyond the outermost levels it may lie as far
//! as the quantizer clips.

use crate::simd::{self, Isa, Task};

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
    #[must_use]
    pub fn contains(&self, number: f32) -> bool {
        self.low <= number && number <= self.high
    }
}

/// The levels of a stretch of elements that share their scales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels<'a> {
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
pub(crate) enum Gaps<'a> {
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
pub(crate) struct Slack {
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
    pub(crate) fn fill(&self, values: &[f32], out: &mut [Bounds]) {
        simd::run(simd::level(), Fill { levels: *self, values, out });
    }
}

/// The task of [`Levels::fill`].
struct Fill<'a> {
    levels: Levels<'a>,
    values: &'a [f32],
    out: &'a mut [Bounds],
}

impl Task for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Self { levels, values, out } = self;
        match levels.gaps {
            Gaps::Even(gap) => fill(&levels, values, out, |_| [gap / 2.0; 2]),
            Gaps::Table { scale, .. } | Gaps::Floats { scale, .. } if scale == 0.0 => {
                fill(&levels, values, out, |_| [0.0; 2]);
            }
            Gaps::Table { scale, numbers } => {
                let zero = levels.zero;
                fill(&levels, values, out, |value| in_table(numbers, scale, value - zero));
            }
            Gaps::Floats { scale, digits, smallest_normal } => {
                let step = (-digits as f32).exp2() * scale.abs() / 2.0;
                fill(&levels, values, out, |value| {
                    of_float((value / scale).abs(), smallest_normal, value < 0.0)
                        .map(|power| power * step)
                });
            }
        }
    }
}

/// Sets the bounds of each number from half the gaps below and above it.
#[inline(always)]
fn fill(
    levels: &Levels<'_>,
    values: &[f32],
    out: &mut [Bounds],
    half_gaps: impl Fn(f32) -> [f32; 2],
) {
    let Levels { zero, lowest, highest, beyond, slack, .. } = *levels;
    let (first, last) = (lowest - beyond, highest + beyond);
    for (out, &value) in out.iter_mut().zip(values) {
        let [below, above] = half_gaps(value);
        let more = slack.constant
            + slack.of_distance * (value - zero).abs()
            + slack.of_value * value.abs();
        let (low, high) = (value - (below * WIDER + more), value + (above * WIDER + more));
        out.low = if low <= lowest { first } else { low };
        out.high = if high >= highest { last } else { high };
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
