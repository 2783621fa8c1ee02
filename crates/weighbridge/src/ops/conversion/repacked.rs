//! Weights that go into another model as they are stored: their codes and scales are moved into the
//! blocks of another scheme, and nothing is lost.
//!
//! llama.cpp's converter writes such tensors before all others, each with the factors beside it
//! (`x.scale`, and for activations `x.input_scale`), unless they are one.

use std::collections::HashMap;

use crate::containers::writing::{Planned, Writer};
use crate::error::Result;
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names;
use crate::schemes::{CodedWeight, EncodedTensor, PackedWeight, SCHEMES, Taker};

/// What becomes of tensors that are repacked, by their names.
pub(super) type Packed = HashMap<String, PackedWeight>;

/// The tensors of a model of which some may be repacked.
#[derive(Default)]
pub(super) struct Repacked {
    /// All of them, those first that are repacked, and the factors beside them; none if there are no
    /// such tensors.
    pub(super) tensors: Option<(Vec<Derived>, Packed)>,
    /// Those that are decoded because llama.cpp would ignore their factors.
    decoded: Vec<String>,
}

impl Repacked {
    /// A note on tensors that are decoded.
    pub(super) fn note(&self, architecture: &str) -> Option<String> {
        let (first, count) = (self.decoded.first()?, self.decoded.len());
        let weights = if count == 1 { "weight is" } else { "weights are" };
        Some(format!(
            "{count} {weights} decoded, such as {first}: llama.cpp would ignore the scale beside \
             their blocks in architecture {architecture}"
        ))
    }
}

/// All tensors, with those that a format can hold without decoding them.
pub(super) fn repacked(
    model: &Model,
    derived: &[Derived],
    writer: &dyn Writer,
    architecture: &str,
    rename: &dyn Fn(&str) -> String,
) -> Result<Repacked> {
    let (mut all, mut decoded) = (Packed::new(), Vec::new());
    let is_stored = |tensor: &Derived| match &tensor.from {
        MadeOf::Weights(pieces) | MadeOf::Padded(pieces) | MadeOf::InTurn(pieces, _) => {
            pieces.iter().any(|(weight, _)| !weight.is_plain())
        }
        MadeOf::Numbers(_) => false,
    };
    if !derived.iter().any(is_stored) {
        return Ok(Repacked::default());
    }
    let drafted = model.derived(derived.to_vec())?;
    let mut found = HashMap::new();
    // The factors of what a weight is multiplied with, where its model states them.
    let mut inputs = |weight: &Weight| {
        let Some(global) = weight.global_of_codes() else { return Ok(Vec::new()) };
        let known = found.entry(global.input);
        let beside = known.or_insert_with(|| model.beside_modules(global.input));
        let module = weight.name().strip_suffix(".weight").unwrap_or(weight.name());
        let tensor = beside.get(module);
        tensor.map_or(Ok(Vec::new()), |tensor| model.factors(*tensor, global.divides))
    };
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (tensor, weight) in derived.iter().cloned().zip(drafted.weights()) {
        let name = rename(&tensor.name);
        let (Some(packed), MadeOf::Weights(pieces)) =
            (fitting(&name, &weight, writer), &tensor.from)
        else {
            rest.push(tensor);
            continue;
        };
        let weights = distinct(pieces.iter().map(|(weight, _)| weight));
        let Some(own) = factors(&weights, |weight| weight.factors_of_codes(true))? else {
            rest.push(tensor);
            continue;
        };
        let activations = factors(&weights, &mut inputs)?.unwrap_or_default();
        let has_factors = !are_ones(&own) || !are_ones(&activations);
        if has_factors && !packed.packer.applies_factor(architecture, &name) {
            decoded.push(name);
            rest.push(tensor);
            continue;
        }
        all.insert(tensor.name.clone(), packed);
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
    first.append(&mut rest);
    let tensors = (!all.is_empty()).then_some((first, all));
    Ok(Repacked { tensors, decoded })
}

/// The blocks of a tensor's codes, if the format can hold such.
fn fitting(name: &str, weight: &Weight, writer: &dyn Writer) -> Option<PackedWeight> {
    let shape = weight.shape();
    let form = weight.form_of_codes(Taker::Blocks).ok()?;
    if names::wants_single(weight.name(), shape) {
        return None;
    }
    let coded = CodedWeight { name, shape, form, zeros: [0; 2], global: None };
    let packed = SCHEMES.in_blocks(coded)?;
    let fits = |EncodedTensor { name, stored, shape, bytes, .. }: &EncodedTensor| {
        writer.refuses(&Planned { name, stored, shape, bytes: *bytes }).is_none()
    };
    packed.tensors.iter().all(fits).then_some(packed)
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

#[cfg(test)]
mod tests {
    use super::are_ones;

    #[test]
    fn what_is_only_nearly_one_is_written() {
        assert!(are_ones(&[]) && are_ones(&[1.0]) && are_ones(&[1.0, 1.0]));
        assert!(!are_ones(&[1.0 + f32::EPSILON]) && !are_ones(&[1.0, 1.0 - f32::EPSILON]));
    }
}
