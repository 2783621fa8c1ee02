//! A model as somebody else wants it: other names, changed values, metadata, a tokenizer.
//!
//! The result is a model like any other, made of the weights of the first, so that everything that
//! can be done with a model (converting, verifying, resuming) needs to know nothing about it.

use super::Dropped;
use super::convert_options::ConvertOptions;
use super::refusals::refuse_problems;
use super::repacked::Packers;
use crate::containers::writing::{Entries, Holds, WRITERS};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::{Cast, OutputType, Target};

mod adapter;
mod beside;
mod to_gguf;

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
}

/// Translates a model, if the options ask for it.
pub(super) fn translated(
    model: &Model,
    options: &ConvertOptions,
    target: &Target,
) -> Result<Option<Translated>> {
    let translate = match options.names {
        Names::Keep => return Ok(None),
        Names::Hf => return Err(Error::unsupported("no model is translated into that yet")),
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
    // The one format with a place for what is translated.
    if target.writer.holds() != Holds::Values {
        let able = WRITERS.iter().filter(|writer| writer.holds() == Holds::Values);
        let names: Vec<&str> = able.map(|writer| writer.format()).collect();
        return refused(&format!("names are translated into {} only", names.join(", ")));
    }
    if model.format() == target.writer.format() {
        return refused("its names are those of that format already");
    }
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
