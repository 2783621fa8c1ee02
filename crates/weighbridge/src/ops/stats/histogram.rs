//! A histogram with fixed bins, from which quantiles are read.
//!
//! A bin is the numbers that share their sign, their exponent and the first four bits behind it, so
//! its width is a sixteenth of its lower end. The middle of a bin is within 1/32 of every number in
//! it, whatever the numbers are, and counting needs no look at them beforehand.

/// Bits of an f32 that do not choose the bin.
const LOWER: u32 = 19;
/// How many bins there are.
pub(super) const BINS: usize = 1 << (32 - LOWER);

/// Bins of numbers of one sign that are finite; those behind are of infinities and NaN.
const FINITE: usize = (f32::INFINITY.to_bits() >> LOWER) as usize;

/// How far a quantile may be from the right one, as a share of itself.
pub(super) const ERROR: f64 = 1.0 / 32.0;

/// The bin of a number.
#[inline(always)]
pub(super) fn bin_of(number: f32) -> usize {
    (number.to_bits() >> LOWER) as usize
}

/// The bin of a number that an f32 may have no room for.
#[allow(clippy::cast_possible_truncation)] // Rounding is the point.
pub(super) fn bin_of_wide(number: f64) -> usize {
    bin_of((number as f32).clamp(f32::MIN, f32::MAX))
}

/// How many numbers are in each bin.
#[derive(Clone, Debug)]
pub(super) struct Histogram(Vec<u64>);

impl Default for Histogram {
    fn default() -> Self {
        Self(vec![0; BINS])
    }
}

impl Histogram {
    /// Counts a number.
    pub(super) fn count(&mut self, number: f64) {
        self.0[bin_of_wide(number)] += 1;
    }

    /// Adds counts of the bins.
    pub(super) fn add(&mut self, [a, b, c, d]: &[[u32; BINS]; 4]) {
        let counts = a.iter().zip(b).zip(c.iter().zip(d));
        for (all, ((a, b), (c, d))) in self.0.iter_mut().zip(counts) {
            *all += u64::from(*a) + u64::from(*b) + u64::from(*c) + u64::from(*d);
        }
    }

    /// Adds the counts of another.
    pub(super) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, count)| *all += count);
    }

    /// Forgets all counts.
    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The bins of finite numbers that are not empty, from the lowest numbers to the highest: both ends of each, and
    /// how many numbers it has.
    fn bins(&self) -> impl DoubleEndedIterator<Item = ([f64; 2], u64)> {
        let end = |bin: usize| {
            let bits = u32::try_from(bin << LOWER).unwrap_or(u32::MAX);
            let end = f32::from_bits(bits);
            f64::from(if end.is_finite() { end } else { f32::MAX.copysign(end) })
        };
        let half = BINS / 2;
        let negative =
            (half..half + FINITE).rev().map(move |bin| ([-end(bin + 1 - half), end(bin)], bin));
        let positive = (0..FINITE).map(move |bin| ([end(bin), end(bin + 1)], bin));
        let all = negative.chain(positive).map(|(ends, bin)| (ends, self.0[bin]));
        all.filter(|(_, count)| *count > 0)
    }

    /// How many finite numbers there are.
    pub(super) fn total(&self) -> u64 {
        self.bins().map(|(_, count)| count).sum()
    }

    /// The number below which a share of all numbers lies, give or take [`ERROR`].
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((self.total() as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let mut bins = self.bins();
        let bin = bins.find(|(_, count)| {
            below += count;
            below >= rank
        });
        bin.map(|([low, high], _)| match low <= 0.0 && high >= 0.0 {
            // The bins next to zero hold zero itself, and nothing that is not as good as zero.
            true => 0.0,
            false => f64::midpoint(low, high),
        })
    }

    /// How many numbers are surely beyond either bound: those of bins that lie beyond it as a whole.
    pub(super) fn beyond(&self, low: f64, high: f64) -> u64 {
        let is_beyond = |[from, to]: [f64; 2]| to < low || from > high;
        self.bins().filter(|(ends, _)| is_beyond(*ends)).map(|(_, count)| count).sum()
    }

    /// The share of the numbers in each of `count` even stretches from `low` to `high`, as if those of
    /// a bin were spread over it evenly.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn shares(&self, low: f64, high: f64, count: usize) -> Vec<f64> {
        let (mut shares, width) = (vec![0.0; count], (high - low) / count as f64);
        let total = self.total().max(1) as f64;
        let place = |x: f64| ((x - low) / width).clamp(0.0, count as f64);
        for ([from, to], numbers) in self.bins() {
            let share = numbers as f64 / total;
            let (from, to) = (place(from.max(low)), place(to.min(high)));
            let (first, last) = (from as usize, to as usize);
            if to - from <= 0.0 {
                shares[first.min(count - 1)] += share;
                continue;
            }
            for (at, bar) in (first..).zip(&mut shares[first.min(count - 1)..=last.min(count - 1)])
            {
                let (start, end) = (from.max(at as f64), to.min(at as f64 + 1.0));
                *bar += share * (end - start).max(0.0) / (to - from);
            }
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_the_stated_error() {
        let mut state = 1u64;
        let mut numbers: Vec<f64> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let part = f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1u32 << 31);
                (part - 0.4).powi(5) * 1e3
            })
            .collect();
        let mut histogram = Histogram::default();
        numbers.iter().for_each(|&x| histogram.count(x));
        numbers.sort_by(f64::total_cmp);
        for (share, index) in [(0.01, 199), (0.05, 999), (0.25, 4999), (0.5, 9999), (0.99, 19_799)]
        {
            let (found, wanted) = (histogram.quantile(share).unwrap(), numbers[index]);
            assert!((found - wanted).abs() <= wanted.abs() * ERROR * 1.001, "{found} {wanted}");
        }
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn zero_is_zero_and_bars_add_up() {
        let mut histogram = Histogram::default();
        [0.0, -0.0, 0.0, 1.0, -1e300, 1e300].into_iter().for_each(|x| histogram.count(x));
        assert_eq!(histogram.quantile(0.5), Some(0.0));
        assert_eq!(histogram.beyond(-2.0, 2.0), 2);
        let bars = histogram.shares(-1.0, 1.0, 5);
        assert!((bars.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{bars:?}");
        assert!(bars[2] >= 0.49, "{bars:?}");
    }
}
