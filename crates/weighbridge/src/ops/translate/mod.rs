//! A model as somebody else wants it: other names, changed values, metadata, a tokenizer.
//!
//! The result is a model like any other, made of the weights of the first, so that everything that
//! can be done with a model (converting, verifying, resuming) needs to know nothing about it.

use std::collections::HashMap;
use std::sync::Arc;

use super::Dropped;
use super::convert_options::ConvertOptions;
use super::refusals::refuse_problems;
use super::repacked::Packers;
use crate::containers::writing::{Entries, Holds, WRITERS};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::{Cast, ExtraFile, OutputType, Place, Target};

mod adapter;
mod base;
mod beside;
mod to_gguf;
mod to_hf;

/// Whether names, values and metadata are translated on the way into another format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// They stay as they are.
    #[default]
    Keep,
    /// The model becomes a directory that Hugging Face's libraries load.
    Hf,
    /// The model becomes a GGUF file that llama.cpp runs.
    Gguf,
}

/// A model as the options want it.
pub(super) struct Translated {
    /// Its weights, under their new names.
    pub(super) model: Model,
    /// Their types.
    pub(super) casts: Vec<Cast>,
    /// What is not decoded.
    pub(super) repacked: Packers,
    /// The metadata of the file.
    pub(super) metadata: Entries,
    /// Weights that the file does not have.
    pub(super) left_out: Vec<Dropped>,
    /// Files that go beside the weights.
    pub(super) files: Vec<ExtraFile>,
    /// What the model does not tell, and nobody else did.
    pub(super) not_carried: Vec<String>,
}

/// Translates a model, if the options ask for it.
pub(super) fn translated(
    model: &Model,
    options: &ConvertOptions,
    target: &Target,
) -> Result<Option<Translated>> {
    let translate = match options.names {
        Names::Keep => return Ok(None),
        Names::Hf => to_hf::to_hf,
        Names::Gguf if adapter::is_adapter(model) => adapter::to_gguf,
        Names::Gguf => to_gguf::to_gguf,
    };
    check_options(model, options, target)?;
    // Problems are known by the names that the model itself has.
    refuse_problems(model, &options.select, false)?;
    translate(model, options, target).map(Some).map_err(|error| error.in_file(model.path()))
}

fn check_options(model: &Model, options: &ConvertOptions, target: &Target) -> Result<()> {
    let refused = |message: &str| Err(Error::usage(message).in_file(model.path()));
    check_formats(model, options.names, target)?;
    let some_only = !options.select.is_all() || options.skip_unreadable;
    if some_only || !options.casts.is_empty() || !options.renames.is_empty() {
        return refused(
            "all weights are translated, or none: they cannot be chosen, cast or renamed",
        );
    }
    if options.dtype == OutputType::Keep {
        return refused("what is translated cannot be kept as it is stored");
    }
    Ok(())
}

/// Metadata of any type is what tells the one format with a place for a whole model in a file.
fn check_formats(model: &Model, names: Names, target: &Target) -> Result<()> {
    let refused = |message: String| Err(Error::usage(message).in_file(model.path()));
    let whole: Vec<&str> = WRITERS
        .iter()
        .filter(|writer| writer.holds() == Holds::Values)
        .map(|writer| writer.format())
        .collect();
    let is_whole = whole.contains(&model.format());
    match names {
        Names::Gguf if target.writer.holds() != Holds::Values => {
            refused(format!("names are translated into {} only", whole.join(", ")))
        }
        Names::Gguf if model.format() == target.writer.format() => {
            refused("its names are those of that format already".to_owned())
        }
        Names::Hf if !is_whole => {
            refused(format!("only {} files become a repository", whole.join(", ")))
        }
        Names::Hf if !matches!(target.place, Place::Folder(_)) => {
            refused("a repository is a directory, and cannot become one file".to_owned())
        }
        Names::Hf if target.writer.holds() != Holds::Texts => {
            let format = target.writer.format();
            refused(format!("the weights of a repository cannot be {format} files"))
        }
        _ => Ok(()),
    }
}

/// The types of weights, by their names.
fn casts(types: HashMap<String, DType>) -> Vec<Cast> {
    let types = Arc::new(types);
    let cast = |dtype: DType| {
        let types = types.clone();
        Cast { matches: Arc::new(move |name| types.get(name) == Some(&dtype)), dtype }
    };
    [DType::F32, DType::BF16, DType::F16].into_iter().map(cast).collect()
}
