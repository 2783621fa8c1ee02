//! A model as somebody else wants it: other names, changed values, metadata, a tokenizer.
//!
//! The result is a model like any other, made of the weights of the first, so that everything that
//! can be done with a model (converting, verifying, resuming) needs to know nothing about it.

use std::collections::HashMap;
use std::sync::Arc;

use super::Dropped;
use super::convert_options::ConvertOptions;
use super::refusals::refuse_problems;
use super::repacked::Packed;
use crate::containers::writing::{Entries, Holds, WRITERS, writer};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{Cast, ExtraFile, OutputType, Place, Target};

mod adapter;
mod base;
mod beside;
pub(super) mod modelfile;
mod to_gguf;
mod to_hf;

pub(super) use beside::read;

/// Whether names, values and metadata are translated on the way into another format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// Into a format that programs load models from, models become what those programs load: a GGUF
    /// file that llama.cpp runs, a directory of a GGUF file that Hugging Face's libraries load. Models
    /// that only a part is taken of, that are kept as they are stored, or that have that format
    /// already, and single files of other formats, keep everything.
    #[default]
    Auto,
    /// They stay as they are.
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
    pub(super) repacked: Packed,
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
    let names = chosen(model, options, target);
    refuse_unused_base(model, names, options)?;
    let translate = match names {
        Names::Auto | Names::Keep => return Ok(None),
        Names::Hf => to_hf::to_hf,
        Names::Gguf if adapter::is_adapter(model) => adapter::to_gguf,
        Names::Gguf => to_gguf::to_gguf,
    };
    check_options(model, names, options, target)?;
    // Problems are known by the names that the model itself has.
    refuse_problems(model, &options.select, false)?;
    translate(model, options, target).map(Some).map_err(|error| error.in_file(model.path()))
}

/// An error if another repository is named and nothing would be taken from it.
fn refuse_unused_base(model: &Model, names: Names, options: &ConvertOptions) -> Result<()> {
    let is_used = names == Names::Hf || names == Names::Gguf && adapter::is_adapter(model);
    if options.base.is_none() || is_used {
        return Ok(());
    }
    let message =
        "only an adapter, and a file that becomes a repository, take the config of another";
    Err(Error::usage(message).in_file(model.path()))
}

/// What becomes of the names, where the options leave it open.
fn chosen(model: &Model, options: &ConvertOptions, target: &Target) -> Names {
    if options.names != Names::Auto {
        return options.names;
    }
    let is_same = model.format() == target.writer.format();
    let is_as_stored = options.dtype == OutputType::Keep;
    if is_same || is_as_stored || !options.select.is_all() {
        return Names::Keep;
    }
    match (target.writer.holds(), &target.place) {
        (Holds::Values, _) => Names::Gguf,
        (Holds::Texts, Place::Folder(_)) if is_runnable(model) => Names::Hf,
        _ => Names::Keep,
    }
}

/// Whether a model is in the format that tells everything about a model.
fn is_runnable(model: &Model) -> bool {
    writer(model.format()).is_some_and(|writer| writer.holds() == Holds::Values)
}

/// What has to be said about an output that a program would take for a model, and cannot load.
pub(super) fn note_of_kept(model: &Model, target: &Target) -> Option<&'static str> {
    if model.format() == target.writer.format() {
        return None;
    }
    match (target.writer.holds(), &target.place) {
        (Holds::Values, _) => Some(
            "names, values and metadata are kept as they are: llama.cpp, and what is built on it, \
             will not load the result as a model",
        ),
        (Holds::Texts, Place::Folder(_)) if is_runnable(model) => Some(
            "names, values and metadata are kept as they are: Hugging Face's libraries will not load \
             the result as a model",
        ),
        _ => None,
    }
}

fn check_options(
    model: &Model,
    names: Names,
    options: &ConvertOptions,
    target: &Target,
) -> Result<()> {
    let refused = |message: &str| Err(Error::usage(message).in_file(model.path()));
    check_formats(model, names, target)?;
    let some_only = !options.select.is_all() || options.skip_unreadable;
    if some_only || !options.casts.is_empty() || !options.renames.is_empty() {
        let message = "all weights are translated, or none: they cannot be chosen, cast or renamed";
        return refused(message).map_err(|error| error.remedy(Remedy::KeepNames));
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
