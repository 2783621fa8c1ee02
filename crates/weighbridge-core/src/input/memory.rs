//! Bytes that are in memory already.

use std::io;

use super::ReadAt;

/// Bytes in memory, in whatever holds them.
pub(super) struct Memory<T>(pub(super) T);

impl<T: AsRef<[u8]> + Send + Sync> ReadAt for Memory<T> {
    fn len(&self) -> Option<u64> {
        Some(self.0.as_ref().len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        copy_range(self.0.as_ref(), offset, out)
    }

    fn lend(&self) -> Option<&[u8]> {
        Some(self.0.as_ref())
    }
}

/// `len` bytes from `offset` on, if there are so many.
#[inline]
pub fn range_of(bytes: &[u8], offset: u64, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(len)?)
}

/// Fills `out` with the bytes from `offset` on.
pub(super) fn copy_range(bytes: &[u8], offset: u64, out: &mut [u8]) -> io::Result<()> {
    let bytes = range_of(bytes, offset, out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
    out.copy_from_slice(bytes);
    Ok(())
}
