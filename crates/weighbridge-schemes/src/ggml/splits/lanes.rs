//! Splits, eight at a time.
//!
//! The definition takes one split after the other and keeps each that is better than the last it
//! kept. Here eight are compared with the last at once; if some are better, the first of them is
//! kept, and those after it are compared again.
//!
//! Most of what would be kept on the way is soon replaced. So the best score is first found about,
//! and what is well below it is never kept. That gives the same split: by its definition a score is
//! off by some units in the last place, and the margin is a thousand times as wide. The first split
//! that is clearly above the margin is kept, whatever was kept before, and the best one is such.

use super::{Part, Split};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

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

/// Looks at all splits.
pub(super) trait Judge<I: Isa> {
    /// Looks at eight splits, of which `count` exist, with directions in the order of `downs`.
    fn offer<const WAYS: usize>(
        &mut self,
        isa: I,
        eight: &Eight<I::Vector, WAYS>,
        count: usize,
        downs: [u8; WAYS],
    );
}

/// About the best score, in each lane.
pub(super) struct About<V> {
    /// The square of the sum of weight times number times value.
    square: V,
    /// The sum of weight times number squared.
    qq: V,
}

impl<V: Vector> About<V> {
    #[inline(always)]
    pub(super) fn new<I: Isa<Vector = V>>(isa: I) -> Self {
        Self { square: isa.splat(0.0), qq: isa.splat(1.0) }
    }

    /// What the best score is well above; nothing if sums are too large or too small to say.
    #[inline(always)]
    pub(super) fn margin(&self) -> f32 {
        let (squares, qqs) = (self.square.lanes(), self.qq.lanes());
        let mut best = (0.0, 1.0);
        for (&square, &qq) in squares.iter().zip(&qqs) {
            if square * best.1 > best.0 * qq {
                best = (square, qq);
            }
        }
        let is_sound = (1e-24..1e24).contains(&best.0) && (1e-10..1e10).contains(&best.1);
        if is_sound { best.0 / best.1 * (1.0 - 1e-4) } else { f32::MIN }
    }
}

impl<I: Isa> Judge<I> for About<I::Vector> {
    #[inline(always)]
    fn offer<const WAYS: usize>(
        &mut self,
        isa: I,
        eight: &Eight<I::Vector, WAYS>,
        count: usize,
        _: [u8; WAYS],
    ) {
        const LANE: [f32; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let exists = isa.load(&LANE).less(isa.splat(count.min(LANES) as f32));
        for (&xq, &qq) in eight.xq.iter().zip(&eight.qq) {
            let square = xq * xq;
            let is_better = (self.square * qq).less(square * self.qq);
            let is_better = is_better.and(isa.splat(0.0).less(qq)).and(exists);
            self.square = square.or(self.square, is_better);
            self.qq = qq.or(self.qq, is_better);
        }
    }
}

/// The best split so far.
pub(super) struct Best {
    pub(super) split: Option<Split>,
    score: f32,
}

impl Best {
    /// Nothing so far. What has no better score than `margin` is not kept.
    #[inline(always)]
    pub(super) fn above(margin: f32) -> Self {
        Self { split: None, score: margin }
    }
}

impl<I: Isa> Judge<I> for Best {
    #[inline(always)]
    fn offer<const WAYS: usize>(
        &mut self,
        isa: I,
        eight: &Eight<I::Vector, WAYS>,
        count: usize,
        downs: [u8; WAYS],
    ) {
        let mut left = [u8::MAX >> (LANES - count.min(LANES)); WAYS];
        loop {
            let (mut lane, mut way) = (LANES, 0);
            for (n, &left) in left.iter().enumerate() {
                let (xq, qq) = (eight.xq[n], eight.qq[n]);
                let is_better =
                    isa.splat(0.0).less(qq).and((isa.splat(self.score) * qq).less(xq * xq));
                let first = (is_better.bits() & left).trailing_zeros() as usize;
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
