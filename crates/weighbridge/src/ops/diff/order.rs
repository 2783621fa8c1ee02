//! Whether two weights that differ hold the same numbers in another order.
//!
//! A converter that permutes rows, or forgets to, leaves mean and deviation unchanged. That is cheap
//! to check and rare by chance; only then are other orders tried.

use super::judge::Status;
use super::tensor::DiffTensor;
use crate::names::{Pair, Rows, View};

/// How much mean and deviation may differ, in units of the deviation.
const NEAR: f64 = 1e-6;

/// From this cosine on, it is the numbers that differ, not their order.
const ALIKE: f64 = 0.99;

/// The message if no order that was tried fits.
pub(super) const SAME_FIGURES: &str =
    "mean and deviation are equal on both sides; the order of the values may differ";

/// The end of the message if the transposed order fits.
pub(super) const TRANSPOSED: &str = "once B is transposed";

/// The end of the message if the order without a permutation of heads fits.
const UNPERMUTED: &str = "once the converter's permutation of heads is undone";

/// Whether the figures of a pair look like those of the same numbers in another order.
pub(super) fn may_be_reordered(tensor: &DiffTensor) -> bool {
    let near = |a: Option<f64>, b: Option<f64>, unit: f64| {
        a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= NEAR * unit)
    };
    let deviation = tensor.std_a.unwrap_or(0.0);
    tensor.status == Status::Changed
        && deviation > 0.0
        && tensor.unlike == Some(0)
        && tensor.cosine.is_some_and(|cosine| cosine < ALIKE)
        && near(tensor.mean_a, tensor.mean_b, deviation)
        && near(tensor.std_a, tensor.std_b, deviation)
}

/// The views of a pair in other orders, each with the end of its message.
pub(super) fn other_orders(pair: &Pair) -> Vec<([View; 2], &'static str)> {
    let mut all = Vec::new();
    let without_heads = |view: &View| match view.rows {
        Rows::Heads { start, .. } => View { rows: Rows::From(start), ..view.clone() },
        Rows::From(_) | Rows::Runs { .. } | Rows::Tiled { .. } => view.clone(),
    };
    let unpermuted = [&pair.view_a, &pair.view_b].map(without_heads);
    if unpermuted[0] != pair.view_a || unpermuted[1] != pair.view_b {
        all.push((unpermuted, UNPERMUTED));
    }
    let is_square = matches!(pair.view_a.shape[..], [a, b] if a == b);
    let whole = (pair.view_b == View::whole(&pair.view_b.shape)).then_some(&pair.view_b);
    if let Some(transposed) = whole.filter(|_| is_square).and_then(View::transpose) {
        all.push(([pair.view_a.clone(), transposed], TRANSPOSED));
    }
    all
}
