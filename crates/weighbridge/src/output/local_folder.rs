//! A directory on disk.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::marker::Files;
use super::partial_file::PartialFile;
use super::partial_folder::PartialFolder;
use super::{Destination, OutputFile, refuse_full_disk};
use crate::error::{Error, Result};

/// What to do with what an interrupted run has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftover {
    /// Leave it, and stop.
    #[default]
    Refuse,
    /// Keep the files that are finished, and write the others.
    Resume,
    /// Discard it.
    Discard,
}

/// A directory on disk, which has its name only when all of its files are complete.
pub struct LocalFolder {
    target: PathBuf,
    leftover: Leftover,
    replace: bool,
    partial: OnceLock<PartialFolder>,
    /// What was written, for the marker.
    files: Mutex<Files>,
}

impl LocalFolder {
    /// A directory of that path. One that is there already is replaced once the new one is
    /// complete, if that is wanted.
    #[must_use]
    pub fn new(target: &Path, leftover: Leftover, replace: bool) -> Self {
        let (partial, files) = (OnceLock::new(), Mutex::default());
        Self { target: target.to_owned(), leftover, replace, partial, files }
    }

    fn partial(&self) -> Result<&PartialFolder> {
        self.partial.get().ok_or_else(|| Error::usage("the directory was not started"))
    }

    /// Adds a file to what the marker lists.
    fn list(&self, name: &str, len: u64) {
        let parts: Vec<_> =
            Path::new(name).iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(parts.join("/"), len);
    }

    /// Where a file is written, in a folder that exists.
    fn path_of(&self, name: &str) -> Result<PathBuf> {
        let path = self.partial()?.path_of(name);
        if let Some(parent) = path.parent().filter(|_| Path::new(name).components().count() > 1) {
            std::fs::create_dir_all(parent)
                .map_err(|e| Error::io(e, "cannot create").in_file(parent))?;
        }
        Ok(path)
    }
}

impl Destination for LocalFolder {
    fn begin(&self, stamp: &dyn Fn() -> String) -> Result<()> {
        let partial = PartialFolder::create(&self.target, &stamp(), self.leftover)?;
        let begun = self.partial.set(partial);
        begun.map_err(|_| Error::usage("the directory was started already"))
    }

    fn has(&self, name: &str, len: u64) -> bool {
        let has = self.partial.get().is_some_and(|partial| partial.has(name, len));
        if has {
            self.list(name, len);
        }
        has
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        refuse_full_disk(&self.target, bytes)
    }

    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        self.list(name, len);
        Ok(Box::new(PartialFile::create(&self.path_of(name)?, len)?))
    }

    /// Lets the system copy: it keeps the file's permissions and is fastest.
    fn copy(&self, name: &str, from: &Path) -> Result<()> {
        let to = self.path_of(name)?;
        let copied = std::fs::copy(from, &to);
        self.list(name, copied.map_err(|e| Error::io(e, "cannot copy").in_file(from))?);
        let synced = std::fs::File::open(&to).and_then(|file| file.sync_all());
        synced.map_err(|e| Error::io(e, "cannot write").in_file(&to))
    }

    fn finish(&self) -> Result<()> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        self.partial()?.finish(self.replace, &files)
    }

    fn notes(&self) -> Vec<String> {
        self.partial.get().map(PartialFolder::notes).unwrap_or_default()
    }

    fn abort(&self) {
        if let Some(partial) = self.partial.get() {
            partial.remove_if_empty();
        }
    }
}

/// Inside the partial directory a name is free, or that of a file that was not finished.
impl OutputFile for PartialFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        Self::write_at(self, offset, bytes)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Self::finish(*self, true)
    }
}
