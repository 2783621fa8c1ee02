//! One file on disk.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use super::lock::Lock;
use super::partial_file::PartialFile;
use super::{Destination, OutputFile, refuse_full_disk};
use crate::error::{Error, Result};
use crate::stop::lock;

/// One file on disk, which gets its name only when complete.
pub struct LocalFile {
    target: PathBuf,
    replace: bool,
    /// The file, complete but for its name.
    complete: Mutex<Option<PartialFile>>,
    /// Released last.
    lock: OnceLock<Lock>,
}

impl LocalFile {
    /// Creates a destination for the file at this path; the name given to `create` is ignored. With
    /// `replace`, an existing file is replaced once the new one is complete.
    #[must_use]
    pub fn new(target: &Path, replace: bool) -> Self {
        let (complete, lock) = (Mutex::default(), OnceLock::new());
        Self { target: target.to_owned(), replace, complete, lock }
    }
}

impl Destination for LocalFile {
    fn begin(&self, _stamp: &dyn Fn() -> String) -> Result<()> {
        let begun = self.lock.set(Lock::take(&self.target)?);
        begun.map_err(|_| Error::usage("the file has already been started"))
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        refuse_full_disk(&self.target, bytes)
    }

    fn create(&self, _name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let note = |partial: &Path| self.lock.get().map_or(Ok(()), |lock| lock.note(partial));
        let file = PartialFile::create_noted(&self.target, len, &note)?;
        Ok(Box::new(Unnamed { file, of: self }))
    }

    fn unnamed(&self) -> Option<PathBuf> {
        lock(&self.complete).as_ref().map(|file| file.path().to_owned())
    }

    fn finish(&self) -> Result<()> {
        let file = lock(&self.complete).take();
        file.map_or(Ok(()), |file| file.finish(self.replace))
    }

    fn notes(&self) -> Vec<String> {
        self.lock.get().map(Lock::notes).unwrap_or_default()
    }

    fn abort(&self) {
        lock(&self.complete).take();
    }
}

struct Unnamed<'a> {
    file: PartialFile,
    of: &'a LocalFile,
}

impl OutputFile for Unnamed<'_> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        *lock(&self.of.complete) = Some(self.file);
        Ok(())
    }
}
