//! A directory of the file system.

use std::fs::{DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{EntryKind, FileAccess, Folder, FolderEntry, ReadAt, file};

/// A directory of the file system. Absolute paths and links lead out of it, as they do for every
/// program.
#[derive(Clone, Debug)]
pub struct LocalFolder {
    root: PathBuf,
    access: FileAccess,
}

impl LocalFolder {
    /// The directory at `root`, whose files are read in the given way. An empty root is the
    /// current directory.
    pub fn new(root: impl Into<PathBuf>, access: FileAccess) -> Self {
        Self { root: root.into(), access }
    }
}

impl Folder for LocalFolder {
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        let path = self.root.join(path);
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        std::fs::read_dir(path)?.map(|entry| entry.map(|entry| described(&entry))).collect()
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        file::open(&self.root.join(path), self.access)
    }
}

fn described(entry: &DirEntry) -> FolderEntry {
    // The entry's own metadata is that of a link, not of what it leads to.
    let kind = std::fs::metadata(entry.path()).map_or(EntryKind::BrokenLink, |it| kind_of(&it));
    FolderEntry { name: entry.file_name(), kind }
}

fn kind_of(metadata: &Metadata) -> EntryKind {
    match metadata.is_file() {
        true => EntryKind::File(metadata.len()),
        false if metadata.is_dir() => EntryKind::Folder,
        false => EntryKind::Other,
    }
}
