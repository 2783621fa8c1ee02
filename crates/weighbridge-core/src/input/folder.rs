//! The files of a model: in a directory, in memory, or in a repository on a server.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ReadAt;

/// A tree of files. Paths are relative to its root; the empty path is the root.
pub trait Folder: Send + Sync {
    /// Lists the entries directly under `path`, in any order. A missing path is `NotFound`, a file
    /// is `NotADirectory`.
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>>;

    /// Returns the kind of entry at `path`. A missing path is `NotFound`.
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let Some(name) = path.file_name() else {
            return self.list(path).map(|_| EntryKind::Folder);
        };
        let entries = self.list(path.parent().unwrap_or(Path::new("")))?;
        let found = entries.into_iter().find(|entry| entry.name == name);
        found.map(|entry| entry.kind).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a file. A missing path is `NotFound`, a folder is `IsADirectory`.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>>;

    /// Returns whether every call has latency, as over a network. If so, calls are made in
    /// parallel.
    fn has_latency(&self) -> bool {
        false
    }

    /// Returns whether [`list`](Self::list) is complete. Web servers have no listings, so sibling
    /// files are found by opening them.
    fn has_listing(&self) -> bool {
        true
    }

    /// Returns a version identifier of a file, if more than its length and time is known: the
    /// commit of a repository, or a server's ETag.
    fn version(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Returns the final target of a link; `None` if the path is not a link or the link is broken.
    fn link_target(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns the path on disk, if this folder is a local directory. The operating system then
    /// copies files, with their permissions.
    fn local_path(&self, _path: &Path) -> Option<PathBuf> {
        None
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name, without the parent path.
    pub name: std::ffi::OsString,
    /// Its kind, with links followed.
    pub kind: EntryKind,
}

/// The kind of a [`FolderEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A file of this many bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A link whose target is missing.
    BrokenLink,
    /// A device, a pipe, a socket.
    Other,
}
