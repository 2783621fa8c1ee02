//! One file on disk.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::partial_file::PartialFile;
use super::{Destination, OutputFile, refuse_full_disk};
use crate::error::Result;

/// One file on disk, which has its name only when it is complete.
pub struct LocalFile {
    target: PathBuf,
    replace: bool,
    /// The file, complete but for its name.
    complete: Mutex<Option<PartialFile>>,
}

impl LocalFile {
    /// A file of that path, whatever name it is created with. A file that is there already is
    /// replaced once the new one is complete, if that is wanted.
    #[must_use]
    pub fn new(target: &Path, replace: bool) -> Self {
        Self { target: target.to_owned(), replace, complete: Mutex::default() }
    }

    fn complete(&self) -> MutexGuard<'_, Option<PartialFile>> {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Destination for LocalFile {
    fn reserve(&self, bytes: u64) -> Result<()> {
        refuse_full_disk(&self.target, bytes)
    }

    fn create(&self, _name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let file = PartialFile::create(&self.target, len)?;
        Ok(Box::new(Unnamed { file, of: self }))
    }

    fn finish(&self) -> Result<()> {
        let file = self.complete().take();
        file.map_or(Ok(()), |file| file.finish(self.replace))
    }

    fn abort(&self) {
        self.complete().take();
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
        *self.of.complete() = Some(self.file);
        Ok(())
    }
}
