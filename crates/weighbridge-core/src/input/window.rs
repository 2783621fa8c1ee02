//! The last stretch that was read, from which small reads are served: parsing a header does not
//! cost a system call a field.

use std::io;

use super::memory::range_of;

/// What a small read fetches at once when it goes on from the one before, at most.
const MOST: usize = 64 << 10;

/// What a small read fetches at once when it comes from somewhere else.
const LEAST: usize = 8 << 10;

#[derive(Default)]
pub(super) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Whether a read of this length goes through a window.
    pub(super) fn serves(len: usize) -> bool {
        len < MOST / 2
    }

    /// Serves a read out of the window, which is moved there first if need be. `len` is how many
    /// bytes there are in all.
    pub(super) fn read(
        &mut self,
        offset: u64,
        out: &mut [u8],
        len: u64,
        read: impl FnOnce(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let inside =
            offset.checked_sub(self.start).and_then(|at| range_of(&self.bytes, at, out.len()));
        if let Some(bytes) = inside {
            out.copy_from_slice(bytes);
            return Ok(());
        }
        let rest = usize::try_from(len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let size = self.next_size(offset).max(out.len()).min(rest);
        self.bytes.resize(size, 0);
        if let Err(error) = read(offset, &mut self.bytes) {
            self.bytes.clear();
            return Err(error);
        }
        self.start = offset;
        out.copy_from_slice(&self.bytes[..out.len()]);
        Ok(())
    }

    /// Fills the beginning of `out` with what the window has of the bytes at `offset`; how many those
    /// were. A header that is recognised by its first bytes is not read twice.
    pub(super) fn beginning(&self, offset: u64, out: &mut [u8]) -> usize {
        let at = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let known = at.and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        let len = known.len().min(out.len());
        out[..len].copy_from_slice(&known[..len]);
        len
    }

    /// Reading on from the last window doubles it; a jump starts small, so that visiting the
    /// headers of an archive's members does not drag their contents in.
    fn next_size(&self, offset: u64) -> usize {
        let end = self.start + self.bytes.len() as u64;
        let goes_on = !self.bytes.is_empty() && (self.start..=end).contains(&offset);
        if goes_on { (self.bytes.len() * 2).clamp(LEAST, MOST) } else { LEAST }
    }
}
