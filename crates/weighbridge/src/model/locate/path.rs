//! What was typed, taken as a path. A path that exists always wins.

use std::io::ErrorKind;
use std::path::Path;

use super::file::folder_of;
use super::resolvers::{Resolver, Typed};
use super::search::Search;
use super::{Located, directory, file, shown};
use crate::error::Result;
use crate::input::{EntryKind, error_of};
use crate::near::closest;

/// A file, an index or a directory.
pub(super) struct AnyPath;

/// What is looked for at a path.
pub(super) const LOOKED_FOR: &str = "no such file or directory";

impl Resolver for AnyPath {
    fn resolve(&self, typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
        locate(typed.path, search)
    }

    fn looked_for(&self, _typed: &Typed<'_>) -> Option<String> {
        Some(LOOKED_FOR.to_owned())
    }

    fn close_names(&self, typed: &Typed<'_>, search: &Search<'_>) -> Vec<String> {
        close_names(typed.path, search)
    }

    fn advice(&self, typed: &Typed<'_>, search: &Search<'_>) -> Option<String> {
        missing_folder(typed.path, search)
    }
}

/// The models at a path of a folder; `None` if nothing is there.
pub(super) fn locate(path: &Path, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
    // Opening comes first: for a single file no other system call is needed.
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
        // What went wrong is known, and is not that there is nothing.
        Err(error) if is_explained(&error) => {
            return Err(error_of(error, "cannot open").in_file(path));
        }
        Err(error) => error,
    };
    match search.folder.kind(path) {
        Ok(EntryKind::Folder) => directory::locate(path, search).map(Some),
        Err(missing) if missing.kind() != ErrorKind::PermissionDenied => Ok(None),
        _ => Err(error_of(error, "cannot open").in_file(path)),
    }
}

/// Whether an error carries one of this library, which says more than its kind.
fn is_explained(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<crate::Error>());
    inner.is_some() && error.kind() != ErrorKind::NotFound
}

/// Paths of what lies in the same folder under a similar name.
pub(super) fn close_names(path: &Path, search: &Search<'_>) -> Vec<String> {
    let Some(wanted) = path.file_name() else { return Vec::new() };
    let names = search.names_in(folder_of(path));
    let close = closest(&wanted.to_string_lossy(), names.iter().map(String::as_str));
    close.iter().map(|name| shown(&path.with_file_name(name))).collect()
}

/// Which folder on the way is not there.
pub(super) fn missing_folder(path: &Path, search: &Search<'_>) -> Option<String> {
    path.file_name()?;
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !search.is_folder(folder);
    let missing = folder_of(path).ancestors().take_while(is_missing).last()?;
    Some(format!("the directory {} does not exist", shown(missing)))
}
