//! A file that is read by position, by several threads at once.
//!
//! A model may have thousands of shards, and a process only a few hundred open files: the first
//! ones stay open, the others are opened for each read.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{FileState, ReadAt, ReadPattern};
use crate::error::Error;
use crate::sys;

/// The most files that stay open.
const MOST_OPEN: usize = 100;

/// How many files stay open in this process.
static OPEN: AtomicUsize = AtomicUsize::new(0);

pub(super) struct PositionedFile {
    /// The file, if it stays open.
    open: Option<OpenFile>,
    path: PathBuf,
    state: FileState,
}

impl PositionedFile {
    pub(super) fn new(file: File, metadata: &Metadata, path: &Path) -> Self {
        sys::advise_file(&file, ReadPattern::Random);
        let (open, state) = (OpenFile::counted(file, MOST_OPEN), FileState::of(metadata));
        Self { open, path: path.to_owned(), state }
    }
}

impl ReadAt for PositionedFile {
    fn len(&self) -> Option<u64> {
        Some(self.state.len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if let Some(open) = &self.open {
            return sys::read_file_at(&open.0, out, offset);
        }
        let file = sys::open_without_waiting(&self.path)?;
        match FileState::of(&file.metadata()?) == self.state {
            true => sys::read_file_at(&file, out, offset),
            false => Err(io::Error::other(Error::malformed("was changed while it was read"))),
        }
    }

    fn will_read(&self, pattern: ReadPattern) {
        if let Some(open) = &self.open {
            sys::advise_file(&open.0, pattern);
        }
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        let now = match &self.open {
            Some(open) => open.0.metadata()?,
            None => self.path.metadata()?,
        };
        Ok(FileState::of(&now) == self.state)
    }
}

/// A file that stays open, and is counted as long as it does.
struct OpenFile(File);

impl OpenFile {
    /// `None` if `most` files are open already.
    fn counted(file: File, most: usize) -> Option<Self> {
        let one_more = |open| (open < most).then_some(open + 1);
        let counted = OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        counted.is_ok().then(|| Self(file))
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_stay_open_is_opened_again_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"hello world").unwrap();
        let state = FileState::of(&path.metadata().unwrap());
        let file = PositionedFile { open: None, path: path.clone(), state };
        let mut out = [0; 5];
        file.read_at(6, &mut out).unwrap();
        assert_eq!(&out, b"world");
        assert!(OpenFile::counted(File::open(&path).unwrap(), 0).is_none());
        std::fs::write(&path, b"hello").unwrap();
        assert!(!file.is_unchanged().unwrap());
        assert!(file.read_at(0, &mut out).is_err());
    }
}
