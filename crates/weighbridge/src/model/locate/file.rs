//! A file given by name.

use std::path::Path;

use super::index::{self, Index};
use super::listing::{Listing, extension};
use super::shards::Shard;
use super::{Located, configs, directory, sets, shown_name, some_of};
use crate::error::{Error, Result};
use crate::limits::Budget;

/// The model that a file is, or stands for.
pub(super) fn locate(path: &Path, len: u64, budget: &Budget) -> Result<Vec<Located>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut model = Located::new(path.to_owned());
    let folder = folder_of(path);
    if index::is_index(&name, &["safetensors", "bin", "pt", "pth"]) {
        let set = Index::read(path, budget)?.into_set()?;
        if set.files.is_empty() {
            return Err(no_files(path, &set.missing));
        }
        configs::beside(folder, &mut model, budget)?;
        directory::adopt(set, &mut model);
        return Ok(vec![model]);
    }
    configs::beside_file(path, folder, &mut model, budget)?;
    if extension(&name) == "gguf"
        && Shard::parse(&name).is_some()
        && let Some(set) = sets::series_of(path, &Listing::read(folder, budget)?)
    {
        directory::adopt(set, &mut model);
        return Ok(vec![model]);
    }
    if let Some(shard) = Shard::parse(&name).filter(|shard| shard.total > 1) {
        model.notes.push(format!(
            "this is shard {} of {}, opened alone; open its folder {} for the whole model",
            shard.index,
            shard.total,
            super::shown(folder)
        ));
    }
    model.findings.extend(directory::unfinished(path, len));
    model.files.push(path.to_owned());
    Ok(vec![model])
}

/// The folder a file lies in; the current one has a name too.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn no_files(path: &Path, missing: &[String]) -> Error {
    let message = match missing.len() {
        0 => format!("{} names no files", shown_name(path)),
        count => {
            format!("none of the {count} files it names is beside it: {}", some_of(missing, 5))
        }
    };
    Error::malformed(message)
        .in_file(path)
        .hint("an index holds no weights; fetch the files it names")
}
