//! A reader that cannot seek: what has passed is kept.

use std::io::{self, Read};
use std::sync::Mutex;

use super::memory::copy_range;
use super::{ReadAt, lock};
use crate::error::{Error, Remedy};

/// Bytes asked for at a time, at least and at most.
const STEP: (usize, usize) = (8 << 10, 1 << 20);

pub(super) struct Stream<R>(Mutex<Kept<R>>);

struct Kept<R> {
    reader: R,
    bytes: Vec<u8>,
    ended: bool,
    /// How many bytes may be kept.
    most: u64,
}

impl<R: Read + Send> Stream<R> {
    pub(super) fn new(reader: R, most: u64) -> Self {
        Self(Mutex::new(Kept { reader, bytes: Vec::new(), ended: false, most }))
    }
}

impl<R: Read + Send> ReadAt for Stream<R> {
    fn len(&self) -> Option<u64> {
        let kept = lock(&self.0);
        kept.ended.then_some(kept.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut kept = lock(&self.0);
        kept.fill_to(offset.saturating_add(out.len() as u64))?;
        copy_range(&kept.bytes, offset, out)
    }

    fn find_len(&self) -> io::Result<u64> {
        let mut kept = lock(&self.0);
        kept.fill_to(u64::MAX)?;
        Ok(kept.bytes.len() as u64)
    }

    fn received(&self) -> Option<u64> {
        Some(lock(&self.0).bytes.len() as u64)
    }
}

impl<R: Read> Kept<R> {
    /// Reads on until `end` bytes are kept, or the stream ends.
    fn fill_to(&mut self, end: u64) -> io::Result<()> {
        while !self.ended && (self.bytes.len() as u64) < end {
            let have = self.bytes.len();
            if have as u64 >= self.most {
                return Err(io::Error::other(too_long(self.most)));
            }
            let missing = usize::try_from(end - have as u64).unwrap_or(usize::MAX);
            self.bytes.resize(have + missing.clamp(STEP.0, STEP.1), 0);
            let got = loop {
                match self.reader.read(&mut self.bytes[have..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.bytes.truncate(have + *got.as_ref().unwrap_or(&0));
            let failed = |e| io::Error::other(Error::io(e, "cannot read").at(have as u64));
            self.ended = got.map_err(failed)? == 0;
        }
        Ok(())
    }
}

fn too_long(most: u64) -> Error {
    Error::limit(format!("reading the stream needs more than {most} bytes of memory"))
        .hint("save the stream to a file first")
        .remedy(Remedy::RaiseLimit("max_allocation"))
}
