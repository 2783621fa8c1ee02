//! What an output is, told by its name: a stream, a file, or a directory; and what stands against it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::{is_same_file, refuse_existing};

/// What this version can write.
const WRITES: &str =
    "give a name like out.safetensors for one file, or a name without an extension for a directory";

/// Where the output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Standard output.
    Stream,
    /// One file.
    File(PathBuf),
    /// A directory of its own.
    Folder(PathBuf),
}

impl Target {
    /// An error unless the output has a name that can be written.
    pub(super) fn of(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stream);
        }
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let no_name = || path.file_name().is_none_or(|name| name == ".safetensors");
        match extension.as_deref() {
            Some("safetensors") => Ok(Self::File(path.to_owned())),
            // Versions are no extensions: `Llama-3.1`.
            Some(other) if !is_extension(other) && !no_name() => Ok(Self::Folder(path.to_owned())),
            None if !no_name() => Ok(Self::Folder(path.to_owned())),
            Some(other) => Err(Error::unsupported(format!("the output cannot be a .{other} file"))
                .in_file(path)
                .hint(WRITES)),
            None => Err(Error::unsupported("the output needs a name").in_file(path).hint(WRITES)),
        }
    }

    /// The path of one of its files.
    pub(super) fn path_of(&self, name: &str) -> String {
        match self {
            Self::Stream => "-".to_owned(),
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Folder(path) => path.join(name).to_string_lossy().into_owned(),
        }
    }

    /// An error if it would be written over the model, into a place that is not there, or (without
    /// `force`) over something else.
    pub(super) fn check(&self, model: &Model, force: bool) -> Result<()> {
        let path = match self {
            Self::Stream => return Ok(()),
            Self::File(path) | Self::Folder(path) => path,
        };
        self.refuse_input(model)?;
        if matches!(self, Self::File(_)) && path.is_dir() {
            return Err(Error::usage("is a directory").in_file(path).hint(WRITES));
        }
        if matches!(self, Self::Folder(_)) && path.is_file() {
            return Err(Error::usage("is a file").in_file(path).hint(WRITES));
        }
        check_folder(path)?;
        refuse_cache(path)?;
        match force {
            true => Ok(()),
            false => refuse_existing(path),
        }
    }

    fn refuse_input(&self, model: &Model) -> Result<()> {
        let own = |path: &Path, problem: &str| {
            Err(Error::usage(problem).in_file(path).hint("choose another name for the output"))
        };
        let inputs = || model.sources().iter().map(|source| source.input().name());
        match self {
            Self::File(path) if inputs().any(|input| is_same_file(input, path)) => {
                own(path, "is a file of the model itself, and never written over")
            }
            Self::Folder(path) => {
                let holds = |folder: &Path| is_same_file(folder, path);
                match inputs().any(|input| input.ancestors().skip(1).any(holds)) {
                    true => own(path, "holds the model itself, and is never written over"),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// The cache of the Hugging Face hub belongs to its own tools.
fn refuse_cache(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let real = folder.unwrap_or(Path::new(".")).canonicalize().unwrap_or_default();
    let is_cache = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with("models--");
    match real.iter().any(is_cache) {
        false => Ok(()),
        true => Err(Error::usage("lies in a cache of Hugging Face, where nothing is written")
            .in_file(path)
            .hint("choose another place for the output")),
    }
}

/// Whether the end of a name says what a file is, and not which version.
fn is_extension(text: &str) -> bool {
    text.len() <= 11 && text.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// An error if the directory of the output is not there.
fn check_folder(target: &Path) -> Result<()> {
    let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    match folder.metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => Err(Error::io(e, "cannot create")
            .in_file(target)
            .hint(format!("the directory {} does not exist", folder.display()))),
        // Creating the file says what else may be wrong.
        _ => Ok(()),
    }
}
