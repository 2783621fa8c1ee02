//! The projector of a multimodal model, in a GGUF file of its own beside the language model's.

use std::path::PathBuf;

use super::values::Values;
use super::{ConvertOptions, ConvertReport, Mmproj, Names, NextLayers, Part, Task, chain};
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{ExtraFile, Place, Target, stem_of};

/// The path of the projector beside an output.
fn path(target: &Target) -> Result<PathBuf> {
    let refused = |message: &str| Err(Error::usage(message).remedy(Remedy::ProjectorAlone));
    if target.is_elsewhere {
        return refused("a projector can only be written next to a local output");
    }
    let named = |stem: &str| format!("mmproj-{stem}.{}", target.writer.format());
    match &target.place {
        Place::File(path) => {
            let stem = stem_of(path).unwrap_or_default();
            Ok(path.with_file_name(named(&stem)))
        }
        Place::Folder(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Ok(path.join(named(&name)))
        }
        Place::Stream | Place::Special(_) => {
            refused("a stream can hold one file, not a model and its projector")
        }
    }
}

/// The projector of a model whose language model is the first part.
pub(super) fn part(
    model: &Model,
    target: &Target,
    task: &Task<'_>,
    (extra, report): (&mut Vec<ExtraFile>, &mut ConvertReport),
) -> Result<Part> {
    let options = ConvertOptions {
        mmproj: Mmproj::Only,
        metadata: Vec::new(),
        max_shard_size: None,
        next_layers: NextLayers::Keep,
        ..task.options.clone()
    };
    let place = Place::File(path(target).map_err(|e| e.in_file(&options.target))?);
    let target = Target { place, ..target.clone() };
    // What is quantized is the language model.
    let dtype = task.values.dtype();
    let values = Values::Types { dtype, casts: Vec::new(), only_decoded: false };
    let task = Task { options: &options, values: &values, names: Names::Gguf, target, ..*task };
    let part = chain::part(model, "", &task, (extra, report))?;
    Ok(Part { is_projector: true, ..part })
}
