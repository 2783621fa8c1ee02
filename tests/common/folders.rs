//! Small directories made of sample files, and what opening them reports.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weighbridge::{Error, Model, OpenOptions, Stores};

pub fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/safetensors")
}

/// A directory of sample files: `(name in it, sample)`; other texts are written as they are.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        put(dir.path(), name, content);
    }
    dir
}

pub fn put(dir: &Path, name: &str, content: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match content.strip_prefix("sample:") {
        Some(sample) => drop(fs::copy(samples().join(sample), path).unwrap()),
        None => fs::write(path, content).unwrap(),
    }
}

pub const ONE: &str = "sample:shapes.safetensors";
pub const TWO: &str = "sample:metadata.safetensors";
pub const S1: &str = "sample:sharded/model-00001-of-00003.safetensors";
pub const S2: &str = "sample:sharded/model-00002-of-00003.safetensors";
pub const S3: &str = "sample:sharded/model-00003-of-00003.safetensors";
pub const INDEX: &str = "sample:sharded/model.safetensors.index.json";
pub const LFS: &str =
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 4976698672\n";

pub fn options() -> OpenOptions {
    OpenOptions::new().stores(Stores::none())
}

pub fn open(path: impl AsRef<Path>) -> Model {
    options().open(path).unwrap()
}

pub fn fails(path: impl AsRef<Path>) -> Error {
    options().open(path).expect_err("this must not open")
}

/// The names of a model's files.
pub fn files(model: &Model) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    model.sources().iter().map(|source| name(source.input().name())).collect()
}

pub fn kinds(model: &Model) -> Vec<&'static str> {
    model.findings().iter().map(|finding| finding.kind).collect()
}

/// The message and the hint of an error.
pub fn all(error: &Error) -> String {
    format!("{error}\nhint: {}", error.hint_text().unwrap_or("none"))
}

#[track_caller]
pub fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in:\n{text}");
    }
}
