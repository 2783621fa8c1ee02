//! The projector of a Hugging Face model as llama.cpp wants it.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::Translated;
use super::beside;
use super::siblings::{file, home};
use super::to_gguf::{card, json_file, left_out, order};
use crate::config;
use crate::containers::writing::Entries;
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names::{Named, keys};
use crate::ops::conversion::{NextLayers, Task};
use crate::pipeline::{Kept, OutputType, set_entry};
use crate::projectors::{self, Facts, Projector, Repository, Tensor, Translation, Wanted};
use crate::text::escaped;

/// Weights whose numbers are read when a file is planned are small.
const MOST_NUMBERS: u64 = 1 << 25;

/// Translates the projector of a model.
pub(super) fn to_gguf(model: &Model, task: &Task<'_>) -> Result<Translated> {
    if task.options.next_layers != NextLayers::Keep {
        return Err(Error::usage("a projector has no next-token prediction layers"));
    }
    let config = config::find(model.configs(), config::HUGGING_FACE).ok_or_else(|| {
        let message = "cannot tell the projector: no config.json beside the weights";
        Error::unsupported(message).remedy(Remedy::TextOnly)
    })?;
    let projector = projectors::of_config(config).ok_or_else(|| no_projector(config))?;
    let model = &beside::with_beside(model, projector)?;
    let weights: Vec<Weight> = model.weights().collect();
    let names: Vec<String> =
        weights.iter().map(|weight| beside::name(model, projector, weight)).collect();
    let named = names.iter().zip(&weights).map(|(name, w)| Named { name, shape: w.shape() });
    let named: Vec<Named<'_>> = named.collect();
    let processors = ["preprocessor_config.json", "processor_config.json"];
    let [first, second] = processors.map(|name| json_file(model, name));
    let (first, second) = (first?, second?);
    let repository = Repository {
        config,
        processors: [first.as_ref(), second.as_ref()],
        weights: &named,
        numbers: &|index| numbers(&weights[index]),
        file: &|name| file(model, name),
    };
    let facts = projector.facts(&repository)?;
    let mut order = order(&weights);
    order.sort_by_key(|index| names[*index] == weights[*index].name());
    let Translation { tensors, left_out: dropped, others } =
        projectors::translate(projector, &facts, &order)?;
    let asked = task.values.dtype();
    let file_type = file_type(projector, &tensors, &weights, asked);
    let entries = entries(model, config, (projector, &facts), (&tensors, file_type))?;
    let types = tensors.iter().map(|tensor| {
        let wanted = projector.wanted(&tensor.name, &tensor.shape);
        (tensor.name.clone(), type_of(wanted, own_type(tensor, &weights, asked), file_type))
    });
    let types: HashMap<String, DType> = types.collect();
    let derived = tensors.into_iter().map(|tensor| derived(tensor, &weights));
    let translated = Translated::new(model.derived(derived.collect())?);
    let metadata = Kept { entries, left_out: Vec::new() };
    let warnings = projector.warnings(&facts);
    let notes = note_on_others(others).into_iter().collect();
    let left_out = left_out(dropped, &weights);
    Ok(Translated { types, metadata, warnings, notes, left_out, ..translated })
}

/// The numbers of a small weight.
fn numbers(weight: &Weight) -> Result<Vec<f32>> {
    if weight.elements() > MOST_NUMBERS {
        let message = format!("it has more than {MOST_NUMBERS} values");
        return Err(Error::limit(message).in_tensor(weight.name()));
    }
    weight.decode_to_vec::<f32>()
}

/// The error of a model that has no projector, or one that is not known.
fn no_projector(config: &Json) -> Error {
    let class = config["architectures"][0].as_str().or(config["model_type"].as_str());
    let class = escaped(class.unwrap_or("a model without a stated class")).into_owned();
    let parts = ["vision_config", "audio_config", "vision_encoder", "thinker_config"];
    let message = if parts.iter().any(|part| config.get(*part).is_some_and(Json::is_object)) {
        format!("the projector of {class} is not supported")
    } else {
        format!("{class} has no vision or audio encoder, so there is no projector")
    };
    Error::unsupported(message).remedy(Remedy::TextOnly)
}

fn note_on_others(others: usize) -> Option<String> {
    (others > 0).then(|| {
        let weights = if others == 1 { "weight belongs" } else { "weights belong" };
        format!("{others} {weights} to the language model, which has a file of its own")
    })
}

fn entries(
    model: &Model,
    config: &Json,
    (projector, facts): (&Projector, &Facts<'_>),
    (tensors, file_type): (&[Tensor], u32),
) -> Result<Entries> {
    let folder = home(model).file_name().unwrap_or_default().to_string_lossy();
    let (card, generation) = (card(model)?, json_file(model, "generation_config.json")?);
    let shapes = tensors.iter().map(|tensor| (&*tensor.name, &tensor.shape[..]));
    let about = keys::About {
        config,
        generation: generation.as_ref(),
        card: card.as_deref(),
        pooling: None,
        next_layers: keys::NextCount::Stated,
        measured: &[],
        folder: &folder,
        parameters: keys::Parameters::of(shapes),
        file_type,
    };
    let own = projector.entries(facts, &about)?;
    projector.check(tensors, &own)?;
    let mut entries = Entries::new();
    for (key, value) in own {
        set_entry(&mut entries, &key, value);
    }
    Ok(entries)
}

fn derived(tensor: Tensor, weights: &[Weight]) -> Derived {
    let from = match tensor.made_of {
        projectors::MadeOf::Numbers(numbers) => MadeOf::Numbers(numbers),
        projectors::MadeOf::Weights(pieces) => {
            let pieces = pieces.into_iter();
            MadeOf::Weights(pieces.map(|(index, view)| (weights[index].clone(), view)).collect())
        }
    };
    Derived { name: tensor.name, shape: tensor.shape, from }
}

/// The type of what a tensor is made of, as far as it is not forced.
fn own_type(tensor: &Tensor, weights: &[Weight], asked: OutputType) -> DType {
    let first = match &tensor.made_of {
        projectors::MadeOf::Weights(pieces) => pieces.first().map(|(index, _)| &weights[*index]),
        projectors::MadeOf::Numbers(_) => None,
    };
    let (is_plain, native) = first.map_or((true, Some(DType::F32)), |w| (w.is_plain(), w.native()));
    match asked.of_stored(is_plain, native) {
        Some(dtype @ (DType::F16 | DType::BF16)) => dtype,
        _ => DType::F32,
    }
}

fn type_of(wanted: Wanted, own: DType, file_type: u32) -> DType {
    match wanted {
        Wanted::Own => own,
        Wanted::Half => DType::F16,
        Wanted::HalfOrSingle if file_type == HALF => DType::F16,
        Wanted::HalfOrSingle | Wanted::Single => DType::F32,
    }
}

/// llama.cpp's number for files of F16.
const HALF: u32 = 1;

/// llama.cpp's number for the type of the first matrix that has that of the file.
fn file_type(
    projector: &Projector,
    tensors: &[Tensor],
    weights: &[Weight],
    asked: OutputType,
) -> u32 {
    let is_own = |tensor: &&Tensor| projector.wanted(&tensor.name, &tensor.shape) == Wanted::Own;
    match tensors.iter().find(is_own).map(|tensor| own_type(tensor, weights, asked)) {
        Some(DType::F16) => HALF,
        Some(DType::BF16) => 32,
        _ => 0,
    }
}
