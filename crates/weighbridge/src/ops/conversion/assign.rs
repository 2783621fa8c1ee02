//! What is written of each weight of a model: its numbers in a type, what an encoder gives, its codes.

use super::Task;
use super::move_codes::{self, Moved};
use super::quantize::{Quantizing, block_of};
use super::quantize_options::Goal;
use super::translate::Translated;
use super::values::Values;
use crate::catalog::Value;
use crate::config;
use crate::error::Result;
use crate::model::{Model, Select, Weight};
use crate::pipeline::{Assigned, Origin, Types, check_cost, stored};
use crate::schemes::{Additions, Chosen, TensorId, TypeAssignment};
use crate::warning::Warning;

/// What is written of a model.
#[derive(Default)]
pub(super) struct Assignment {
    /// What is written of each weight, or of each stored tensor, in the order of the output.
    pub(super) tensors: Vec<(Origin, Assigned)>,
    /// Entries of the metadata that come last.
    pub(super) metadata: Vec<(String, Value)>,
    /// What a repository needs beside its weights.
    pub(super) additions: Additions,
    /// What users should know.
    pub(super) notes: Vec<String>,
    /// What loaders of the output do wrong.
    pub(super) warnings: Vec<Warning>,
}

/// Assigns what is written to every selected weight. A quantizer chooses for an aim.
pub(super) fn assign(
    translated: &Translated,
    quantizing: Option<(&Quantizing<'_>, Option<Goal>)>,
    task: &Task<'_>,
    select: &Select,
) -> Result<Assignment> {
    let (model, values) = (&translated.model, task.values);
    check_cost(model, matches!(values, Values::AsStored))?;
    let types = Types {
        of: values.dtype(),
        only_decoded: values.is_dequantized(),
        cast: &|name| translated.types.get(name).copied().or_else(|| values.cast(name)),
        model: config::model_dtype(model.configs()).filter(|_| values.is_dequantized()),
    };
    let is_wanted = |weight: &Weight| select.wants(weight.name());
    if let Some((quantizing, aim)) = quantizing {
        let chosen = quantizing.choose(aim)?;
        let weights = quantizing.weights.iter().cloned();
        return Ok(by_quantizer(translated, weights, chosen, types, is_wanted));
    }
    let wanted = model.weights().filter(is_wanted);
    Ok(match values {
        Values::AsStored => stored_tensors(model, select),
        Values::Layout { scheme, layout } => {
            let mut moved = move_codes::moved(model, scheme, *layout, task.options)?;
            let tensors = wanted.map(|weight| match moved.packed.remove(weight.name()) {
                Some(packed) => (Origin::Weight(weight), Assigned::Rearranged(packed)),
                None => by_type(translated, weight, types),
            });
            let tensors = tensors.collect();
            let Moved { additions, notes, warnings, .. } = moved;
            Assignment { tensors, additions, notes, warnings, ..Assignment::default() }
        }
        _ => {
            let tensors = wanted.map(|weight| by_type(translated, weight, types)).collect();
            let notes = translated.note_on_codes.iter().cloned().collect();
            Assignment { tensors, notes, ..Assignment::default() }
        }
    })
}

/// A weight in its type, or its codes where they are moved.
fn by_type(translated: &Translated, weight: Weight, types: Types<'_>) -> (Origin, Assigned) {
    let assigned = match translated.repacked.get(weight.name()) {
        Some(packed) => Assigned::Rearranged(packed.clone()),
        None => Assigned::Numbers(types.of(&weight)),
    };
    (Origin::Weight(weight), assigned)
}

fn stored_tensors(model: &Model, select: &Select) -> Assignment {
    let is_wanted = |id: &TensorId| select.wants(&model.stored(*id).1.name);
    let origins = stored(model).filter(is_wanted).map(|id| Origin::Stored(model.clone(), id));
    let tensors = origins.map(|origin| (origin, Assigned::AsStored)).collect();
    Assignment { tensors, ..Assignment::default() }
}

/// What a quantizer chose for weights.
fn by_quantizer(
    translated: &Translated,
    weights: impl Iterator<Item = Weight>,
    chosen: Chosen,
    types: Types<'_>,
    is_wanted: impl Fn(&Weight) -> bool,
) -> Assignment {
    let Chosen { fates, order, metadata, additions, notes, warnings } = chosen;
    let assigned = weights.zip(fates).map(|(weight, fate)| match fate {
        TypeAssignment::Encode(encoder) => (Origin::Weight(weight), Assigned::Encoded(encoder)),
        TypeAssignment::Cast(dtype) => {
            by_type(translated, weight, Types { cast: &|_| Some(dtype), ..types })
        }
        TypeAssignment::Keep if !translated.is_translated && block_of(&weight).is_some() => {
            (Origin::Weight(weight), Assigned::AsStored)
        }
        TypeAssignment::Keep => by_type(translated, weight, types),
    });
    let mut ranked: Vec<(usize, (Origin, Assigned))> = assigned.enumerate().collect();
    if let Some(order) = order {
        for (rank, at) in order.into_iter().enumerate() {
            ranked[at].0 = rank;
        }
        ranked.sort_by_key(|(rank, _)| *rank);
    }
    let is_wanted = |origin: &Origin| matches!(origin, Origin::Weight(of) if is_wanted(of));
    let tensors = ranked.into_iter().map(|(_, tensor)| tensor).filter(|(of, _)| is_wanted(of));
    Assignment { tensors: tensors.collect(), metadata, additions, notes, warnings }
}
