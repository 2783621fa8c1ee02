//! What RWKV's models have in common: vectors in other shapes, and entries.

use super::keys::Get::Made;
use super::keys::KeyRow;
use super::keys::Type::Count;
use super::rows::How::Heads;
use super::rows::{Laid, Place, Row};
use super::rules::{Rule, SILU, free};
use crate::families::settings::Settings;
use crate::view::{Matrix, Rows, View};

/// Texts may be as long as users want; this is what files say.
pub(crate) const UNLIMITED: KeyRow = ("context_length", Count, Made(|_| Some(1_048_576.into())));
/// Required by llama.cpp's loader, and unused.
pub(crate) const NO_HEADS: KeyRow = ("attention.head_count", Count, Made(|_| Some(0.into())));

/// Why values of the first layer are left out.
pub(crate) const UNUSED_VALUES: &str =
    "not used: the first layer makes the values that the others are mixed with";

/// Keys of Qwen's attention that RWKV layers ignore: positions, windows, groups of heads.
pub(crate) const WITHOUT_POSITIONS: &[Rule] = &[
    SILU,
    free(&[
        "attention_bias",
        "attention_output_bias",
        "max_window_layers",
        "num_key_value_heads",
        "num_attention_heads",
        "rope_theta",
        "sliding_window",
        "use_sliding_window",
        "rope_scaling*",
    ]),
];

/// The vectors that tokens are blended with those before them by, in one tensor.
pub(crate) const FUSED: &[&str] = &["blk.#.time_mix_lerp_fused"];

/// What GGUF stacks.
pub(crate) const GGUF_STACKS: &[Row] = &[
    ("blk.#.time_mix_lerp_fused", FUSED, Heads),
    ("blk.#.time_mix_w2", &["blk.#.time_mix_w2"], Heads),
];

/// One of these vectors.
pub(crate) fn blend<const AT: u64>(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let view = View::whole(&[1, 1, length(shape)?]);
    Some(vec![Laid { tensor: 0, place: Place::Stacked(AT), view, words: String::new() }])
}

/// How long a vector is, whatever stands before in its shape.
fn length(shape: &[u64]) -> Option<u64> {
    let (last, outer) = shape.split_last()?;
    outer.iter().all(|side| *side == 1).then_some(*last)
}

/// A vector without the dimensions before.
pub(crate) fn squeezed(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(Laid::whole(View::whole(&[length(shape)?]), ""))
}

/// The vectors of all heads as one.
pub(crate) fn flat(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let all = shape.iter().try_fold(1u64, |all, side| all.checked_mul(*side))?;
    Some(Laid::whole(View::whole(&[all]), ""))
}

/// The matrices of a stack, each transposed.
pub(crate) fn each_transposed(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    in_order(shape, None)
}

/// The same in another order.
pub(crate) fn in_order(shape: &[u64], order: Option<&[u64]>) -> Option<Vec<Laid>> {
    let &[count, rows, columns] = shape else { return None };
    let fits = order.is_none_or(|order| order.len() as u64 == count);
    let laid = |number: u64| {
        let from = order
            .map_or(Some(number), |order| order.get(usize::try_from(number).ok()?).copied())?;
        let matrix = Matrix { first: from.checked_mul(rows)?, columns };
        let view = View::across(matrix, [columns, rows], Rows::From(0));
        let words = format!("{from} of {count}, transpose");
        Some(Laid { tensor: 0, place: Place::Stacked(number), view, words })
    };
    (fits && count <= MOST).then(|| (0..count).map(laid).collect())?
}

/// More than any model stacks.
const MOST: u64 = 64;

/// All of it in two tensors: the first layer has what the others have, too, and does not use it.
pub(crate) fn twice(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    both(&View::whole(shape))
}

pub(crate) fn squeezed_twice(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    both(&View::whole(&[length(shape)?]))
}

pub(crate) fn transposed_twice(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    both(&View::whole(shape).transpose()?)
}

#[allow(clippy::unnecessary_wraps)] // Layouts may be none.
fn both(view: &View) -> Option<Vec<Laid>> {
    let laid = |tensor: usize| Laid {
        tensor,
        place: Place::Whole,
        view: view.clone(),
        words: String::new(),
    };
    Some(vec![laid(0), laid(1)])
}
