//! Outputs in object stores: what their addresses mean.

use std::path::{Path, PathBuf};

use super::target::{Place, Target, is_extension, unknown_extension};
use crate::containers::writer;
use crate::containers::writing::Writer;
use crate::error::{Error, Remedy, Result};
use crate::model::{self, Model, Writing, as_address, starts_of};

/// An address in an object store.
pub(super) struct StoreAddress {
    /// Without a slash at its end.
    path: PathBuf,
    /// Whether it ended with a slash, or names a whole bucket.
    is_folder: bool,
}

impl StoreAddress {
    /// The address, if it is one. An error for one where nothing can be written.
    pub(super) fn of(path: &Path) -> Result<Option<Self>> {
        let Some(text) = as_address(&path.to_string_lossy()) else { return Ok(None) };
        let is_written = |place: &model::Place| !matches!(place.writing, Writing::Never);
        match model::Place::of(&text).map(|place| &place.writing) {
            // Nobody has folders with such names; if somebody does, that is meant.
            None if path.parent().is_some_and(Path::is_dir) => return Ok(None),
            None => {
                let known = starts_of(is_written, "and");
                return Err(Error::usage("unsupported kind of output address")
                    .in_file(path)
                    .hint(format!("supported: {known}; a local path has no `://`")));
            }
            Some(Writing::Never) => {
                let known = starts_of(is_written, "or");
                return Err(Error::unsupported("models can be read from there but not written")
                    .in_file(path)
                    .hint(format!(
                        "write to a local path or an address that begins with {known}"
                    )));
            }
            Some(Writing::Far(None)) => {
                return Err(Error::unsupported("this build writes local files only")
                    .in_file(path)
                    .hint("enable the library's `remote` feature"));
            }
            Some(Writing::Far(Some(_))) => {}
        }
        let plain = text.trim_end_matches('/');
        let is_bucket = !plain.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        let is_folder = is_bucket || text.ends_with('/');
        Ok(Some(Self { path: PathBuf::from(plain), is_folder }))
    }

    /// What is written there: one object, if the name ends as a file's does.
    pub(super) fn target(self, asked: Option<&'static dyn Writer>) -> Result<Target> {
        let extension = self.path.extension().filter(|_| !self.is_folder);
        let extension = extension.map(|text| text.to_string_lossy().to_lowercase());
        let there = |place, writer| Target { is_elsewhere: true, ..Target::at(place, writer) };
        match extension.filter(|extension| is_extension(extension)) {
            None => Ok(there(Place::Folder(self.path), asked)),
            Some(extension) => match asked.or_else(|| writer(&extension)) {
                None => Err(unknown_extension(&extension).in_file(&self.path)),
                stated => Ok(there(Place::File(self.path), stated)),
            },
        }
    }
}

/// An error if an output would be written over the model, or among its files.
pub(super) fn refuse_own_address(output: &Path, model: &Model) -> Result<()> {
    let mut inputs = model.sources().iter().map(|source| source.input().name());
    if inputs.any(|input| input.starts_with(output)) || output.starts_with(model.path()) {
        Err(Error::usage("holds the model itself and is never overwritten")
            .in_file(output)
            .remedy(Remedy::AnotherTarget))
    } else {
        Ok(())
    }
}

#[cfg(all(test, feature = "remote"))]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        Target::of(Path::new(text), None).unwrap().place
    }

    #[test]
    fn a_slash_is_a_prefix_and_an_extension_an_object() {
        let folder = |text: &str| Place::Folder(text.into());
        assert_eq!(place("s3://b/Qwen3-8B"), folder("s3://b/Qwen3-8B"));
        assert_eq!(place("s3://b/v1.gguf/"), folder("s3://b/v1.gguf"));
        assert_eq!(place("gs://b"), folder("gs://b"));
        assert_eq!(place("gs://my.bucket"), folder("gs://my.bucket"));
        assert_eq!(place("az://c/x/m.gguf"), Place::File("az://c/x/m.gguf".into()));
        assert_eq!(place("S3://b/X/"), folder("s3://b/X"));
        for refused in ["s3://b/x.onnx", "hf://a/b", "https://x/y.gguf", "HF://a/b", "ftp://x/y"] {
            assert!(Target::of(Path::new(refused), None).is_err(), "{refused}");
        }
    }
}
