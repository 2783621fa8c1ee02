//! A first look at a group of candidates: whether all of them lie within bounds that leave most of
//! the slack out. Nearly always they do, and then nothing else has to be computed.
//!
//! An original that is brought back between the outermost levels lies at most half a gap from its
//! level, and before that it lay no farther beyond them than the quantizer clips. Each loop keeps
//! one whole number, so that the compiler can look at eight elements at a time; a loop over a closure
//! is not compiled for the CPU's level, because a closure cannot be told to be.

use super::{Candidates, Gaps, Levels, WIDER};

/// The most levels of a table.
const MOST_NUMBERS: usize = 16;

/// Quotients may have been rounded to the other side of a power of two.
const NEAR: f32 = 1.0 / (1 << 20) as f32;

/// What is asked of every original of a group.
struct Reach {
    /// How much farther than half a gap it may lie from its level.
    more: f32,
    /// The outermost levels.
    ends: [f32; 2],
    /// Where it may lie at all.
    outer: [f32; 2],
}

impl Reach {
    /// Not zero if an original lies too far from its level.
    #[inline(always)]
    fn excludes(&self, value: f32, original: f32, half: f32) -> u32 {
        let back = lesser(greater(original, self.ends[0]), self.ends[1]);
        let is_near = (back - value).abs() - half <= self.more;
        let is_in = (original >= self.outer[0]) & (original <= self.outer[1]);
        u32::from(!(is_near & is_in))
    }
}

impl Levels<'_> {
    /// Whether all candidates lie within the narrower bounds. To be called within a task.
    #[inline(always)]
    pub(super) fn hold_all(&self, Candidates { stored, originals, .. }: Candidates<'_>) -> bool {
        let ends = [self.lowest, self.highest];
        let outer = [self.lowest - self.beyond, self.highest + self.beyond];
        let reach = Reach { more: self.slack.constant, ends, outer };
        let mut outside = 0;
        match self.gaps {
            Gaps::Even(gap) => {
                let half = gap / 2.0 * WIDER;
                for (&value, &original) in stored.iter().zip(originals) {
                    outside |= reach.excludes(value, original, half);
                }
            }
            Gaps::Floats { scale, digits, smallest_normal } => {
                let inverse = 1.0 / scale;
                let step = (-digits as f32).exp2() * scale.abs() / 2.0;
                if !inverse.is_finite() {
                    return false;
                }
                for (&value, &original) in stored.iter().zip(originals) {
                    let magnitude = (value * inverse).abs() * (1.0 - NEAR);
                    let power = f32::from_bits(magnitude.to_bits() & 0x7f80_0000);
                    let half = greater(power, smallest_normal) * step;
                    outside |= reach.excludes(value, original, half);
                }
            }
            Gaps::Table { scale, numbers } => {
                if !(scale > 0.0 && scale.is_finite() && numbers.len() <= MOST_NUMBERS) {
                    return false;
                }
                let edges = self.edges(scale, numbers);
                for (&value, &original) in stored.iter().zip(originals) {
                    outside |= is_in_another_cell(&edges, value, original);
                }
            }
        }
        outside == 0
    }

    /// The edges of the cells around the levels of a table; there may be fewer than there is room
    /// for.
    #[inline(always)]
    fn edges(&self, scale: f32, numbers: &[f32]) -> [f32; MOST_NUMBERS + 1] {
        let mut edges = [self.highest + self.beyond; MOST_NUMBERS + 1];
        edges[0] = self.lowest - self.beyond;
        for (edge, pair) in edges[1..].iter_mut().zip(numbers.windows(2)) {
            *edge = (pair[0] + pair[1]) / 2.0 * scale + self.zero;
        }
        edges
    }
}

/// Not zero if an original does not lie in the cell of its level.
#[inline(always)]
fn is_in_another_cell(edges: &[f32; MOST_NUMBERS + 1], value: f32, original: f32) -> u32 {
    let [mut below, mut above] = [edges[0], edges[1]];
    for index in 1..MOST_NUMBERS {
        let is_passed = value > edges[index];
        below = if is_passed { edges[index] } else { below };
        above = if is_passed { edges[index + 1] } else { above };
    }
    u32::from(!((original >= below) & (original <= above)))
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
    use super::super::{Slack, tests::numbers_for};
    use super::*;

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
                    let is_turned = scale < 0.0 && matches!(gaps, Gaps::Table { .. });
                    assert!(held > all / 20 || is_turned, "{gaps:?} {beyond}: {held} of {all}");
                }
            }
        }
    }

    fn held_of(gaps: Gaps<'_>, scale: f32, beyond: f32, table: &[f32; 16]) -> (u32, u32) {
        let levels: Vec<f32> = match gaps {
            Gaps::Even(gap) => (-8i8..8).map(|code| f32::from(code) * gap).collect(),
            Gaps::Floats { .. } => {
                (0..=255u8).map(|c| crate::simd::small_floats::e4m3(c) * scale).collect()
            }
            Gaps::Table { .. } => table.iter().map(|number| number * scale).collect(),
        };
        let levels: Vec<f32> = levels.into_iter().filter(|level| level.is_finite()).collect();
        let lowest = levels.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = levels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let slack = Slack { constant: 0.0, of_distance: 0.0, of_value: 0.0 };
        let of = Levels { gaps, zero: 0.0, lowest, highest, beyond, slack };
        let (mut held, mut all) = (0, 0);
        for seed in 0..400 {
            let (stored, originals) = numbers_for(&levels, seed);
            let candidates = Candidates { stored: &stored, originals: &originals, share: 0.0 };
            let is_held = of.hold_all(candidates);
            assert!(!is_held || of.count_in_full(candidates) == 0, "{gaps:?} {seed}");
            (held, all) = (held + u32::from(is_held), all + 1);
        }
        (held, all)
    }
}
