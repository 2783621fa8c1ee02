//! A file that is read by position, by several threads at once.
//!
//! It may be closed between two reads (`open_files` says when). What is opened again under its name
//! must be the same file, unchanged.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::open_files::{self, Slot};
use super::{FileState, ReadAt, ReadPattern};
use crate::error::Error;
use crate::stop::lock;
use crate::sys;

pub(super) struct PositionedFile {
    /// The file, while it is open.
    slot: Arc<Slot>,
    path: PathBuf,
    state: FileState,
    /// What the system was told last about how it is read.
    pattern: Mutex<ReadPattern>,
}

impl PositionedFile {
    pub(super) fn new(file: File, metadata: &Metadata, path: &Path) -> Self {
        let pattern = ReadPattern::Random;
        sys::advise_file(&file, pattern);
        let slot = Arc::new(Slot::default());
        open_files::keep_open(&slot, Arc::new(file));
        let (path, state) = (path.to_owned(), FileState::of(metadata));
        Self { slot, path, state, pattern: Mutex::new(pattern) }
    }

    /// The file, opened again if it was closed.
    fn file(&self) -> io::Result<Arc<File>> {
        if let Some(file) = self.slot.file() {
            return Ok(file);
        }
        let file = open_files::open(&self.path)?;
        if FileState::of(&file.metadata()?) != self.state {
            return Err(io::Error::other(Error::malformed("was changed while it was read")));
        }
        sys::advise_file(&file, *lock(&self.pattern));
        let file = Arc::new(file);
        open_files::keep_open(&self.slot, file.clone());
        Ok(file)
    }
}

impl ReadAt for PositionedFile {
    fn len(&self) -> Option<u64> {
        Some(self.state.len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        sys::read_file_at(&*self.file()?, out, offset)
    }

    fn will_read(&self, pattern: ReadPattern) {
        *lock(&self.pattern) = pattern;
        if let Some(open) = self.slot.file() {
            sys::advise_file(&open, pattern);
        }
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        let now = match self.slot.file() {
            Some(open) => open.metadata()?,
            None => self.path.metadata()?,
        };
        Ok(FileState::of(&now) == self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_closed_is_opened_again_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"hello world").unwrap();
        let closed = || {
            let (slot, pattern) = (Arc::new(Slot::default()), Mutex::new(ReadPattern::Sequential));
            let state = FileState::of(&path.metadata().unwrap());
            PositionedFile { slot, path: path.clone(), state, pattern }
        };
        let file = closed();
        let mut out = [0; 5];
        file.read_at(6, &mut out).unwrap();
        assert_eq!(&out, b"world");
        // Another file of the same size in its place: whoever has it closed must not read that.
        let file = closed();
        let other = folder.path().join("other");
        std::fs::write(&other, b"HELLO WORLD").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert!(!file.is_unchanged().unwrap());
        assert!(file.read_at(0, &mut out).is_err());
        let file = closed();
        std::fs::write(&path, b"hello").unwrap();
        assert!(!file.is_unchanged().unwrap());
        assert!(file.read_at(0, &mut out).is_err());
    }
}
