//! The seam behind which bytes come from: a map, a file, memory, a server.

use std::io;
use std::ops::Range;

/// Bytes that can be read from any offset.
///
/// Implement this to open models from somewhere new. Only `len` and `read_at` are needed; the
/// other methods have a default that is right and slow.
#[expect(clippy::len_without_is_empty, reason = "nobody asks")]
pub trait ReadAt: Send + Sync {
    /// How many bytes there are; `None` while that is unknown, as with a pipe.
    fn len(&self) -> Option<u64>;

    /// Fills `out` with the bytes from `offset` on. Too few bytes are `UnexpectedEof`.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Fills several buffers. A source with latency merges neighbours and fetches the rest side
    /// by side.
    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.out))
    }

    /// A hint that these bytes will be read soon.
    fn will_need(&self, range: Range<u64>) {
        let _ = range;
    }

    /// All bytes without a copy, where they are in memory.
    fn lend(&self) -> Option<&[u8]> {
        None
    }

    /// An error if the bytes may have changed since they were opened.
    fn check_unchanged(&self) -> io::Result<()> {
        Ok(())
    }
}

/// One buffer of [`ReadAt::read_ranges`].
pub struct ReadRange<'a> {
    /// Where its bytes begin.
    pub offset: u64,
    /// Where they go.
    pub out: &'a mut [u8],
}
