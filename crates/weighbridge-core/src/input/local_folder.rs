//! A directory of the file system.

use std::fs::{DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{EntryKind, FileAccess, Folder, FolderEntry, ReadAt, file};
use crate::error::Error;
use crate::text::escaped;

/// A directory of the file system. Absolute paths and links may lead outside it, as usual.
#[derive(Clone, Debug)]
pub struct LocalFolder {
    root: PathBuf,
    access: FileAccess,
}

impl LocalFolder {
    /// Creates a folder for the directory at `root`, with the given file access. An empty root is
    /// the current directory.
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

    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let path = self.root.join(path);
        // One call for what is missing, and for all but links.
        let own = std::fs::symlink_metadata(&path)?;
        if own.is_symlink() { Ok(kind_of_target(&path)) } else { Ok(kind_of(&own)) }
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let path = self.root.join(path);
        file::open(&path, self.access).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => explain_link(&path, error),
            _ => error,
        })
    }

    fn link_target(&self, path: &Path) -> Option<PathBuf> {
        let path = self.root.join(path);
        let is_link = std::fs::symlink_metadata(&path).is_ok_and(|own| own.is_symlink());
        is_link.then(|| path.canonicalize().ok()).flatten()
    }

    fn local_path(&self, path: &Path) -> Option<PathBuf> {
        Some(self.root.join(path))
    }
}

/// Names the target of a broken link, because "no such file" is confusing for a link that exists.
fn explain_link(path: &Path, error: io::Error) -> io::Error {
    let Ok(target) = std::fs::read_link(path) else { return error };
    let target = escaped(&target.to_string_lossy()).into_owned();
    let error = Error::io(error, &format!("broken link: cannot open its target {target}"))
        .hint("the target was moved or deleted; fetch it again");
    io::Error::new(io::ErrorKind::NotFound, error)
}

fn kind_of_target(path: &Path) -> EntryKind {
    std::fs::metadata(path).map_or(EntryKind::BrokenLink, |target| kind_of(&target))
}

fn described(entry: &DirEntry) -> FolderEntry {
    // The entry's own metadata is that of a link, not of what it leads to.
    FolderEntry { name: entry.file_name(), kind: kind_of_target(&entry.path()) }
}

fn kind_of(metadata: &Metadata) -> EntryKind {
    if metadata.is_file() {
        EntryKind::File(metadata.len())
    } else if metadata.is_dir() {
        EntryKind::Folder
    } else {
        EntryKind::Other
    }
}
