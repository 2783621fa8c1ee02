//! What was typed, taken as a path. A path that exists always wins.

use std::io::ErrorKind;
use std::path::Path;

use super::resolvers::Typed;
use super::search::Search;
use super::{Located, directory, file};
use crate::error::Result;
use crate::input::{EntryKind, error_of};

/// The models at the path; `None` if nothing is there.
pub(super) fn resolve(typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
    locate(typed.path, search)
}

/// The models at a path of a folder; `None` if nothing is there.
pub(super) fn locate(path: &Path, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
    // Opened first and asked then: for a lone file that is all it takes.
    let error = match search.folder.open(path) {
        Ok(source) => {
            let mut models = file::locate(path, source.len().unwrap_or(0), search)?;
            if let [model] = &mut models[..]
                && model.files == [path]
            {
                model.opened = Some(source);
            }
            return Ok(Some(models));
        }
        Err(error) if error.kind() == ErrorKind::IsADirectory => {
            return directory::locate(path, search).map(Some);
        }
        Err(error) => error,
    };
    match search.folder.kind(path) {
        Ok(EntryKind::Folder) => directory::locate(path, search).map(Some),
        Err(missing) if missing.kind() != ErrorKind::PermissionDenied => Ok(None),
        _ => Err(error_of(error, "cannot open").in_file(path)),
    }
}
