//! The target of a conversion: a stream, a file or a directory, its format, and whether it may be
//! written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::containers::writing::Writer;
use crate::containers::{WRITERS, usual_writer, writer};
use crate::error::{Error, Remedy, Result};
use crate::input::EntryKind;
use crate::model::Model;
use crate::near::did_you_mean;
use crate::output::{refuse_existing, refuse_foreign};
use crate::sys::{self, SpecialFile, is_same_file};

use super::store_address::{StoreAddress, refuse_own_address};

/// A hint that lists the names an output can have.
fn writes() -> String {
    let endings: Vec<_> = WRITERS.iter().map(|writer| format!(".{}", writer.format())).collect();
    let (last, others) = endings.split_last().map_or(("", &[][..]), |(last, all)| (&**last, all));
    format!(
        "end the output name in {} or {last} for one file, or use no extension for a directory",
        others.join(", ")
    )
}

/// Where the output goes, and in which format.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) writer: &'static dyn Writer,
    /// Whether the format is asked for, or the name says it.
    pub(crate) is_stated: bool,
    /// Whether it is in an object store; the place is its address then.
    pub(crate) is_elsewhere: bool,
}

/// Where the output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Front to back, to standard output or whatever the caller has.
    Stream,
    /// One file.
    File(PathBuf),
    /// A directory of its own.
    Folder(PathBuf),
    /// A pipe or a device that is there already, front to back. It is never replaced.
    Special(PathBuf),
}

impl Target {
    /// The output of that name, in the format that is asked for by name, or else in the one that its
    /// name says. An error unless it can be written.
    pub(crate) fn of(path: &Path, to: Option<&str>) -> Result<Self> {
        let asked = to.map(by_name).transpose()?;
        if path.as_os_str() == "-" {
            return Ok(Self::at(Place::Stream, asked));
        }
        if let Some(address) = StoreAddress::of(path)? {
            return address.target(asked);
        }
        let extension =
            path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let no_name = |name: &String| WRITERS.iter().any(|w| *name == format!(".{}", w.format()));
        if name.as_ref().is_none_or(no_name) {
            return Err(Error::unsupported("the output needs a name").in_file(path).hint(writes()));
        }
        // Versions are no extensions: `Llama-3.1`.
        let extension = extension.filter(|extension| is_extension(extension));
        let stated = asked.or_else(|| writer(extension.as_deref()?));
        match extension {
            _ if special_file(path).is_some() => {
                Ok(Self::at(Place::Special(path.to_owned()), stated))
            }
            None => Ok(Self::at(Place::Folder(path.to_owned()), stated)),
            Some(_) if stated.is_some() => Ok(Self::at(Place::File(path.to_owned()), stated)),
            Some(extension) => Err(unknown_extension(&extension).in_file(path)),
        }
    }

    /// A place of this machine, in a stated format.
    pub(super) fn at(place: Place, stated: Option<&'static dyn Writer>) -> Self {
        let writer = stated.unwrap_or(usual_writer());
        Self { place, writer, is_stated: stated.is_some(), is_elsewhere: false }
    }

    /// In this format where no other is stated and it can be written.
    pub(crate) fn or_in(&self, format: &str) -> Self {
        let usual = writer(format).filter(|_| !self.is_stated);
        Self { writer: usual.unwrap_or(self.writer), ..self.clone() }
    }

