//! Splits, eight at a time.
//!
//! The definition takes one split after the other and keeps each that is better than the last it
//! kept. Here eight are compared with the last at once; if some are better, the first of them is
//! kept, and those after it are compared again.

use super::{Part, Split};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// The best split so far.
pub(super) struct Best {
    pub(super) split: Option<Split>,
    score: f32,
}

/// Eight splits: all have the same number of -1, and one more of -1 or 0 than the one before.
pub(super) struct Eight<V, const WAYS: usize> {
    pub(super) low: usize,
    /// `middle` of the first.
    pub(super) middle: usize,
    /// For each choice of directions, the sums of weight times number times value.
    pub(super) xq: [V; WAYS],
    /// And those of weight times number squared.
    pub(super) qq: [V; WAYS],
}

impl Best {
    pub(super) fn new() -> Self {
        Self { split: None, score: f32::MIN }
    }

    /// Keeps the best of eight splits, of which `count` exist, with directions in the order of
    /// `downs`.
    #[inline(always)]
    pub(super) fn offer<I: Isa, const WAYS: usize>(
        &mut self,
        isa: I,
        eight: &Eight<I::Vector, WAYS>,
        count: usize,
        downs: [u8; WAYS],
    ) {
        let mut left = [u8::MAX >> (LANES - count.min(LANES)); WAYS];
        loop {
            let (mut lane, mut way) = (LANES, 0);
            for n in 0..WAYS {
                let (xq, qq) = (eight.xq[n], eight.qq[n]);
                let is_better =
                    isa.splat(0.0).less(qq).and((isa.splat(self.score) * qq).less(xq * xq));
                let first = (is_better.bits() & left[n]).trailing_zeros() as usize;
                if first < lane {
                    (lane, way) = (first, n);
                }
            }
            if lane >= LANES {
                return;
            }
            let (xq, qq) = (eight.xq[way].lanes()[lane], eight.qq[way].lanes()[lane]);
            let scale = xq / qq;
            self.score = scale * xq;
            let (low, middle) = (eight.low, eight.middle + lane);
            self.split = Some(Split { low, middle, scale, down: downs[way] });
            for (n, left) in left.iter_mut().enumerate() {
                // Of the same split, the later directions are still to come.
                let done = if n > way { lane } else { lane + 1 };
                *left &= u8::try_from(0xff_u32 << done & 0xff).unwrap_or_default();
            }
        }
    }
}

impl<const N: usize> Part<'_, N> {
    /// The indices of the numbers, sorted; equal ones in their order.
    #[inline(always)]
    pub(super) fn order_in_lanes<I: Isa>(&self, isa: I) -> [u8; N] {
        if self.values.iter().any(|value| value.is_nan()) {
            return self.order();
        }
        let mut order = [0; N];
        for (index, &value) in self.values.iter().enumerate() {
            // How many come before it: what is less, and what is equal and stands before it.
            let value = isa.splat(value);
            let mut before = 0;
            for (eight, others) in self.values.as_chunks::<LANES>().0.iter().enumerate() {
                let others = isa.load(others);
                let (less, equal) = (others.less(value).bits(), others.equals(value).bits());
                let earlier = match index.saturating_sub(eight * LANES) {
                    count @ 0..LANES => (1 << count) - 1,
                    _ => u8::MAX,
                };
                before += (less | equal & earlier).count_ones();
            }
            order[before as usize] = index.to_le_bytes()[0];
        }
        order
    }
}
