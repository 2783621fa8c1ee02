//! A folder elsewhere under the address that leads to it: paths begin with what the user typed, so
//! that messages and reports do too.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::input::{EntryKind, Folder, FolderEntry, ReadAt};

/// A folder whose paths begin with an address, such as `hf://owner/name`.
pub(super) struct Rooted {
    address: PathBuf,
    folder: Arc<dyn Folder>,
}

impl Rooted {
    pub(super) fn new(address: impl Into<PathBuf>, folder: Arc<dyn Folder>) -> Self {
        Self { address: address.into(), folder }
    }

    /// The path inside the folder. What does not begin with the address is not there: names in files
    /// never lead elsewhere.
    fn inside<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        let inside = path.strip_prefix(&self.address);
        let inside = inside.map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let is_plain = |part| matches!(part, std::path::Component::Normal(_));
        if inside.components().all(is_plain) {
            Ok(inside)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
}

impl Folder for Rooted {
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        self.folder.list(self.inside(path)?)
    }

    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        self.folder.kind(self.inside(path)?)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.folder.open(self.inside(path)?)
    }

    fn version(&self, path: &Path) -> Option<String> {
        self.folder.version(self.inside(path).ok()?)
    }

    fn has_listing(&self) -> bool {
        self.folder.has_listing()
    }

    fn has_latency(&self) -> bool {
        self.folder.has_latency()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_core::MemoryFolder;

    #[test]
    fn paths_begin_with_the_address_and_never_leave_it() {
        let folder = MemoryFolder::new().with("a/config.json", "{}");
        let rooted = Rooted::new("hf://owner/name", Arc::new(folder));
        let root = Path::new("hf://owner/name");
        assert_eq!(rooted.list(root).unwrap().len(), 1);
        assert!(rooted.open(&root.join("a/config.json")).is_ok());
        assert_eq!(root.join("a").display().to_string(), "hf://owner/name/a");
        for outside in ["hf://owner/other/a", "hf://owner/name/../name/a", "/etc/passwd", "a"] {
            let error = rooted.kind(Path::new(outside)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{outside}");
        }
    }
}
