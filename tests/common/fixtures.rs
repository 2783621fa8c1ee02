//! Directories whose weights a canonical library has decoded: `expected.safetensors` lies beside
//! the model, and must not be taken for one of its files.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tempfile::TempDir;

use super::{name_of, root};

/// Files of a fixture that do not belong to the model.
const OURS: [&str; 3] = ["expected.safetensors", "expected-f32.safetensors", "findings.json"];

/// A directory with `expected.safetensors`.
pub struct Fixture {
    pub path: PathBuf,
    /// Its path below `tests/files`, with slashes.
    pub name: String,
}

/// Every fixture.
pub fn fixtures() -> Vec<Fixture> {
    let folder = root().join("tests/files");
    let mut paths = Vec::new();
    collect(&folder, &mut paths);
    paths.sort();
    paths.into_iter().map(|path| Fixture { name: name_of(&path), path }).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.file_name().is_some_and(|name| name == OURS[0]) {
            found.push(folder.to_owned());
        }
    }
}

impl Fixture {
    /// A copy of the model without the expectations.
    pub fn model(&self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&self.path).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            if !OURS.contains(&name.as_str()) && entry.path().is_file() {
                std::fs::copy(entry.path(), copy.path().join(name)).unwrap();
            }
        }
        copy
    }

    /// One of its expectations.
    pub fn document(&self, name: &str) -> Option<Json> {
        let bytes = std::fs::read(self.path.join(name)).ok()?;
        Some(
            serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{}: {name}: {e}", self.name)),
        )
    }
}
