//! Where a model's files lie: a directory, memory, a repository on a server.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ReadAt;

/// A tree of files. Paths are relative to its root; the empty path is the root.
pub trait Folder: Send + Sync {
    /// What lies directly under `path`, in any order. A path that does not exist is `NotFound`,
    /// a file is `NotADirectory`.
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>>;

    /// What lies at `path`. A path that does not exist is `NotFound`.
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let Some(name) = path.file_name() else {
            return self.list(path).map(|_| EntryKind::Folder);
        };
        let entries = self.list(path.parent().unwrap_or(Path::new("")))?;
        let found = entries.into_iter().find(|entry| entry.name == name);
        found.map(|entry| entry.kind).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a file. A path that does not exist is `NotFound`, a folder is `IsADirectory`.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>>;

    /// Whether every call has latency, as over a network: then several are made side by side.
    fn has_latency(&self) -> bool {
        false
    }

    /// Whether [`list`](Self::list) knows all that is there. Web servers have no listings: what lies
    /// beside a file is found by opening it.
    fn has_listing(&self) -> bool {
        true
    }

    /// What tells this version of a file from another, where more is known than its length and time:
    /// the commit of a repository, the tag that a server gives a file.
    fn version(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Where a link leads, with all links on the way followed; `None` for what is no link, or one
    /// that leads nowhere.
    fn link_target(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// Where `path` is on disk, if this folder is a directory of the file system. Files are then
    /// copied by the system, with their permissions.
    fn local_path(&self, _path: &Path) -> Option<PathBuf> {
        None
    }
}

/// What a folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its own name, without the path that leads to it.
    pub name: std::ffi::OsString,
    /// What it is, with links followed.
    pub kind: EntryKind,
}

/// A kind of [`FolderEntry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// A file of this many bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A link to something that is not there.
    BrokenLink,
    /// A device, a pipe, a socket.
    Other,
}
