//! One directory, listed once.

use std::path::{Path, PathBuf};

use super::search::Search;
use crate::containers;
use crate::error::Result;
use crate::input::{EntryKind, error_of};

/// What lies in a directory, in the order of the names.
pub(super) struct Listing<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) folder: PathBuf,
    pub(super) entries: Vec<Entry>,
}

/// One thing in it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its name; characters that are not text are replaced.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) kind: EntryKind,
}

impl<'a> Listing<'a> {
    pub(super) fn read(folder: &Path, search: &'a Search<'a>) -> Result<Self> {
        let listed =
            search.folder.list(folder).map_err(|e| error_of(e, "cannot list").in_file(folder))?;
        let count = listed.len() as u64;
        search.budget.items(count, "directory entries").map_err(|e| e.in_file(folder))?;
        let entry = |entry: crate::input::FolderEntry| Entry {
            name: entry.name.to_string_lossy().into_owned(),
            path: folder.join(&entry.name),
            kind: entry.kind,
        };
        let mut entries: Vec<Entry> = listed.into_iter().map(entry).collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { search, folder: folder.to_owned(), entries })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_file())
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.kind == EntryKind::Folder)
    }
}

impl Entry {
    pub(super) fn is_file(&self) -> bool {
        matches!(self.kind, EntryKind::File(_))
    }

    /// Whether it is a file, or a link that should lead to one.
    pub(super) fn is_file_or_broken(&self) -> bool {
        self.is_file() || self.kind == EntryKind::BrokenLink
    }

    /// Its extension, in lower case.
    pub(super) fn extension(&self) -> String {
        extension(&self.name)
    }

    /// Whether files with its extension are weights.
    pub(super) fn is_named_as_weights(&self) -> bool {
        containers::by_extension(&self.extension()).is_some_and(|(_, known)| known.listed)
    }
}

/// The extension of a name, in lower case.
pub(super) fn extension(name: &str) -> String {
    name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase()).unwrap_or_default()
}

/// A name without its extension.
pub(super) fn stem_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
