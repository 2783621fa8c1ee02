//! The best split where all numbers of a part move in one direction: IQ1_S.

use super::{Found, LEVELS, Part, Split};

/// Magnitudes below this are zeros.
const LEAST: f32 = 1e-12;

impl Part<'_, 32> {
    /// What the part becomes; nothing for zeros.
    pub(in super::super) fn search_whole(&self) -> Option<Found> {
        let most = self.most();
        if most < LEAST {
            return None;
        }
        let order = self.order();
        let (mut x, mut w) = ([0.0; 33], [0.0; 33]);
        for (place, &index) in order.iter().enumerate() {
            let weight = self.weights[usize::from(index)];
            x[place + 1] = x[place] + weight * self.value(index);
            w[place + 1] = w[place] + weight;
        }
        best_split(&x, &w).map(|split| self.settle(&order, split))
    }
}

/// The best split by running sums of weight times number and of weight.
fn best_split(x: &[f32; 33], w: &[f32; 33]) -> Option<Split> {
    let (mut best, mut score) = (None, f32::MIN);
    for low in 0..=32 {
        for middle in low..=32 {
            for (down, [a, b, c]) in [0, u8::MAX].into_iter().zip(LEVELS) {
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
