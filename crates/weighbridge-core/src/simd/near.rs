//! Whether the originals of a group all lie near their stored numbers.
//!
//! Nearly all groups that are ever looked at do, so that one answer for all of a group is what has
//! to be quick. Nothing is fused, and every level gives the same answer.

/// Which originals lie near a number.
pub trait Reach {
    /// Whether an original does.
    fn holds(&self, value: f32, original: f32) -> bool;

    /// Whether all do: the definition.
    #[inline(always)]
    fn hold_all(&self, values: &[f32], originals: &[f32]) -> bool {
        let far = |far, (v, o): (&f32, &f32)| far | u32::from(!self.holds(*v, *o));
        values.iter().zip(originals).fold(0, far) == 0
    }
}

/// How far originals may lie from numbers whose neighbours are all equally far away.
#[derive(Clone, Copy, Debug)]
pub struct EvenReach {
    /// Always this far.
    pub constant: f32,
    /// Farther by this for each unit of a number's distance from `zero`.
    pub of_distance: f32,
    /// The number that distances are measured from.
    pub zero: f32,
}

impl Reach for EvenReach {
    /// Whether an original lies near its number.
    #[inline(always)]
    fn holds(&self, value: f32, original: f32) -> bool {
        let more = (value - self.zero).abs() * self.of_distance;
        (original - value).abs() - more <= self.constant
    }
}

/// How far originals may lie from floating-point numbers times a scale.
#[derive(Clone, Copy, Debug)]
pub struct FloatReach {
    /// One over the scale, or a little more.
    pub inverse: f32,
    /// The smallest number that has all digits.
    pub smallest_normal: f32,
    /// Half the gap above one, times the scale.
    pub step: f32,
    /// Farther than half a gap by this,
    pub constant: f32,
    /// and by this share of the number.
    pub of_value: f32,
    /// No original is larger than this.
    pub most: f32,
}

impl Reach for FloatReach {
    /// Whether an original lies near its number. The gap between the two is that of the smaller: a
    /// power of two has half the gap on the side of zero.
    #[inline(always)]
    fn holds(&self, value: f32, original: f32) -> bool {
        let [stored, size] = [value, original].map(f32::abs);
        let smaller = if size < stored { size } else { stored } * self.inverse;
        let power = f32::from_bits(smaller.to_bits() & 0x7f80_0000);
        let power = if power > self.smallest_normal { power } else { self.smallest_normal };
        let apart = (original - value).abs() - stored * self.of_value;
        (apart - power * self.step <= self.constant) & (size <= self.most)
    }
}

/// The most levels of a table.
pub const MOST_LEVELS: usize = 16;

/// The cells around the levels of a table.
#[derive(Clone, Copy, Debug)]
pub struct Cells {
    /// Their edges in ascending order, the last one as often as there is room for.
    pub edges: [f32; MOST_LEVELS + 1],
    /// Originals may lie outside by this,
    pub constant: f32,
    /// and by this share of the number.
    pub of_value: f32,
}

impl Reach for Cells {
    /// Whether an original lies in the cell of its number.
    #[inline(always)]
    fn holds(&self, value: f32, original: f32) -> bool {
        let Self { edges, constant, of_value } = self;
        let [mut below, mut above] = [edges[0], edges[1]];
        for index in 1..MOST_LEVELS {
            let is_passed = value > edges[index];
            below = if is_passed { edges[index] } else { below };
            above = if is_passed { edges[index + 1] } else { above };
        }
        let more = value.abs() * of_value + constant;
        (original + more >= below) & (original - more <= above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, Level, Task, run};

    enum Look {
        Even(EvenReach),
        Float(FloatReach),
        Cells(Cells),
    }

    struct HoldAll<'a>(&'a Look, &'a [f32], &'a [f32]);

    impl Task for HoldAll<'_> {
        type Output = [bool; 2];

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> [bool; 2] {
            let Self(look, values, originals) = self;
            match look {
                Look::Even(reach) => {
                    [isa.near_even(reach, values, originals), reach.hold_all(values, originals)]
                }
                Look::Float(reach) => {
                    [isa.near_floats(reach, values, originals), reach.hold_all(values, originals)]
                }
                Look::Cells(cells) => {
                    [isa.in_cells(cells, values, originals), cells.hold_all(values, originals)]
                }
            }
        }
    }

    /// Every level says of every length and every place what the definition says.
    #[test]
    fn every_level_holds_the_same() {
        let mut state = 1u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
        };
        let edges = std::array::from_fn(|i| (i as f32 - 8.0).powi(3) / 400.0);
        let even = |of_distance, zero| EvenReach { constant: 0.08, of_distance, zero };
        let float = FloatReach {
            inverse: 3.0,
            smallest_normal: 1.0 / 64.0,
            step: 1.0 / 8.0,
            constant: 1e-3,
            of_value: 0.01,
            most: 1.02,
        };
        let looks = [
            Look::Even(even(0.0, 0.0)),
            Look::Even(even(0.02, 0.25)),
            Look::Float(float),
            Look::Cells(Cells { edges, constant: 0.0, of_value: 0.0 }),
            Look::Cells(Cells { edges, constant: 0.004, of_value: 0.01 }),
        ];
        let mut held = [0; 2];
        for look in &looks {
            for turn in 0..4000 {
                let values: Vec<f32> = (0..turn % 70).map(|_| random()).collect();
                let mut originals: Vec<f32> =
                    values.iter().map(|value| value + 0.03 * random() * value.abs()).collect();
                let special = [f32::NAN, f32::INFINITY, 1.03, -1.03, random()];
                if let (Some(one), Some(other)) =
                    (originals.get_mut(turn / 7 % 71), special.get(turn % 11))
                {
                    *one = *other;
                }
                for &level in Level::available() {
                    let [found, wanted] = run(level, HoldAll(look, &values, &originals));
                    assert_eq!(found, wanted, "{level:?} {values:?} {originals:?}");
                    held[usize::from(found)] += 1;
                }
            }
        }
        assert!(held.into_iter().all(|times| times > 500), "{held:?}");
    }
}
