//! One directory, listed once.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::limits::Budget;

/// What lies in a directory, in the order of the names.
pub(super) struct Listing {
    pub(super) folder: PathBuf,
    pub(super) entries: Vec<Entry>,
}

/// One thing in it.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its name; characters that are not text are replaced.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// A link to something that is not there.
    Broken,
    Other,
}

impl Listing {
    pub(super) fn read(folder: &Path, budget: &Budget) -> Result<Self> {
        let failed = |e| Error::io(e, "cannot list").in_file(folder);
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            budget.items(1, "directory entries").map_err(|e| e.in_file(folder))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            let kind = kind_of(&path);
            entries.push(Entry { name, path, kind });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { folder: folder.to_owned(), entries })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.kind == Kind::File)
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.kind == Kind::Folder)
    }
}

fn kind_of(path: &Path) -> Kind {
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => Kind::File,
        Ok(about) if about.is_dir() => Kind::Folder,
        Ok(_) => Kind::Other,
        Err(_) => Kind::Broken,
    }
}

impl Entry {
    /// Its extension, in lower case.
    pub(super) fn extension(&self) -> String {
        extension(&self.name)
    }
}

/// The extension of a name, in lower case.
pub(super) fn extension(name: &str) -> String {
    name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase()).unwrap_or_default()
}
