//! A model as somebody else wants it: other names, changed values, metadata, a tokenizer.
//!
//! The result is a model like any other, made of the weights of the first, so that everything that
//! can be done with a model (converting, verifying, resuming) needs to know nothing about it.

use std::collections::HashMap;

use super::Task;
use super::mmproj::Mmproj;
use super::names::Names;
use super::options::ConvertOptions;
use super::repacked::Packed;
use super::values::Values;
use crate::containers::writing::Holds;
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::ops::Dropped;
use crate::ops::refusals::refuse_problems;
use crate::pipeline::{ExtraFile, Kept, OutputType, Target, kept_metadata};
use crate::text::escaped;
use crate::warning::{WILL_NOT_LOAD, Warning};

mod adapter;
mod base;
mod beside;
mod described;
pub(super) mod modelfile;
mod next_layers;
mod projector;
mod siblings;
mod to_gguf;
mod to_hf;

pub use next_layers::NextLayers;

pub(in crate::ops) use described::described;
pub(in crate::ops) use siblings::file;
pub(super) use siblings::read;
use to_gguf::Draft;

/// A model under the names that the output has.
pub(super) struct Translated {
    /// Its weights, under their new names.
    pub(super) model: Model,
    /// Whether they are new at all, and what lies beside the weights is made, not copied.
    pub(super) is_translated: bool,
    /// The types of weights, by their names.
    pub(super) types: HashMap<String, DType>,
    /// What is not decoded, by its name.
    pub(super) repacked: Packed,
    /// The metadata of the file.
    pub(super) metadata: Kept,
    /// Weights that the file does not have.
    pub(super) left_out: Vec<Dropped>,
    /// Files that go beside the weights.
    pub(super) files: Vec<ExtraFile>,
    /// What the model does not tell, and nobody else did.
    pub(super) not_carried: Vec<String>,
    /// What programs that load the output do differently.
    pub(super) warnings: Vec<Warning>,
    /// What has to be said about an output whose names are kept.
    pub(super) note: Option<&'static str>,
    /// Further remarks about the translation.
    pub(super) notes: Vec<String>,
    /// A remark about codes that are decoded, if no quantizer decides about them.
    pub(super) note_on_codes: Option<String>,
    /// What it is made of, where codes are moved that could be decoded.
    draft: Option<Draft>,
}

impl Translated {
    /// A model whose names, values and metadata are kept.
    fn kept(model: &Model, target: &Target) -> Result<Self> {
        let metadata = kept_metadata(model, target.writer)?;
        let note = note_of_kept(model, target);
        Ok(Self { is_translated: false, note, metadata, ..Self::new(model.clone()) })
    }

    /// A model of new weights, with nothing else.
    fn new(model: Model) -> Self {
        Self {
            model,
            is_translated: true,
            types: HashMap::new(),
            repacked: Packed::new(),
            metadata: Kept::default(),
            left_out: Vec::new(),
            files: Vec::new(),
            not_carried: Vec::new(),
            warnings: Vec::new(),
            note: None,
            notes: Vec::new(),
            note_on_codes: None,
            draft: None,
        }
    }

    /// The model without moved codes: all of them are decoded.
    pub(super) fn with_decoded_codes(self, original: &Model) -> Result<Self> {
        let Some(draft) = self.draft else { return Ok(self) };
        let decoded = draft.finish(original, OutputType::Native, None)?;
        Ok(Self { left_out: self.left_out, notes: self.notes, ..decoded })
    }
}

/// Translates a model, if that is asked for; it keeps its names otherwise.
pub(super) fn translate(model: &Model, task: &Task<'_>) -> Result<Translated> {
    let names = chosen(model, task);
    refuse_unused_base(model, names, task.options)?;
    if names != Names::Gguf && task.options.next_layers != NextLayers::Keep {
        let message =
            "next-token prediction layers are chosen when a repository becomes a GGUF file";
        return Err(Error::usage(message).in_file(model.path()));
    }
    let translate = match names {
        _ if task.options.mmproj == Mmproj::Only => projector::to_gguf,
        Names::Auto | Names::Keep => {
            refuse_projector(model, task.options)?;
            return Translated::kept(model, &task.target);
        }
        Names::Hf => to_hf::to_hf,
        Names::Gguf if adapter::is_adapter(model) => adapter::to_gguf,
        Names::Gguf => to_gguf::to_gguf,
    };
    check_options(model, names, task)?;
    // Problems are known by the names that the model itself has.
    refuse_problems(model, &task.options.select, false)?;
    let translated = translate(model, task).map_err(|error| error.in_file(model.path()))?;
    if task.loads {
        refuse_what_fails(&translated).map_err(|error| error.in_file(model.path()))?;
    }
    Ok(translated)
}

