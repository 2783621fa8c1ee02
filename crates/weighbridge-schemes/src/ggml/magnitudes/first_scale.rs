//! The scale that IQ2_XXS starts from: magnitudes as whole numbers up to 4, with the least
//! weighted error.
//!
//! One magnitude of eight may be negative, since the number of signs is even. ggml keeps whole
//! numbers in bytes, so -1 becomes 255 where one is read back.

use super::super::rounding::nearest;

/// The largest whole number.
const TOP: i32 = 4;

/// The scale for numbers of which `most`, the largest, is above 0.
pub(super) fn first_scale<const N: usize>(
    numbers: &[f32; N],
    weights: &[f32; N],
    most: f32,
) -> f32 {
    let inverse = best_inverse(numbers, weights, most);
    let mut fit = Fit { xq: 0.0, qq: 0.0, bytes: [0; N] };
    for index in 0..N {
        let (x, w) = (numbers[index], weights[index]);
        let whole = nearest(inverse * x).min(TOP);
        fit.bytes[index] = whole.to_le_bytes()[0];
        fit.xq += w * x * whole as f32;
        fit.qq += w * whole as f32 * whole as f32;
    }
    for _ in 0..5 {
        if !fit.sweep(numbers, weights) {
            break;
        }
    }
    if fit.qq > 0.0 { fit.xq / fit.qq } else { 0.0 }
}

/// Of nine near the plain one, the factor that gives whole numbers of the least error.
fn best_inverse<const N: usize>(numbers: &[f32; N], weights: &[f32; N], most: f32) -> f32 {
    let error = |inverse: f32, whole: &dyn Fn(f32) -> f32| {
        let scale = 1.0 / inverse;
        numbers.iter().zip(weights).fold(0.0, |sum, (&x, &w)| {
            let away = x - scale * whole(inverse * x);
            sum + w * away * away
        })
    };
    let mut best = TOP as f32 / most;
    let mut least = error(best, &|x| f32::from(nearest(x).to_le_bytes()[0]));
    for step in (-4..=4).filter(|&step| step != 0) {
        let inverse = (0.1 * step as f32 + TOP as f32) / most;
        let error = error(inverse, &|x| nearest(x).min(TOP) as f32);
        if error < least {
            (least, best) = (error, inverse);
        }
    }
    best
}

/// Whole numbers with the sums that give their scale.
struct Fit<const N: usize> {
    /// Of weight times number times whole number.
    xq: f32,
    /// Of weight times whole number squared.
    qq: f32,
    bytes: [u8; N],
}

impl<const N: usize> Fit<N> {
    /// Changes each whole number if that is better; says whether any was.
    fn sweep(&mut self, numbers: &[f32; N], weights: &[f32; N]) -> bool {
        let mut is_changed = false;
        for index in 0..N {
            let (x, w, old) = (numbers[index], weights[index], f32::from(self.bytes[index]));
            let mut xq = self.xq - w * x * old;
            let mut qq = self.qq - w * old * old;
            if !(xq > 0.0 && qq > 0.0) {
                continue;
            }
            let whole = nearest(x * qq / xq).min(TOP);
            if whole == i32::from(self.bytes[index]) {
                continue;
            }
            xq += w * x * whole as f32;
            qq += w * whole as f32 * whole as f32;
            if xq * xq * self.qq > self.xq * self.xq * qq {
                (self.xq, self.qq) = (xq, qq);
                self.bytes[index] = whole.to_le_bytes()[0];
                is_changed = true;
            }
        }
        is_changed
    }
}
