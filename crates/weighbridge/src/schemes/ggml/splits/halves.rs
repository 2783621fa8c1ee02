//! The best split where the two halves of a part move in directions of their own: IQ1_M.

use super::{Found, LEVELS, Part, Split};

/// Magnitudes below this are zeros.
const LEAST: f32 = 1e-7;

/// Running sums over the sorted numbers, for each half those that belong to it.
type Running = [[f32; 17]; 2];

impl Part<'_, 16> {
    /// What the part becomes; nothing for zeros.
    pub(in super::super) fn search_halves(&self) -> Option<Found> {
        let most = self.most();
        if most < LEAST {
            return None;
        }
        let order = self.order();
        let (mut x, mut w) = ([[0.0; 17]; 2], [[0.0; 17]; 2]);
        for (place, &index) in order.iter().enumerate() {
            let (weight, half) = (self.weights[usize::from(index)], usize::from(index / 8));
            for sums in [&mut x, &mut w] {
                sums[1 - half][place + 1] = sums[1 - half][place];
            }
            x[half][place + 1] = x[half][place] + weight * self.value(index);
            w[half][place + 1] = w[half][place] + weight;
        }
        best_split(&x, &w).map(|split| self.settle(&order, split))
    }

    /// Adds the fit of points with a small scale to sums over the block.
    pub(in super::super) fn fit_found(&self, found: &Found, small: u8, sums: &mut (f32, f32)) {
        let codes = found.points.map(super::code_of);
        *sums = self.fit(&codes, found.down, f32::from(2 * small + 1), *sums);
    }
}

/// The best split by running sums of weight times number and of weight.
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
            // Bit 0: the first half is moved down.
            for down in [0u8, 2, 1, 3] {
                let (first, second) =
                    (sums[usize::from(down & 1)][0], sums[usize::from(down >> 1)][1]);
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
