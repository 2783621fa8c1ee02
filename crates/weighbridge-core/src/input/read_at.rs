//! Where bytes come from: a map, a file, memory, a pipe, a server.

use std::io;
use std::ops::Range;

pub use crate::sys::ReadPattern;

/// Bytes that can be read from any offset, by several threads at once.
///
/// Implement this to open models from somewhere new. Only `len` and `read_at` are needed; the
/// other methods have defaults that are correct, but slow.
///
/// An [`io::Error`] that wraps an [`Error`](crate::Error) of this library is reported as that
/// error, with its kind and its hint.
#[expect(clippy::len_without_is_empty, reason = "the length may be unknown")]
pub trait ReadAt: Send + Sync {
    /// How many bytes there are; `None` while that is unknown, as with a pipe. A read that meets
    /// the end makes it known.
    fn len(&self) -> Option<u64>;

    /// Fills `out` with the bytes from `offset` on. Too few bytes are `UnexpectedEof`.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Fills several buffers. A source with latency merges neighbours and fetches the rest side
    /// by side, for which there is [`read_ranges_merged`](super::read_ranges_merged).
    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.out))
    }

    /// Whether every read has latency, as over a network. Then even thousands of short ranges
    /// come in one call of `read_ranges`, to be merged there.
    fn has_latency(&self) -> bool {
        false
    }

    /// A hint that these bytes will be read soon.
    fn will_need(&self, _need: &Need) {}

    /// Limits the bytes that are held because of such hints, of all files of the same place together.
    fn limit_ahead(&self, _bytes: u64) {}

    /// A hint how the bytes will be read from now on.
    fn will_read(&self, _pattern: ReadPattern) {}

    /// All bytes without a copy, where they are in memory.
    fn lend(&self) -> Option<&[u8]> {
        None
    }

    /// Whether the bytes still are what they were when this was opened, as far as that is known.
    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// The length, even if everything has to be read to find out.
    fn find_len(&self) -> io::Result<u64> {
        self.len().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// How many bytes have arrived, where they arrive in order and are kept: so many can be read
    /// without waiting.
    fn received(&self) -> Option<u64> {
        None
    }
}

/// One buffer of [`ReadAt::read_ranges`].
#[derive(Debug)]
pub struct ReadRange<'a> {
    /// Where its bytes begin.
    pub offset: u64,
    /// Where they go.
    pub out: &'a mut [u8],
}

/// Bytes that will be read soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Where they are.
    pub range: Range<u64>,
    /// How they will be read.
    pub reading: Reading,
    /// What is read together has the same number, and what is read later a higher one; what has none (0)
    /// is read before all of them. Bytes that are announced again are read once more if the number
    /// differs.
    pub group: u64,
}

/// How bytes that were announced will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// About in their order, and about once.
    Once,
    /// Some of them more than once, while others of the group are read.
    Often,
    /// In short pieces from all over the range, time and again, until all of it was read.
    Scattered,
}
