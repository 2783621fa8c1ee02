//! The best split where all numbers of a part move in one direction: IQ1_S.

use super::super::grids::picking::InLanes;
#[cfg(test)]
use super::super::grids::picking::Plain;
#[cfg(test)]
use super::Split;
use super::lanes::{About, Best, Eight, Judge};
use super::{Found, LEVELS, Part};
use crate::simd::Isa;
use crate::simd::vector::LANES;

/// Magnitudes below this are zeros.
const LEAST: f32 = 1e-12;

/// What is moved, in the order in which directions are tried.
const DOWNS: [u8; 2] = [0, u8::MAX];

/// Running sums; those after the last are not used.
type Running = [f32; 40];

impl Part<'_, 32> {
    /// What the part becomes; nothing for zeros.
    #[cfg(test)]
    pub(in super::super) fn search_whole(&self) -> Option<Found> {
        if self.most() < LEAST {
            return None;
        }
        let order = self.order();
        let (x, w) = self.running(&order);
        best_split(&x, &w).map(|split| self.settle(&order, split, Plain))
    }

    /// The form for one instruction set.
    #[inline(always)]
    pub(in super::super) fn search_whole_in_lanes<I: Isa>(&self, isa: I) -> Option<Found> {
        if self.most() < LEAST {
            return None;
        }
        let order = self.order_in_lanes(isa);
        let (x, w) = self.running(&order);
        let mut about = About::new(isa);
        judge_splits(isa, &x, &w, &mut about);
        let mut best = Best::above(about.margin());
        judge_splits(isa, &x, &w, &mut best);
        let split = best.split?;
        Some(self.settle(&order, split, InLanes(isa)))
    }

    /// Running sums of weight times number and of weight.
    #[inline(always)]
    fn running(&self, order: &[u8; 32]) -> (Running, Running) {
        let (mut x, mut w) = ([0.0; 40], [0.0; 40]);
        for (place, &index) in order.iter().enumerate() {
            let weight = self.weights[usize::from(index)];
            x[place + 1] = x[place] + weight * self.value(index);
            w[place + 1] = w[place] + weight;
        }
        (x, w)
    }
}

/// The best split by running sums: the definition.
#[cfg(test)]
fn best_split(x: &Running, w: &Running) -> Option<Split> {
    let (mut best, mut score) = (None, f32::MIN);
    for low in 0..=32 {
        for middle in low..=32 {
            for (down, [a, b, c]) in DOWNS.into_iter().zip(LEVELS) {
                let xq = (x[low] - x[0]) * a + (x[middle] - x[low]) * b + (x[32] - x[middle]) * c;
                let qq = (w[low] - w[0]) * a * a
                    + (w[middle] - w[low]) * b * b
                    + (w[32] - w[middle]) * c * c;
                if qq > 0.0 && xq * xq > score * qq {
                    let scale = xq / qq;
                    score = scale * xq;
                    best = Some(Split { low, middle, scale, down });
                }
            }
        }
    }
    best
}

/// Shows all splits to a judge, in the order of the definition, eight at a time.
#[inline(always)]
fn judge_splits<I: Isa>(isa: I, x: &Running, w: &Running, judge: &mut impl Judge<I>) {
    for low in 0..=32 {
        for middle in (low..=32).step_by(LANES) {
            let (xs, ws) = (eight_from(isa, x, middle), eight_from(isa, w, middle));
            let (x_low, w_low) = (isa.splat(x[low]), isa.splat(w[low]));
            let (x_all, w_all) = (isa.splat(x[32]), isa.splat(w[32]));
            let mut eight = Eight { low, middle, xq: [xs; 2], qq: [ws; 2] };
            for (way, [a, b, c]) in LEVELS.into_iter().enumerate() {
                let first = (isa.splat((x[low] - x[0]) * a), isa.splat((w[low] - w[0]) * a * a));
                let (b, c) = (isa.splat(b), isa.splat(c));
                eight.xq[way] = first.0 + (xs - x_low) * b + (x_all - xs) * c;
                eight.qq[way] = first.1 + (ws - w_low) * b * b + (w_all - ws) * c * c;
            }
            judge.offer(isa, &eight, 33 - middle, DOWNS);
        }
    }
}

/// Eight sums.
#[inline(always)]
fn eight_from<I: Isa>(isa: I, sums: &Running, from: usize) -> I::Vector {
    let mut eight = [0.0; LANES];
    eight.copy_from_slice(&sums[from..from + LANES]);
    isa.load(&eight)
}
