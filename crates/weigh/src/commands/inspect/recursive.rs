//! `--recursive`: finds the models and weight files of a directory tree.
//!
//! A directory that opens as a model is one; otherwise its files are tried one by one. Files whose
//! extension promises no weights are recognised by content, since a pickle may have any name.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use weighbridge::internals::containers;
use weighbridge::{Error, ErrorKind, Model, OpenOptions};

/// What a tree holds.
pub(super) enum Found<'a> {
    Model(&'a Model),
    Unreadable(&'a Path, &'a Error),
}

/// Passes on what was found.
type Take<'a> = &'a mut dyn FnMut(Found<'_>) -> io::Result<()>;

/// Objects of a version control system: weights in it are copies of those beside it.
const SKIPPED: &str = ".git";

/// Finds everything below a directory, in the order of the names. Returns the number of files.
pub(super) fn walk(opener: &OpenOptions, root: &Path, take: Take<'_>) -> io::Result<u64> {
    let mut walk = Walk { opener, take, seen: HashSet::new(), files: 0 };
    walk.directory(root)?;
    Ok(walk.files)
}

struct Walk<'a> {
    opener: &'a OpenOptions,
    take: Take<'a>,
    /// Directories that were entered and files of models, without links.
    seen: HashSet<PathBuf>,
    files: u64,
}

impl Walk<'_> {
    fn directory(&mut self, root: &Path) -> io::Result<()> {
        // A tree may be deeper than the call stack.
        let mut left = vec![root.to_owned()];
        while let Some(folder) = left.pop() {
            if !self.seen.insert(real(&folder)) {
                continue;
            }
            let Entries { files, mut folders, unknown } = match entries(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    let error = Error::io(error, "cannot list").in_file(&folder);
                    (self.take)(Found::Unreadable(&folder, &error))?;
                    continue;
                }
            };
            self.files += (files.len() + unknown.len()) as u64;
            self.contents(&folder, &files)?;
            for (path, error) in unknown {
                let error = Error::io(error, "cannot open").in_file(&path);
                (self.take)(Found::Unreadable(&path, &error))?;
            }
            folders.reverse();
            left.append(&mut folders);
        }
        Ok(())
    }

    /// The models of one directory.
    fn contents(&mut self, folder: &Path, files: &[PathBuf]) -> io::Result<()> {
        let around = match self.opener.open_all(folder) {
            Ok(models) => {
                for model in &models {
                    self.claim(folder, model);
                    (self.take)(Found::Model(model))?;
                }
                Around::Model
            }
            // The library's word for a directory without weights.
            Err(error) if error.kind() == ErrorKind::Usage => Around::Nothing,
            Err(_) => Around::Damage,
        };
        for file in files {
            if !self.seen.contains(&real(file)) {
                self.file(file, around)?;
            }
        }
        Ok(())
    }

    /// Notes the files of a model, and the directories of a pipeline's components.
    fn claim(&mut self, folder: &Path, model: &Model) {
        for source in model.sources() {
            let path = source.input().name();
            self.seen.insert(real(path));
            if let Some(inside) = path.parent().filter(|inside| *inside != folder)
                && self.seen.insert(real(inside))
                && let Ok(found) = entries(inside)
            {
                self.files += found.files.len() as u64;
            }
        }
    }

    /// A file that belongs to no model of its directory.
    fn file(&mut self, path: &Path, around: Around) -> io::Result<()> {
        let promise = promise(path);
        let opened = match (promise, around) {
            (Promise::Weights, _) | (Promise::Perhaps, Around::Damage) => {
                self.opener.open_all(path)
            }
            // Opening the model has searched the programs beside it.
            (_, Around::Model) => return Ok(()),
            _ => by_content(self.opener, path).map(|model| vec![model]),
        };
        match opened {
            Ok(models) => {
                for model in &models {
                    model.sources().iter().for_each(|source| {
                        self.seen.insert(real(source.input().name()));
                    });
                    if around != Around::Model || !is_program(model) {
                        (self.take)(Found::Model(model))?;
                    }
                }
                Ok(())
            }
            // Neither its name nor its content is that of weights.
            Err(error) if promise == Promise::None && error.kind() != ErrorKind::Io => Ok(()),
            Err(_) if promise == Promise::Perhaps && around == Around::Nothing => Ok(()),
            Err(error) => (self.take)(Found::Unreadable(path, &error)),
        }
    }
}

/// What the directory of a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Model,
    /// It has weights that cannot be opened.
    Damage,
    Nothing,
}

/// What the extension of a file says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    Weights,
    /// Weights, or a file of another program.
    Perhaps,
    None,
}

fn promise(path: &Path) -> Promise {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.and_then(containers::by_extension) {
        Some((_, known)) if known.listed && !known.shared => Promise::Weights,
        Some((_, known)) if known.listed => Promise::Perhaps,
        _ => Promise::None,
    }
}

/// Whether loading a model with its own library would run code.
fn is_program(model: &Model) -> bool {
    model.sources().iter().any(|source| source.catalog().would_run.is_some())
}

/// Opens a file for what it is, whatever its name and the files beside it.
fn by_content(opener: &OpenOptions, path: &Path) -> Result<Model, Error> {
    let file = File::open(path).map_err(|error| Error::io(error, "cannot open").in_file(path))?;
    opener.open_reader(file, &path.to_string_lossy())
}

/// What is in a directory, sorted by name.
#[derive(Default)]
struct Entries {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// What cannot be asked what it is, such as a path that is too long.
    unknown: Vec<(PathBuf, io::Error)>,
}

/// Lists a directory. Links to files are followed; a link to a directory may lead anywhere, and is
/// not.
fn entries(folder: &Path) -> io::Result<Entries> {
    let mut all = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?;
    all.retain(|path| path.file_name().is_some_and(|name| name != SKIPPED));
    all.sort();
    let mut entries = Entries::default();
    for path in all {
        match std::fs::metadata(&path) {
            Ok(about) if about.is_dir() && path.is_symlink() => {}
            Ok(about) if about.is_dir() => entries.folders.push(path),
            Ok(about) if about.is_file() => entries.files.push(path),
            // A pipe would be waited for.
            Ok(_) => {}
            Err(_) if path.is_symlink() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => entries.unknown.push((path, error)),
        }
    }
    Ok(entries)
}

/// A path without links.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
