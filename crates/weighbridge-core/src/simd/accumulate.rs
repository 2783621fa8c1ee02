//! The sums of a comparison, in four lanes that are added up one after the other.
//!
//! Each instruction set states what its registers hold: left alone, compilers pack different sums
//! into one register and lose time shuffling them. Counting the steps between two numbers uses
//! other CPU units than adding does, so both share one loop. The product of two f32 is exact in
//! f64, so a fused multiply-add rounds as the definition does.

/// Lanes of the sums.
pub const LANES: usize = 4;

/// The numbers of two turns of the lanes.
pub type Eight = [f32; 2 * LANES];

/// Sums over the numbers of one side, in four lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneSide {
    /// The numbers.
    pub sum: [f64; LANES],
    /// Their squares.
    pub squares: [f64; LANES],
}

impl OneSide {
    /// Adds a number to a lane.
    #[inline(always)]
    pub fn add(&mut self, lane: usize, x: f64) {
        self.sum[lane] += x;
        self.squares[lane] += x * x;
    }
}

/// Sums over the numbers of two sides and their differences, in four lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TwoSides {
    /// The first side alone.
    pub a: OneSide,
    /// The second side alone.
    pub b: OneSide,
    /// Products of both sides.
    pub products: [f64; LANES],
    /// Squares of differences.
    pub squares: [f64; LANES],
    /// Absolute differences.
    pub absolute: [f64; LANES],
    /// The largest absolute difference.
    pub largest: [f64; LANES],
    /// Elements that are the same to the bit.
    pub identical: u32,
    /// The largest distance between two numbers, in f32 steps; one too many where signs differ.
    pub apart: u32,
}

impl TwoSides {
    /// Adds a pair of numbers to a lane.
    #[inline(always)]
    pub fn add(&mut self, lane: usize, single_a: f32, single_b: f32) {
        let (a, b) = (f64::from(single_a), f64::from(single_b));
        let apart = a - b;
        let size = apart.abs();
        self.a.add(lane, a);
        self.b.add(lane, b);
        self.products[lane] += a * b;
        self.squares[lane] += apart * apart;
        self.absolute[lane] += size;
        self.largest[lane] = if size > self.largest[lane] { size } else { self.largest[lane] };
        let bits = [single_a, single_b].map(|x| x.to_bits().cast_signed());
        self.identical += u32::from(bits[0] == bits[1]);
        let [a, b] = bits.map(|x| x ^ ((x >> 31).cast_unsigned() >> 1).cast_signed());
        self.apart = self.apart.max(a.abs_diff(b));
    }
}

/// The definition, for one side.
#[inline(always)]
pub fn one_side(eights: &[Eight]) -> OneSide {
    let mut all = OneSide::default();
    for (index, &x) in eights.as_flattened().iter().enumerate() {
        all.add(index % LANES, x.into());
    }
    all
}

/// The definition, for two sides.
#[inline(always)]
pub fn two_sides(a: &[Eight], b: &[Eight]) -> TwoSides {
    let mut all = TwoSides::default();
    let pairs = a.as_flattened().iter().zip(b.as_flattened());
    for (index, (&a, &b)) in pairs.enumerate() {
        all.add(index % LANES, a, b);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, Level, Task, run};

    struct Both<'a>(&'a [Eight], &'a [Eight]);

    impl Task for Both<'_> {
        type Output = (OneSide, TwoSides);

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            (isa.one_side(self.0), isa.two_sides(self.0, self.1))
        }
    }

    #[test]
    fn every_level_gives_the_same_sums() {
        let numbers = |seed: u32| -> Vec<Eight> {
            let number = |i: u32| {
                f32::from_bits(i.wrapping_mul(2_654_435).wrapping_add(seed) % 0x7f00_0000) - 1.0
            };
            (0..300).map(|i| [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| number(i * 8 + lane))).collect()
        };
        let (a, b) = (numbers(1), numbers(77));
        for len in [0, 1, 2, 299, 300] {
            for &level in Level::available() {
                let (a, b) = (&a[..len], &b[..len]);
                assert_eq!(run(level, Both(a, b)), (one_side(a), two_sides(a, b)));
            }
        }
    }
}
