//! What is added up over two weights, and the figures that follow from it.
//!
//! All sums are of double precision. Those of squares are taken about the mean of the piece they
//! come from, and put together by the rule of Chan, Golub and LeVeque: a weight whose values lie
//! close together far from zero keeps all its digits.

/// Count, sum and squares about the mean, of one side's finite numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    /// Squares of the distances from the mean.
    pub(crate) about_mean: f64,
}

#[allow(clippy::cast_precision_loss)] // Counts of elements stay below 2^53.
impl Moments {
    pub(crate) fn plus(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = other.sum / m - self.sum / n;
        self.about_mean += other.about_mean + apart * apart * (n * m / (n + m));
        self.sum += other.sum;
        self.count += other.count;
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Of the numbers as they are: not an estimate for others like them.
    pub(crate) fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.about_mean / self.count as f64).sqrt())
    }
}

/// Sums over the elements of a pair. Differences count where both sides are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sums {
    pub(crate) elements: u64,
    /// How many are the same to the bit; any two NaNs count as the same.
    pub(crate) identical: u64,
    pub(crate) a: Moments,
    pub(crate) b: Moments,
    /// How many are finite on both sides.
    pub(crate) both: u64,
    pub(crate) squares_a: f64,
    pub(crate) squares_b: f64,
    pub(crate) products: f64,
    /// Squares of differences.
    pub(crate) squares: f64,
    /// Absolute differences.
    pub(crate) absolute: f64,
    /// The largest, and the first place it is at.
    pub(crate) largest: Option<(f64, u64)>,
    pub(crate) ulps: u64,
    /// Whether one side is the other, rounded: by each of the ways that are looked at.
    pub(crate) rounded: [bool; 2],
    pub(crate) nan: [u64; 2],
    pub(crate) infinite: [u64; 2],
    /// Places where at most one side is finite, and the sides are not the same.
    pub(crate) unlike: u64,
    pub(crate) first_unlike: Option<u64>,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            elements: 0,
            identical: 0,
            a: Moments::default(),
            b: Moments::default(),
            both: 0,
            squares_a: 0.0,
            squares_b: 0.0,
            products: 0.0,
            squares: 0.0,
            absolute: 0.0,
            largest: None,
            ulps: 0,
            rounded: [true; 2],
            nan: [0; 2],
            infinite: [0; 2],
            unlike: 0,
            first_unlike: None,
        }
    }
}

impl Sums {
    pub(crate) fn plus(&mut self, other: &Self) {
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
            self.rounded[side] &= other.rounded[side];
            self.nan[side] += other.nan[side];
            self.infinite[side] += other.infinite[side];
        }
        self.unlike += other.unlike;
        self.first_unlike = match (self.first_unlike, other.first_unlike) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    /// Keeps the largest difference; of equal ones the first. Tiles may lie across the rows.
    pub(crate) fn see_difference(&mut self, value: f64, index: u64) {
        let is_worse = |&(old, at): &(f64, u64)| value > old || value == old && index < at;
        if self.largest.as_ref().is_none_or(is_worse) {
            self.largest = Some((value, index));
        }
    }

    /// The cosine of the angle between the sides: 1 where both are zero, 0 where one is.
    pub(crate) fn cosine(&self) -> f64 {
        cosine(self.products, self.squares_a, self.squares_b)
    }

    /// The norm of the difference over that of A. Infinite where A is zero and B is not.
    pub(crate) fn relative(&self) -> f64 {
        match self.squares == 0.0 {
            true => 0.0,
            false => self.squares.sqrt() / self.squares_a.sqrt(),
        }
    }

    /// How far the signal lies above the noise, in decibels; infinite without noise.
    pub(crate) fn snr(&self) -> f64 {
        match self.squares == 0.0 {
            true => f64::INFINITY,
            false => 10.0 * (self.squares_a / self.squares).log10(),
        }
    }

    #[allow(clippy::cast_precision_loss)] // Counts of elements stay below 2^53.
    pub(crate) fn mean_absolute(&self) -> f64 {
        self.absolute / self.both.max(1) as f64
    }

    #[allow(clippy::cast_precision_loss)] // Counts of elements stay below 2^53.
    pub(crate) fn root_mean_square(&self) -> f64 {
        (self.squares / self.both.max(1) as f64).sqrt()
    }
}

/// Of two vectors, by their product and their squares. Rounding must not lead beyond 1.
pub(crate) fn cosine(products: f64, squares_a: f64, squares_b: f64) -> f64 {
    match (squares_a == 0.0, squares_b == 0.0) {
        (true, true) => 1.0,
        (true, false) | (false, true) => 0.0,
        // A root that is squared again need not be what it was.
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
        let zero_a = Sums { elements: 1, both: 1, squares_b: 4.0, squares: 4.0, ..Sums::default() };
        assert_eq!(zero_a.relative(), f64::INFINITY);
        assert_eq!(zero_a.snr(), f64::NEG_INFINITY);
        let same = Sums { elements: 1, both: 1, ..Sums::default() };
        assert_eq!((same.relative(), same.snr(), same.cosine()), (0.0, f64::INFINITY, 1.0));
    }

    #[test]
    fn moments_far_from_zero_keep_their_digits() {
        let mut all = Moments::default();
        for _ in 0..1000 {
            all.plus(&Moments { count: 2, sum: 2e6, about_mean: 0.5 });
        }
        assert_eq!(all.deviation(), Some(0.5));
        assert_eq!(all.mean(), Some(1e6));
    }

    #[test]
    fn the_first_of_equal_differences_is_kept() {
        let mut sums = Sums::default();
        for (value, index) in [(1.0, 9), (1.0, 3), (0.5, 0), (1.0, 5)] {
            sums.see_difference(value, index);
        }
        assert_eq!(sums.largest, Some((1.0, 3)));
    }
}
