//! The sums of some numbers, their extremes and how many are zero, in one pass.
//!
//! Sums have sixteen lanes, so that none waits for the one before it; extremes have eight, and are
//! kept for each block, so that who looks for the largest numbers again need not look everywhere.
//! The square of an f32 is exact in f64, so a fused multiply-add rounds as the definition does.

/// Lanes of the sums.
pub const LANES: usize = 16;
/// Lanes of the extremes.
pub const HALF: usize = LANES / 2;

/// One number for each lane of the sums.
pub type Sixteen = [f32; LANES];

/// How many times sixteen numbers a block has.
pub const BLOCK: usize = 16;

/// Sums and counts over all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// The numbers.
    pub sum: [f64; LANES],
    /// Their squares.
    pub squares: [f64; LANES],
    /// How many are zero.
    pub zeros: u32,
}

impl Extent {
    /// Adds a number to a lane.
    #[inline(always)]
    pub fn add(&mut self, lane: usize, x: f32) {
        let wide = f64::from(x);
        self.sum[lane] += wide;
        self.squares[lane] += wide * wide;
        self.zeros += u32::from(x == 0.0);
    }
}

/// The extremes of a block. What is not a number is passed over; zeros of either sign are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// The smallest number of each lane.
    pub min: [f32; HALF],
    /// The largest number of each lane.
    pub max: [f32; HALF],
}

impl Ends {
    /// The extremes of no numbers.
    pub const NONE: Self = Self { min: [f32::INFINITY; HALF], max: [f32::NEG_INFINITY; HALF] };

    /// Adds a number to a lane.
    #[inline(always)]
    pub fn add(&mut self, lane: usize, x: f32) {
        let (min, max) = (self.min[lane], self.max[lane]);
        self.min[lane] = if x < min { x } else { min };
        self.max[lane] = if x > max { x } else { max };
    }

    /// Those of both.
    #[inline(always)]
    pub fn merge(&mut self, other: &Self) {
        for lane in 0..HALF {
            let (min, max) = (other.min[lane], other.max[lane]);
            self.min[lane] = if min < self.min[lane] { min } else { self.min[lane] };
            self.max[lane] = if max > self.max[lane] { max } else { self.max[lane] };
        }
    }

    /// Whether a number of that size, whatever its sign, is an extreme of any lane.
    #[inline(always)]
    pub fn reach(&self, size: f32) -> bool {
        let is_reached =
            |reached, lane: usize| reached | (self.min[lane] == -size) | (self.max[lane] == size);
        (0..HALF).fold(false, is_reached)
    }

    /// The least and the most of all lanes.
    #[inline(always)]
    pub fn both(&self) -> (f32, f32) {
        let min = self.min.into_iter().fold(f32::INFINITY, f32::min);
        (min, self.max.into_iter().fold(f32::NEG_INFINITY, f32::max))
    }
}

/// The definition. Each block of numbers sets its place in `ends`.
#[inline(always)]
pub fn extent(numbers: &[Sixteen], ends: &mut [Ends]) -> Extent {
    let mut all = Extent::default();
    for (block, ends) in numbers.chunks(BLOCK).zip(ends) {
        *ends = Ends::NONE;
        for sixteen in block {
            for (lane, &x) in sixteen.iter().enumerate() {
                all.add(lane, x);
                ends.add(lane % HALF, x);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Isa, Level, Task, run};

    struct Whole<'a>(&'a [Sixteen], &'a mut [Ends]);

    impl Task for Whole<'_> {
        type Output = Extent;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Extent {
            isa.extent(self.0, self.1)
        }
    }

    #[test]
    fn every_level_gives_the_same_extent() {
        let number = |i: u32| match i % 97 {
            0 => 0.0,
            1 => -0.0,
            _ => f32::from_bits(i.wrapping_mul(2_654_435_761) % 0x7f00_0000) - 1.0,
        };
        let numbers: Vec<f32> = (0..16 * 50).map(number).collect();
        let sixteens = numbers.as_chunks().0;
        for len in [0, 1, 2, 15, 16, 17, 32, 50] {
            let (mut ends, mut wanted) = ([Ends::NONE; 4], [Ends::NONE; 4]);
            let all = extent(&sixteens[..len], &mut wanted);
            for &level in Level::available() {
                assert_eq!(run(level, Whole(&sixteens[..len], &mut ends)), all);
                assert_eq!(ends, wanted);
            }
        }
    }

    #[test]
    fn what_is_not_a_number_leaves_extremes_alone() {
        let mut numbers = [[1.0f32; LANES]; 3];
        numbers[1][5] = f32::NAN;
        numbers[2][6] = -2.0;
        for &level in Level::available() {
            let mut ends = [Ends::NONE];
            let all = run(level, Whole(&numbers, &mut ends));
            assert_eq!(ends[0].both(), (-2.0, 1.0));
            assert!(all.squares[5].is_nan() && all.squares[6].is_finite());
        }
    }
}
