//! A file in a memory map: bytes are lent, not copied.
#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::memory::copy_range;
use super::{FileState, Need, ReadAt, ReadPattern};
use crate::sys;

/// A mapped file. The file itself is closed: a model may have thousands of shards.
pub(super) struct MappedFile {
    map: Mmap,
    path: PathBuf,
    state: FileState,
}

impl MappedFile {
    pub(super) fn new(file: &File, metadata: &Metadata, path: &Path) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to us. If another program shortens the file, a
        // read past its new end raises SIGBUS; callers who cannot accept that choose positioned
        // reads.
        let map = unsafe { Mmap::map(file) }?;
        // A page fault should read its own page and not the pages around it.
        sys::advise_map(&map, ReadPattern::Random);
        Ok(Self { map, path: path.to_owned(), state: FileState::of(metadata) })
    }
}

impl ReadAt for MappedFile {
    fn len(&self) -> Option<u64> {
        Some(self.map.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        copy_range(&self.map, offset, out)
    }

    /// A map faults single pages in, each waiting for the disk.
    fn will_need(&self, need: &Need) {
        let range = &need.range;
        if let Ok(start) = usize::try_from(range.start)
            && start < self.map.len()
        {
            let end = usize::try_from(range.end).unwrap_or(usize::MAX).clamp(start, self.map.len());
            sys::map_will_need(&self.map, start, end - start);
        }
    }

    fn will_read(&self, pattern: ReadPattern) {
        sys::advise_map(&self.map, pattern);
    }

    fn lend(&self) -> Option<&[u8]> {
        Some(&self.map)
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(FileState::of(&self.path.metadata()?) == self.state)
    }
}
