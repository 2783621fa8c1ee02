//! Layers that predict further tokens: kept with the model, dropped, or written without it.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::Weight;
use crate::names::{Tensor, Translation};
use crate::ops::Dropped;

/// What becomes of next-token prediction layers on the way to GGUF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NextLayers {
    /// They stay in the file, if llama.cpp reads them.
    #[default]
    Keep,
    /// They are left out.
    Drop,
    /// Nothing but these layers is written, with the embedding, the last norm and the output head, as llama.cpp
    /// reads them from a file of their own.
    Only,
}

/// What a file of these layers has beside them.
const SHARED: [&str; 3] = ["token_embd.weight", "output_norm.weight", "output.weight"];

/// Leaves out tensors, and lists weights that nothing is made of any more.
pub(super) fn select(
    translation: &mut Translation,
    weights: &[Weight],
    asked: NextLayers,
) -> Result<Vec<Dropped>> {
    let layers = next_layers(&translation.tensors);
    let (stays, reason): (fn(bool, &str) -> bool, _) = match asked {
        NextLayers::Keep => return Ok(Vec::new()),
        NextLayers::Drop => (|is_next, _| !is_next, "next-token prediction layer, not wanted"),
        NextLayers::Only if layers.is_empty() => return Err(none_of(translation)),
        NextLayers::Only => {
            (|is_next, name| is_next || SHARED.contains(&name), "not a next-token prediction layer")
        }
    };
    let is_next = |tensor: &Tensor| layer(&tensor.name).is_some_and(|at| layers.contains(&at));
    let (kept, left): (Vec<Tensor>, Vec<Tensor>) =
        translation.tensors.drain(..).partition(|tensor| stays(is_next(tensor), &tensor.name));
    let of = |tensors: &[Tensor]| -> BTreeSet<usize> {
        tensors.iter().flat_map(|tensor| &tensor.pieces).map(|(weight, _)| *weight).collect()
    };
    let (used, unused) = (of(&kept), of(&left));
    translation.tensors = kept;
    let name = |index: usize| weights[index].name().to_owned();
    let dropped = |index: &usize| Dropped { name: name(*index), reason: reason.to_owned() };
    Ok(unused.difference(&used).map(dropped).collect())
}

fn layer(name: &str) -> Option<u64> {
    name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
}

/// The layers that predict further tokens.
fn next_layers(tensors: &[Tensor]) -> BTreeSet<u64> {
    let names = tensors.iter().map(|tensor| tensor.name.as_str());
    names.filter(|name| name.contains(".nextn.")).filter_map(layer).collect()
}

fn none_of(translation: &Translation) -> Error {
    let left_out = translation.left_out.iter().find(|(_, why)| why.contains("prediction layer"));
    let message = match left_out {
        Some(_) => "llama.cpp does not read the next-token prediction layers of this family",
        None => "the model has no next-token prediction layers",
    };
    Error::unsupported(message)
}
