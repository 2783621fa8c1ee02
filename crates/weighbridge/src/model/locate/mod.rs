//! From what the user typed to the files that make up a model.
//!
//! What was typed is taken, in this order, as
//!
//! 1. a path: a file, an index or a directory. A path that exists always wins;
//! 2. an address of one of the [`PLACES`]: `hf://..`, `ollama:[host/][namespace/]name[:tag]`, ..;
//! 3. `[org/]name[/path][@revision]`, a repository in the local Hugging Face cache.
//!
//! **A file** is opened alone, with the configs that lie beside it; any part of a split GGUF
//! stands for all of its parts. **A directory** is one model wherever that can be told:
//!
//! ```text
//! model_index.json                        a pipeline: one model for each component folder
//! *.safetensors.index.json                its files; `model` before other names
//! *.safetensors                           model, diffusion_pytorch_model, pytorch_model,
//!                                         model*, consolidated*, adapter_model, other names
//! *.gguf                                  each file or split set is a model of its own
//! *.bin.index.json, *.bin *.pt *.pth *.ckpt   pytorch_model before other names
//! *.npz, *.npy                            all `.npy` files together are one model
//! *.apr
//! ```
//!
//! The first line that matches wins. A note names the files that are left out;
//! files that are equally good are several models. Nothing here knows a format from the inside:
//! names, listings and the first bytes of files decide.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::Finding;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::input::{Folder, MemoryFolder, ReadAt};
use crate::limits::{Budget, Limits};

mod addresses;
mod configs;
mod crosscheck;
mod directory;
mod file;
mod hazards;
mod hub;
mod index;
mod listing;
mod not_a_model;
mod not_found;
mod path;
mod pipeline;
mod places;
mod resolvers;
mod search;
mod sets;
mod shards;
mod stores;
#[cfg(test)]
mod tests;

pub(super) use configs::beside_late;
pub(super) use crosscheck::cross_check;
pub(super) use index::Index;
pub(super) use not_a_model::{explain, explain_certain};
pub use places::{PLACES, Place};
pub(crate) use places::{Writing, as_address, starts_of};
pub use stores::Stores;

pub(super) use resolvers::Typed;
use search::Search;

/// The files of one model.
pub(super) struct Located {
    pub(super) path: PathBuf,
    pub(super) files: Vec<PathBuf>,
    /// Where the files lie.
    pub(super) folder: Arc<dyn Folder>,
    /// The only file, where it had to be opened to find out what it is.
    pub(super) opened: Option<Arc<dyn ReadAt>>,
    pub(super) configs: Vec<Config>,
    /// The folder whose configs are read once it is known that a tensor could need them.
    pub(super) late_configs: Option<PathBuf>,
    pub(super) findings: Vec<Finding>,
    /// Dangerous files beside its own. They concern whoever loads them, not its weights.
    pub(super) hazards: Vec<Finding>,
    pub(super) notes: Vec<String>,
    /// Which file holds which tensor, where an index says so.
    pub(super) index: Option<Index>,
    /// The folder of the pipeline that it is a component of.
    pub(super) pipeline: Option<PathBuf>,
    /// What this is to the model beside it (a projector, a draft model). A companion is opened with
    /// the others, and is not counted when only one model may be there.
    pub(super) companion: Option<&'static str>,
}

impl Located {
    /// A model whose files lie where they were searched.
    fn new(path: PathBuf, search: &Search<'_>) -> Self {
        Self::in_folder(path, search.folder.clone())
    }

    /// A model that was given as bytes: nothing lies beside it.
    pub(super) fn alone(path: PathBuf) -> Self {
        Self::in_folder(path, Arc::new(MemoryFolder::new()))
    }

    fn in_folder(path: PathBuf, folder: Arc<dyn Folder>) -> Self {
        Self {
            path,
            folder,
            files: Vec::new(),
            opened: None,
            configs: Vec::new(),
            late_configs: None,
            findings: Vec::new(),
            hazards: Vec::new(),
            notes: Vec::new(),
            index: None,
            pipeline: None,
            companion: None,
        }
    }
}

/// The models that were meant; `local` are the files of this machine.
pub(super) fn locate(
    typed: &Typed<'_>,
    local: Arc<dyn Folder>,
    limits: &Limits,
) -> Result<Vec<Located>> {
    let budget = Budget::new(limits.clone());
    let search = Search { folder: local, budget: &budget };
    resolvers::resolve(typed, &search)?.ok_or_else(|| not_found::not_found(typed, &search))
}

/// The models at a path of a folder.
pub(super) fn locate_in(
    folder: Arc<dyn Folder>,
    path: &Path,
    limits: &Limits,
) -> Result<Vec<Located>> {
    let budget = Budget::new(limits.clone());
    let search = Search { folder, budget: &budget };
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    path::locate(path, &search)?.ok_or_else(|| not_found::not_in_folder(path, &search))
}

/// The one model among those found: the only one, or the only one that is not a companion.
pub(super) fn only(mut found: Vec<Located>, place: &Path) -> Result<Located> {
    let main = |model: &&Located| model.companion.is_none();
    if found.len() > 1 && found.iter().filter(main).count() == 1 {
        let beside: Vec<String> = found
            .iter()
            .filter_map(|model| {
                model.companion.map(|what| format!("{} ({what})", shown(&model.path)))
            })
            .collect();
        found.retain(|model| model.companion.is_none());
        let note = format!("not part of this model; open separately: {}", beside.join(", "));
        found.iter_mut().for_each(|model| model.notes.push(note.clone()));
    }
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (last, _) => {
            let names: Vec<String> = found.iter().chain(&last).map(|f| shown(&f.path)).collect();
            let message = format!("there are {} models here: {}", names.len(), names.join(", "));
            Err(Error::usage(message).in_file(place).hint("open one of them by name"))
        }
    }
}

/// What accompanies no model is one itself.
fn keep_a_model(models: &mut [Located]) {
    if models.iter().all(|model| model.companion.is_some()) {
        models.iter_mut().for_each(|model| model.companion = None);
    }
}

/// A path in a message.
fn shown(path: &Path) -> String {
    crate::text::escaped(&path.to_string_lossy()).into_owned()
}

/// The file's name alone, in a message.
pub(super) fn shown_name(path: &Path) -> String {
    shown(Path::new(path.file_name().unwrap_or(path.as_os_str())))
}

/// "a, b, c and 4 more".
pub(super) fn some_of<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let head: Vec<_> =
        names.iter().take(most).map(|n| crate::text::shortened(n.as_ref(), 120)).collect();
    match names.len().saturating_sub(most) {
        0 => head.join(", "),
        more => format!("{} and {more} more", head.join(", ")),
    }
}
