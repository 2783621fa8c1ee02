//! Anything that reads and seeks, one reader at a time.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Mutex;

use super::{ReadAt, lock};

/// Anything that can be read and sought in.
pub trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// A reader behind a lock: it has one position.
pub(super) struct SeekingReader<R> {
    reader: Mutex<R>,
    len: u64,
}

impl<R: ReadSeek> SeekingReader<R> {
    pub(super) fn new(mut reader: R) -> io::Result<Self> {
        let len = reader.seek(SeekFrom::End(0))?;
        Ok(Self { reader: Mutex::new(reader), len })
    }
}

impl<R: ReadSeek> ReadAt for SeekingReader<R> {
    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut reader = lock(&self.reader);
        reader.seek(SeekFrom::Start(offset))?;
        reader.read_exact(out)
    }
}
