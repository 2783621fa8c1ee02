//! What is added up over two weights, and the figures computed from it.
//!
//! All sums are in double precision. Squared deviations are taken from the mean of each piece and
//! merged by the rule of Chan, Golub and LeVeque, so that a weight whose values lie close together
//! and far from zero keeps all its digits.

/// Count, sum and squared deviations of one side's finite numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    pub count: u64,
    pub sum: f64,
    /// The sum of the squared distances from the mean.
    pub squared_deviations: f64,
}

#[allow(clippy::cast_precision_loss)] // Counts of elements stay below 2^53.
impl Moments {
    pub fn plus(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = other.sum / m - self.sum / n;
        self.squared_deviations += other.squared_deviations + apart * apart * (n * m / (n + m));
        self.sum += other.sum;
        self.count += other.count;
    }

    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The standard deviation of these numbers; not an estimate for a larger population.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squared_deviations / self.count as f64).sqrt())
    }
}

/// The statistics of a pair of weights. Differences count where both sides are finite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How many elements were compared.
    pub elements: u64,
    /// Elements that are the same to the bit; any two NaNs count as the same.
    pub identical: u64,
    /// The first side alone.
    pub a: Moments,
    /// The second side alone.
    pub b: Moments,
    /// Elements that are finite on both sides.
    pub both: u64,
    /// Squares of the first side.
    pub squares_a: f64,
    /// Squares of the second side.
    pub squares_b: f64,
    /// Products of both sides.
    pub products: f64,
    /// Squares of differences.
    pub squares: f64,
    /// Absolute differences.
    pub absolute: f64,
    /// The largest difference, and the first index where it occurs.
    pub largest: Option<(f64, u64)>,
    /// The largest difference in units of the last place.
    pub ulps: u64,
    /// Whether neither side is the other rounded, for each of two roundings.
    pub unrounded: [bool; 2],
    /// NaNs on each side.
    pub nan: [u64; 2],
    /// Infinities on each side.
    pub infinite: [u64; 2],
    /// Elements that differ where at most one side is finite.
    pub unlike: u64,
    /// The index of the first of them.
    pub first_unlike: Option<u64>,
}

impl Statistics {
    /// Adds the statistics of other elements.
    pub fn plus(&mut self, other: &Self) {
        self.elements += other.elements;
        self.identical += other.identical;
        self.a.plus(&other.a);
        self.b.plus(&other.b);
        self.both += other.both;
        self.squares_a += other.squares_a;
        self.squares_b += other.squares_b;
        self.products += other.products;
        self.squares += other.squares;
        self.absolute += other.absolute;
        if let Some((value, index)) = other.largest {
            self.see_difference(value, index);
        }
        self.ulps = self.ulps.max(other.ulps);
        for side in 0..2 {
            self.unrounded[side] |= other.unrounded[side];
            self.nan[side] += other.nan[side];
            self.infinite[side] += other.infinite[side];
        }
        self.unlike += other.unlike;
        self.first_unlike = match (self.first_unlike, other.first_unlike) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// Keeps the largest difference, and of equal ones the first. Tiles need not come in the order
    /// of the elements.
    pub fn see_difference(&mut self, value: f64, index: u64) {
        let is_worse = |&(old, at): &(f64, u64)| value > old || value == old && index < at;
        if self.largest.as_ref().is_none_or(is_worse) {
            self.largest = Some((value, index));
        }
    }

    /// The cosine of the angle between the sides: 1 where both are zero, 0 where one is.
    pub fn cosine(&self) -> f64 {
        cosine(self.products, self.squares_a, self.squares_b)
    }

    /// The norm of the difference over that of A. Infinite where A is zero and B is not.
    pub fn relative(&self) -> f64 {
        if self.squares == 0.0 { 0.0 } else { self.squares.sqrt() / self.squares_a.sqrt() }
    }

    /// The signal-to-noise ratio in decibels; infinite without noise.
    pub fn snr(&self) -> f64 {
        if self.squares == 0.0 {
            f64::INFINITY
        } else {
            10.0 * (self.squares_a / self.squares).log10()
        }
    }

    /// The mean of the absolute differences.
    #[allow(clippy::cast_precision_loss)] // Counts of elements stay below 2^53.
    pub fn mean_absolute(&self) -> f64 {
        self.absolute / self.both.max(1) as f64
    }

    /// The root of the mean of the squared differences.
    #[allow(clippy::cast_precision_loss)] // Counts of elements stay below 2^53.
    pub fn root_mean_square(&self) -> f64 {
        (self.squares / self.both.max(1) as f64).sqrt()
    }
}

/// The cosine of two vectors, from their dot product and their squares. Clamped: rounding must not
/// give more than 1.
pub fn cosine(products: f64, squares_a: f64, squares_b: f64) -> f64 {
    match (squares_a == 0.0, squares_b == 0.0) {
        (true, true) => 1.0,
        (true, false) | (false, true) => 0.0,
        // The root of a number, squared, may differ from the number.
        _ if squares_a == squares_b => (products / squares_a).clamp(-1.0, 1.0),
        _ => (products / (squares_a.sqrt() * squares_b.sqrt())).clamp(-1.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_norm_of_zero_has_a_cosine_too() {
        assert_eq!(cosine(0.0, 0.0, 0.0), 1.0);
        assert_eq!(cosine(0.0, 0.0, 2.0), 0.0);
        assert_eq!(cosine(-2.0, 2.0, 2.0), -1.0);
        let zero_a = Statistics {
            elements: 1,
            both: 1,
            squares_b: 4.0,
            squares: 4.0,
            ..Statistics::default()
        };
        assert_eq!(zero_a.relative(), f64::INFINITY);
        assert_eq!(zero_a.snr(), f64::NEG_INFINITY);
        let same = Statistics { elements: 1, both: 1, ..Statistics::default() };
        assert_eq!((same.relative(), same.snr(), same.cosine()), (0.0, f64::INFINITY, 1.0));
    }

    #[test]
    fn moments_far_from_zero_keep_their_digits() {
        let mut all = Moments::default();
        for _ in 0..1000 {
            all.plus(&Moments { count: 2, sum: 2e6, squared_deviations: 0.5 });
        }
        assert_eq!(all.deviation(), Some(0.5));
        assert_eq!(all.mean(), Some(1e6));
    }

    #[test]
    fn the_first_of_equal_differences_is_kept() {
        let mut stats = Statistics::default();
        for (value, index) in [(1.0, 9), (1.0, 3), (0.5, 0), (1.0, 5)] {
            stats.see_difference(value, index);
        }
        assert_eq!(stats.largest, Some((1.0, 3)));
    }
}
