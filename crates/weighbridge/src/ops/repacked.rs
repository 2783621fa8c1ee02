//! Weights that go into another model as they are stored: their codes and scales are moved into the
//! blocks of another scheme, and nothing is lost.
//!
//! llama.cpp's converter writes such tensors before all others, each with the factors beside it
//! (`x.scale`, and for activations `x.input_scale`), unless they are one.

use std::collections::HashMap;

use crate::containers::writing::{Planned, Writer};
use crate::dtype::StoredType;
use crate::error::Result;
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names;
use crate::schemes::{CodeKind, Packer, SCHEMES};

/// What repacks a tensor, by its name.
pub(super) type Packers = HashMap<String, &'static dyn Packer>;

/// Finds the tensors that a format can hold without decoding them, puts them first, and adds the
/// factors beside them.
pub(super) fn repacked(
    model: &Model,
    derived: &mut Vec<Derived>,
    writer: &dyn Writer,
) -> Result<Packers> {
    let mut packers = Packers::new();
    let is_stored = |tensor: &Derived| match &tensor.from {
        MadeOf::Weights(pieces) | MadeOf::InTurn(pieces, _) => {
            pieces.iter().any(|(weight, _)| !weight.is_plain())
        }
        MadeOf::Numbers(_) => false,
    };
    if !derived.iter().any(is_stored) {
        return Ok(packers);
    }
    let drafted = model.derived(derived.clone())?;
    let mut inputs = Inputs { model, found: HashMap::new() };
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (tensor, weight) in derived.drain(..).zip(drafted.weights()) {
        let found = weight.code_kind().and_then(|kind| fitting(kind, &tensor, writer));
        let MadeOf::Weights(pieces) = &tensor.from else {
            rest.push(tensor);
            continue;
        };
        let weights = distinct(pieces.iter().map(|(weight, _)| weight));
        let (Some(packer), Some(own)) = (found, factors(&weights, Weight::factors_of_codes)?)
        else {
            rest.push(tensor);
            continue;
        };
        let activations = factors(&weights, |weight| inputs.of(weight))?.unwrap_or_default();
        packers.insert(tensor.name.clone(), packer);
        let module = tensor.name.strip_suffix(".weight").unwrap_or(&tensor.name).to_owned();
        first.push(tensor);
        for (end, numbers) in [("scale", own), ("input_scale", activations)] {
            if !are_ones(&numbers) {
                let (name, shape) = (format!("{module}.{end}"), [numbers.len() as u64]);
                let shape = shape.into_iter().collect();
                first.push(Derived { name, shape, from: MadeOf::Numbers(numbers) });
            }
        }
    }
    *derived = first;
    derived.append(&mut rest);
    Ok(packers)
}

/// What makes blocks of a tensor's codes that the format can hold.
fn fitting(kind: CodeKind, tensor: &Derived, writer: &dyn Writer) -> Option<&'static dyn Packer> {
    if names::wants_single(&tensor.name, &tensor.shape) {
        return None;
    }
    SCHEMES.packer(kind, |block| {
        let columns = tensor.shape.last().copied().unwrap_or(1);
        let rows = tensor.shape.iter().rev().skip(1).product();
        let Some(bytes) = block.bytes_for(rows, columns) else { return false };
        let stored = StoredType::Block(block);
        let planned = Planned { name: &tensor.name, stored: &stored, shape: &tensor.shape, bytes };
        writer.refuses(&planned).is_none()
    })
}

/// Weights, each once, in their order.
fn distinct<'w>(weights: impl Iterator<Item = &'w Weight>) -> Vec<&'w Weight> {
    let mut found: Vec<&Weight> = Vec::new();
    for weight in weights {
        if found.last().is_none_or(|last| last.name() != weight.name()) {
            found.push(weight);
        }
    }
    found
}

/// The factors of a tensor: those of its one weight, or one of each. None where they cannot be told
/// apart any more.
fn factors(
    weights: &[&Weight],
    mut of: impl FnMut(&Weight) -> Result<Vec<f32>>,
) -> Result<Option<Vec<f32>>> {
    let mut all = Vec::new();
    for weight in weights {
        match (&of(weight)?[..], weights.len()) {
            ([], 1) => {}
            ([], _) => all.push(1.0),
            ([one], _) => all.push(*one),
            (several, 1) => all.extend(several),
            _ => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// Whether factors need not be written. The converter also leaves out what is nearly one, which would
/// change the numbers.
#[allow(clippy::float_cmp)] // Exactly one is meant.
fn are_ones(factors: &[f32]) -> bool {
    factors.iter().all(|factor| *factor == 1.0)
}

/// The scales of activations, by the module that they lie in.
struct Inputs<'m> {
    model: &'m Model,
    found: HashMap<&'static str, HashMap<&'m str, crate::schemes::TensorId>>,
}

impl Inputs<'_> {
    fn of(&mut self, weight: &Weight) -> Result<Vec<f32>> {
        let beside = weight.beside_codes();
        let Some(name) = beside.input else { return Ok(Vec::new()) };
        let model = self.model;
        let found = self.found.entry(name).or_insert_with(|| model.beside_modules(name));
        let module = weight.name().strip_suffix(".weight").unwrap_or(weight.name());
        match found.get(module) {
            Some(tensor) => model.factors(*tensor, beside.is_inverse),
            None => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::are_ones;

    #[test]
    fn what_is_only_nearly_one_is_written() {
        assert!(are_ones(&[]) && are_ones(&[1.0]) && are_ones(&[1.0, 1.0]));
        assert!(!are_ones(&[1.0 + f32::EPSILON]) && !are_ones(&[1.0, 1.0 - f32::EPSILON]));
    }
}