/// An error if programs that read the output will not load it.
fn refuse_what_fails(translated: &Translated) -> Result<()> {
    let mut fatal = translated.warnings.iter().filter(|warning| warning.kind == WILL_NOT_LOAD);
    let Some(first) = fatal.next() else { return Ok(()) };
    let message = format!("config.json: {}: {}", escaped(&first.subject()), first.message);
    Err(Error::unsupported(message).remedy(Remedy::AllowLossyConfig))
}

/// An error if another repository is named and nothing would be taken from it.
fn refuse_unused_base(model: &Model, names: Names, options: &ConvertOptions) -> Result<()> {
    let is_used = names == Names::Hf || names == Names::Gguf && adapter::is_adapter(model);
    if options.base.is_none() || is_used {
        return Ok(());
    }
    let message =
        "a base model applies only to an adapter, or to a GGUF file that becomes a repository";
    Err(Error::usage(message).in_file(model.path()))
}

/// What becomes of the names, where the options leave it open.
fn chosen(model: &Model, task: &Task<'_>) -> Names {
    if task.names != Names::Auto {
        return task.names;
    }
    if task.options.mmproj == Mmproj::Only {
        return Names::Gguf;
    }
    let is_same = model.format() == task.target.writer.format();
    let is_as_stored = matches!(task.values, Values::AsStored);
    if is_same || is_as_stored || !task.options.select.is_all() {
        return Names::Keep;
    }
    match task.target.writer.holds() {
        Holds::Values => Names::Gguf,
        Holds::Texts if task.target.is_folder() && model.format() == GGUF => Names::Hf,
        _ => Names::Keep,
    }
}

/// The format that tells everything about a model in one file.
const GGUF: &str = "gguf";

/// Whether a GGUF file that is dequantized becomes a repository: nothing says that it should keep its
/// format.
pub(super) fn becomes_repository(model: &Model, names: Names, target: &Target) -> bool {
    let is_repository = target.is_folder() && target.writer.holds() == Holds::Texts;
    names != Names::Keep && model.format() == GGUF && is_repository
}

/// What has to be said about an output that a program would take for a model, and cannot load.
fn note_of_kept(model: &Model, target: &Target) -> Option<&'static str> {
    if model.format() == target.writer.format() {
        return None;
    }
    match target.writer.holds() {
        Holds::Values => Some(
            "names, values and metadata are unchanged; llama.cpp and programs built on it will not \
             load the output as a model",
        ),
        Holds::Texts if target.is_folder() && model.format() == GGUF => Some(
            "names, values and metadata are unchanged; Hugging Face libraries will not load the \
             output as a model",
        ),
        _ => None,
    }
}

fn check_options(model: &Model, names: Names, task: &Task<'_>) -> Result<()> {
    let refused = |message: &str| Err(Error::usage(message).in_file(model.path()));
    let options = task.options;
    if names != Names::Gguf {
        refuse_projector(model, options)?;
    }
    check_formats(model, names, &task.target)?;
    let some_only = !options.select.is_all() || options.skip_unreadable;
    if some_only || !options.casts.is_empty() || !options.renames.is_empty() {
        let message = "a translated model must be converted whole: weights cannot be selected, cast or renamed";
        return refused(message).map_err(|error| error.remedy(Remedy::KeepNames));
    }
    if matches!(task.values, Values::AsStored) {
        return refused("translated tensors cannot be kept as stored");
    }
    Ok(())
}

/// An error if a projector is asked for beside an output that has none.
fn refuse_projector(model: &Model, options: &ConvertOptions) -> Result<()> {
    if options.mmproj == Mmproj::None {
        return Ok(());
    }
    let message = "a projector is written for a model that becomes a gguf file with gguf names";
    Err(Error::usage(message).in_file(model.path()))
}

/// An error unless the model and the output have formats that these names belong to.
fn check_formats(model: &Model, names: Names, target: &Target) -> Result<()> {
    let refused = |message: String| Err(Error::usage(message).in_file(model.path()));
    let to = target.writer;
    match names {
        Names::Gguf if to.format() != GGUF => {
            refused("names can be translated only for gguf output".to_owned())
        }
        Names::Gguf if model.format() == GGUF => refused("it already has gguf names".to_owned()),
        Names::Hf if model.format() != GGUF => {
            refused("only gguf files can become a repository".to_owned())
        }
        Names::Hf if !target.is_folder() => {
            refused("a repository cannot be written to a single file".to_owned())
        }
        Names::Hf if to.holds() != Holds::Texts => {
            refused(format!("a repository cannot store its weights in {} files", to.format()))
        }
        _ => Ok(()),
    }
}
