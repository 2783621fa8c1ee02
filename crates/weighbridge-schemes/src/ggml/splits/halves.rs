//! The best split where the two halves of a part move in directions of their own: IQ1_M.

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
const LEAST: f32 = 1e-7;

/// What is moved, in the order in which directions are tried. Bit 0: the first half.
const DOWNS: [u8; 4] = [0, 2, 1, 3];

/// Running sums over the sorted numbers, for each half those that belong to it; those after the
/// last are not used.
type Running = [[f32; 24]; 2];

impl Part<'_, 16> {
    /// What the part becomes; nothing for zeros.
    #[cfg(test)]
    pub(in super::super) fn search_halves(&self) -> Option<Found> {
        if self.most() < LEAST {
            return None;
        }
        let order = self.order();
        let (x, w) = self.running_halves(&order);
        best_split(&x, &w).map(|split| self.settle(&order, split, Plain))
    }

    /// The form for one instruction set.
    #[inline(always)]
    pub(in super::super) fn search_halves_in_lanes<I: Isa>(&self, isa: I) -> Option<Found> {
        if self.most() < LEAST {
            return None;
        }
        let order = self.order_in_lanes(isa);
        let (x, w) = self.running_halves(&order);
        let mut about = About::new(isa);
        judge_splits(isa, &x, &w, &mut about);
        let mut best = Best::above(about.margin());
        judge_splits(isa, &x, &w, &mut best);
        let split = best.split?;
        Some(self.settle(&order, split, InLanes(isa)))
    }

    /// Running sums of weight times number and of weight.
    #[inline(always)]
    fn running_halves(&self, order: &[u8; 16]) -> (Running, Running) {
        let (mut x, mut w) = ([[0.0; 24]; 2], [[0.0; 24]; 2]);
        for (place, &index) in order.iter().enumerate() {
            let (weight, half) = (self.weights[usize::from(index)], usize::from(index / 8) & 1);
            for sums in [&mut x, &mut w] {
                sums[1 - half][place + 1] = sums[1 - half][place];
            }
            x[half][place + 1] = x[half][place] + weight * self.value(index);
            w[half][place + 1] = w[half][place] + weight;
        }
        (x, w)
    }

    /// Adds the fit of points with a small scale to sums over the block.
    #[inline(always)]
    pub(in super::super) fn fit_found(&self, found: &Found, small: u8, sums: &mut (f32, f32)) {
        *sums = self.fit(&found.codes, found.down, f32::from(2 * small + 1), *sums);
    }
}

/// The best split by running sums: the definition.
#[cfg(test)]
fn best_split(x: &Running, w: &Running) -> Option<Split> {
    let (mut best, mut score) = (None, f32::MIN);
    for low in 0..=16 {
        for middle in low..=16 {
            // Of each direction, the sums of both halves.
            let sums = LEVELS.map(|[a, b, c]| {
                let (first, second) = (a * a - b * b, b * b - c * c);
                [0, 1].map(|half| {
                    let (x, w) = (&x[half], &w[half]);
                    let xq = x[16] * c - (x[low] + x[middle]);
                    (xq, w[16] * c * c + w[low] * first + w[middle] * second)
                })
            });
            for down in DOWNS {
                let (first, second) = directions(down);
                let (first, second) = (sums[first][0], sums[second][1]);
                let (xq, qq) = (first.0 + second.0, first.1 + second.1);
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

/// The directions of both halves.
#[inline(always)]
fn directions(down: u8) -> (usize, usize) {
    (usize::from(down & 1), usize::from(down >> 1 & 1))
}

/// Shows all splits to a judge, in the order of the definition, eight at a time.
#[inline(always)]
fn judge_splits<I: Isa>(isa: I, x: &Running, w: &Running, judge: &mut impl Judge<I>) {
    let zero = isa.splat(0.0);
    for low in 0..=16 {
        for middle in (low..=16).step_by(LANES) {
            // For each direction and each half.
            let (mut xq, mut qq) = ([[zero; 2]; 2], [[zero; 2]; 2]);
            for half in 0..2 {
                let (x, w) = (&x[half], &w[half]);
                let x_both = isa.splat(x[low]) + eight_from(isa, x, middle);
                let w_middle = eight_from(isa, w, middle);
                for (way, [a, b, c]) in LEVELS.into_iter().enumerate() {
                    let (first, second) = (a * a - b * b, b * b - c * c);
                    xq[way][half] = isa.splat(x[16] * c) - x_both;
                    let known = isa.splat(w[16] * c * c + w[low] * first);
                    qq[way][half] = known + w_middle * isa.splat(second);
                }
            }
            let mut eight = Eight { low, middle, xq: [zero; 4], qq: [zero; 4] };
            for (way, down) in DOWNS.into_iter().enumerate() {
                let (first, second) = directions(down);
                eight.xq[way] = xq[first][0] + xq[second][1];
                eight.qq[way] = qq[first][0] + qq[second][1];
            }
            judge.offer(isa, &eight, 17 - middle, DOWNS);
        }
    }
}

/// Eight sums.
#[inline(always)]
fn eight_from<I: Isa>(isa: I, sums: &[f32; 24], from: usize) -> I::Vector {
    let mut eight = [0.0; LANES];
    eight.copy_from_slice(&sums[from..from + LANES]);
    isa.load(&eight)
}