    /// Whether it is a directory.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(self.place, Place::Folder(_))
    }

    /// The path of one of its files.
    pub(crate) fn path_of(&self, name: &str) -> String {
        match &self.place {
            Place::Stream => "-".to_owned(),
            Place::Special(path) => path.to_string_lossy().into_owned(),
            // A part is beside the file that it is a part of.
            Place::File(path) if path.file_name().is_none_or(|own| own == name) => {
                path.to_string_lossy().into_owned()
            }
            Place::File(path) => path.with_file_name(name).to_string_lossy().into_owned(),
            Place::Folder(path) if self.is_elsewhere => format!("{}/{name}", path.display()),
            Place::Folder(path) => path.join(name).to_string_lossy().into_owned(),
        }
    }

    /// Whether it is written front to back, and cannot be read again.
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self.place, Place::Stream | Place::Special(_))
    }

    /// Whether its files are written front to back.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.is_streamed() || (self.is_elsewhere && self.writer.states_sums())
    }

    /// What the parts of a file are called: as it is. What the files of a directory are called: as
    /// those of the model, if it is a directory of the same format.
    pub(crate) fn stem(&self, model: &Model) -> String {
        if let Place::File(path) = &self.place
            && let Some(own) = stem_of(path)
        {
            return own;
        }
        let is_folder = matches!(model.folder().kind(model.path()), Ok(EntryKind::Folder));
        let same = is_folder && model.format() == self.writer.format();
        let first = model.sources().first().filter(|_| same);
        let own = first.and_then(|source| stem_of(source.input().name()));
        own.unwrap_or_else(|| {
            let folder = match &self.place {
                Place::Folder(path) => path.file_name().unwrap_or_default().to_string_lossy(),
                _ => "model".into(),
            };
            self.writer.stem(&folder)
        })
    }

    /// An error if it would be written over the model, into a place that is not there, or (without
    /// `force`) over something else.
    pub(crate) fn check(&self, model: &Model, force: bool) -> Result<()> {
        let path = match &self.place {
            Place::Stream => return Ok(()),
            Place::Special(path) => return refuse_unwritable(path),
            Place::File(path) | Place::Folder(path) => path,
        };
        if self.is_elsewhere {
            // What else is there is seen when the work begins.
            return refuse_own_address(path, model);
        }
        self.refuse_input(model)?;
        if !self.is_folder() && path.is_dir() {
            return Err(Error::usage("is a directory").in_file(path).hint(writes()));
        }
        if self.is_folder() && path.is_file() {
            return Err(Error::usage("is a file").in_file(path).hint(writes()));
        }
        check_folder(path)?;
        refuse_cache(path)?;
        if let Some(folder) = folder_of(model) {
            self.refuse_inside(&folder)?;
        }
        match force {
            true if self.is_folder() => refuse_foreign(path),
            true => Ok(()),
            false => refuse_existing(path),
        }
    }

    fn refuse_input(&self, model: &Model) -> Result<()> {
        let own = |path: &Path, problem: &str| {
            Err(Error::usage(problem).in_file(path).hint("choose another output name"))
        };
        let inputs = || model.sources().iter().map(|source| source.input().name());
        let is_config = |path: &Path, input: &Path| {
            let configs = model.configs().iter();
            let mut configs = configs.map(|config| input.with_file_name(&config.name));
            configs.any(|config| is_same_file(&config, path))
        };
        match &self.place {
            Place::File(path)
                if inputs().any(|input| is_same_file(input, path) || is_config(path, input)) =>
            {
                own(path, "is a file of the model itself and is never overwritten")
            }
            Place::Folder(path) => {
                let holds = |folder: &Path| is_same_file(folder, path);
                if inputs().any(|input| input.ancestors().skip(1).any(holds)) {
                    own(path, "holds the model itself and is never overwritten")
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }

    /// An error if it would replace a file or directory that the run reads.
    pub(crate) fn refuse_replacing(&self, what: &str, input: &Path) -> Result<()> {
        let Ok(input) = input.canonicalize() else { return Ok(()) };
        let refused = |path: &Path, problem: String| {
            Err(Error::usage(problem).in_file(path).remedy(Remedy::AnotherTarget))
        };
        match &self.place {
            _ if self.is_elsewhere => Ok(()),
            Place::File(path) if is_same_file(&input, path) => {
                refused(path, format!("is {what} of this run and is never overwritten"))
            }
            Place::File(path) if path.exists() && input.is_dir() && real_folder(path) == input => {
                refused(path, format!("is a file of {what} of this run and is never overwritten"))
            }
            Place::Folder(path) if input.ancestors().any(|holds| is_same_file(holds, path)) => {
                refused(path, format!("holds {what} of this run and is never overwritten"))
            }
            _ => Ok(()),
        }
    }

    /// An error if it would become a part of the directory that a model was opened from, or would
    /// replace a file there that is no other model.
    pub(crate) fn refuse_inside(&self, folder: &Path) -> Result<()> {
        let Ok(source) = folder.canonicalize() else { return Ok(()) };
        let refused = |path: &Path, problem: &str| {
            Err(Error::usage(problem).in_file(path).remedy(Remedy::AnotherTarget))
        };
        match &self.place {
            Place::Folder(path) if real_folder(path).starts_with(&source) => {
                refused(path, "would be inside the model's directory")
            }
            Place::File(path) if path.exists() && real_folder(path).starts_with(&source) => {
                let is_weights = path.extension().is_some_and(|extension| {
                    writer(&extension.to_string_lossy().to_lowercase()).is_some()
                });
                if is_weights {
                    Ok(())
                } else {
                    refused(path, "is a file of the model itself and is never overwritten")
                }
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn unknown_extension(extension: &str) -> Error {
    Error::unsupported(format!("the output cannot be a .{extension} file")).hint(writes())
}

/// The directory that a model was opened from, by its own name or by that of its index.
fn folder_of(model: &Model) -> Option<PathBuf> {
    let path = model.folder().local_path(model.path())?;
    let is_index = path.to_string_lossy().ends_with(".index.json");
    if path.is_dir() { Some(path) } else { is_index.then(|| containing(&path).to_owned()) }
}

/// Where a file or directory of this path lies.
fn containing(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The path with all links followed.
fn real_folder(path: &Path) -> PathBuf {
    containing(path).canonicalize().unwrap_or_default()
}

/// The kind of an existing pipe, device or socket.
fn special_file(path: &Path) -> Option<SpecialFile> {
    path.metadata().ok().and_then(|about| sys::special_file(&about))
}

/// An error for special files that no model can be written to.
fn refuse_unwritable(path: &Path) -> Result<()> {
    let problem = match special_file(path) {
        Some(SpecialFile::Socket) => "is a socket and cannot be written to",
        Some(SpecialFile::BlockDevice) => "is a disk or partition and is never overwritten",
        _ => return Ok(()),
    };
    Err(Error::usage(problem).in_file(path).remedy(Remedy::AnotherTarget))
}

fn by_name(name: &str) -> Result<&'static dyn Writer> {
    writer(name).ok_or_else(|| {
        let names = || WRITERS.iter().map(|writer| writer.format());
        let all = || format!("supported: {}", names().collect::<Vec<_>>().join(", "));
        Error::usage(format!("{name} is not a supported output format"))
            .hint(did_you_mean(name, names()).unwrap_or_else(all))
    })
}

/// `model` of `model-00001-of-00002.safetensors` and of `model.safetensors`.
pub(crate) fn stem_of(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let shard = stem.rsplit_once("-of-").filter(|(_, count)| numbers(count));
    let base = shard.and_then(|(front, _)| front.rsplit_once('-')).filter(|(_, n)| numbers(n));
    Some(base.map_or(stem, |(base, _)| base).to_owned())
}

/// The cache of the Hugging Face hub belongs to its own tools.
fn refuse_cache(path: &Path) -> Result<()> {
    let real = real_folder(path);
    let is_cache = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with("models--");
    let refused = || {
        let error = Error::usage("is in a Hugging Face cache, which is never written to");
        error.in_file(path).hint("choose another output directory")
    };
    real.iter().any(is_cache).then(refused).map_or(Ok(()), Err)
}

/// Whether the end of a name says what a file is, and not which version.
pub(super) fn is_extension(text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_it_is() {
        let of = |name: &str, to| Target::of(Path::new(name), to);
        let format = |name: &str, to| of(name, to).map(|of| of.or_in("gguf").writer.format());
        assert_eq!(format("a/out.NPZ", None).unwrap(), "npz");
        assert_eq!(format("Llama-3.1", None).unwrap(), "gguf");
        assert_eq!(format("out.bin", Some("safetensors")).unwrap(), "safetensors");
        assert_eq!(format("-", Some("npy")).unwrap(), "npy");
        for (name, to) in [("out.bin", None), (".gguf", None), ("out", Some("onnx")), ("..", None)]
        {
            assert!(of(name, to).is_err(), "{name}");
        }
        assert_eq!(stem_of(Path::new("x/a-00001-of-00002.safetensors")).as_deref(), Some("a"));
        assert_eq!(stem_of(Path::new("x/a-of-b.safetensors")).as_deref(), Some("a-of-b"));
    }
}
