//! From what the user typed to the files that make up a model.

use std::path::{Path, PathBuf};

use crate::catalog::Finding;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::schemes::Config;

/// The files of one model.
#[derive(Debug, Default)]
pub(super) struct Located {
    pub(super) path: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) configs: Vec<Config>,
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<String>,
}

impl Located {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, ..Self::default() }
    }
}

/// The models at a place.
pub(super) fn locate(path: &Path) -> Result<Vec<Located>> {
    let mut one = Located::new(path.to_owned());
    if path.is_dir() {
        let entries =
            std::fs::read_dir(path).map_err(|e| Error::io(e, "cannot list").in_file(path))?;
        for entry in entries.flatten() {
            let file = entry.path();
            match file.extension().and_then(|e| e.to_str()) {
                Some("safetensors") => one.files.push(file),
                Some("json") => read_config(&file, &mut one),
                _ => {}
            }
        }
        one.files.sort();
    } else {
        one.files.push(path.to_owned());
        for name in ["config.json", "quantize_config.json"] {
            read_config(&path.with_file_name(name), &mut one);
        }
    }
    Ok(vec![one])
}

fn read_config(path: &Path, located: &mut Located) {
    let Ok(text) = std::fs::read(path) else {
        return;
    };
    if let Ok(json) = serde_json::from_slice(&text) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        located.configs.push(Config { name, json });
    }
}

/// Names what is not a model for what it is.
pub(super) fn name_stranger(_input: &Input) -> Error {
    Error::unsupported("no known weight format")
}
