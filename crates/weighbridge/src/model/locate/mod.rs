//! From what the user typed to the files that make up a model.
//!
//! What was typed is taken, in this order, as
//!
//! 1. a path: a file, an index or a directory. A path that exists always wins;
//! 2. `ollama:[host/][namespace/]name[:tag]`, a model of the local Ollama store;
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
//! The first line that matches wins. What that leaves aside is said in a note; files that
//! are equally good are several models. Nothing here knows a format from the inside: names,
//! listings and the first bytes of files decide.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::catalog::Finding;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::limits::{Budget, Limits};
use crate::sys::open_without_waiting;

mod configs;
pub(super) use configs::beside_late;
mod crosscheck;
mod directory;
mod file;
mod hub;
mod index;
mod listing;
mod nearby;
mod nothing;
mod ollama;
mod pipeline;
mod sets;
mod shards;
mod signatures;
mod stores;
mod strangers;
#[cfg(test)]
mod tests;

pub(super) use crosscheck::cross_check;
pub(super) use index::Index;
pub use stores::Stores;
pub(super) use strangers::{certain_stranger, name_stranger};

/// The files of one model.
#[derive(Debug, Default)]
pub(super) struct Located {
    pub(super) path: PathBuf,
    pub(super) files: Vec<PathBuf>,
    /// The only file, where it had to be opened to find out what it is.
    pub(super) opened: Option<(File, Metadata)>,
    pub(super) configs: Vec<Config>,
    /// The folder whose configs are read once it is known that a tensor could need them.
    pub(super) late_configs: Option<PathBuf>,
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<String>,
    /// Which file holds which tensor, where an index says so.
    pub(super) index: Option<Index>,
    /// What this is to the model beside it (a projector, a draft model): it is opened with the
    /// others, and does not stand in the way of opening the one model it belongs to.
    pub(super) companion: Option<&'static str>,
}

impl Located {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }
}

/// The models at a place. Without `stores`, the environment says where they are.
pub(super) fn locate(
    typed: &Path,
    stores: Option<&Stores>,
    limits: &Limits,
) -> Result<Vec<Located>> {
    let budget = Budget::new(limits.clone());
    // Opened first and asked then: for a lone file that is all it takes.
    if let Ok(file) = open_without_waiting(typed)
        && let Ok(about) = file.metadata()
        && !about.is_dir()
    {
        let mut models = file::locate(typed, about.len(), &budget)?;
        if let [model] = &mut models[..]
            && model.files == [typed]
        {
            model.opened = Some((file, about));
        }
        return Ok(models);
    }
    match std::fs::metadata(typed) {
        Ok(about) if about.is_dir() => directory::locate(typed, &budget),
        Ok(about) => file::locate(typed, about.len(), &budget),
        Err(error) if std::fs::symlink_metadata(typed).is_ok() => Err(broken(typed, error)),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Error::io(error, "cannot open").in_file(typed))
        }
        Err(_) => match stores {
            Some(stores) => in_stores(typed, stores, &budget),
            None => in_stores(typed, &Stores::from_env(), &budget),
        },
    }
}

/// What is no path may be a name that a store knows.
fn in_stores(typed: &Path, stores: &Stores, budget: &Budget) -> Result<Vec<Located>> {
    if let Some(name) = typed.to_str().and_then(|text| text.strip_prefix("ollama:")) {
        return ollama::locate(name, stores, budget);
    }
    let Some(found) = hub::find(typed, stores)? else {
        return Err(nothing::not_found(typed, stores));
    };
    let models = match std::fs::metadata(&found.path) {
        Ok(about) if about.is_dir() => directory::locate(&found.path, budget),
        Ok(about) => file::locate(&found.path, about.len(), budget),
        Err(error) => Err(broken(&found.path, error)),
    };
    let mut models = models.map_err(|e| found.explain(e))?;
    models.iter_mut().for_each(|model| model.notes.insert(0, found.note()));
    Ok(models)
}

/// A link to nowhere deserves more than "no such file".
fn broken(path: &Path, error: std::io::Error) -> Error {
    match std::fs::read_link(path) {
        Ok(target) => {
            Error::io(error, &format!("it is a link to {}, which cannot be opened", shown(&target)))
                .in_file(path)
                .hint("the file it stands for was moved or deleted; fetch it again")
        }
        Err(_) => Error::io(error, "cannot open").in_file(path),
    }
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
        let note = format!("not part of this model, open it on its own: {}", beside.join(", "));
        found.iter_mut().for_each(|model| model.notes.push(note.clone()));
    }
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (last, _) => {
            let names: Vec<String> = found.iter().chain(&last).map(|f| shown(&f.path)).collect();
            let message = format!("this holds {} models: {}", names.len(), names.join(", "));
            Err(Error::usage(message).in_file(place).hint("name one of them"))
        }
    }
}

/// A path in a message.
fn shown(path: &Path) -> String {
    crate::text::escaped(&path.to_string_lossy()).into_owned()
}

/// The file's name alone, in a message.
fn shown_name(path: &Path) -> String {
    shown(Path::new(path.file_name().unwrap_or(path.as_os_str())))
}

/// "a, b, c and 4 more".
fn some_of<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let head: Vec<_> =
        names.iter().take(most).map(|n| crate::text::shortened(n.as_ref(), 120)).collect();
    match names.len().saturating_sub(most) {
        0 => head.join(", "),
        more => format!("{} and {more} more", head.join(", ")),
    }
}
