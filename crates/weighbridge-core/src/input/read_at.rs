//! Byte sources: a memory map, a file, memory, a pipe, a server.

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
    /// Returns the length in bytes; `None` while unknown, as with a pipe. A read that reaches the
    /// end makes it known.
    fn len(&self) -> Option<u64>;

    /// Fills `out` with the bytes at `offset`. Too few bytes are `UnexpectedEof`.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Fills several buffers. A source with latency should merge neighbours and fetch in parallel,
    /// as [`read_ranges_merged`](super::read_ranges_merged) does.
    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        ranges.iter_mut().try_for_each(|range| self.read_at(range.offset, range.out))
    }

    /// Returns whether every read has latency, as over a network. If so, one call of `read_ranges`
    /// may pass thousands of short ranges to be merged.
    fn has_latency(&self) -> bool {
        false
    }

    /// A hint that these bytes will be read soon.
    fn will_need(&self, _need: &Need) {}

    /// Limits the bytes prefetched for such hints, for all files of the same origin together.
    fn limit_ahead(&self, _bytes: u64) {}

    /// A hint about the read pattern from now on.
    fn will_read(&self, _pattern: ReadPattern) {}

    /// Returns all bytes without a copy, if they are in memory.
    fn lend(&self) -> Option<&[u8]> {
        None
    }

    /// Returns whether the bytes are unchanged since opening, as far as known.
    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// Returns what vouches for the bytes that were read so far. An error if they are wrong.
    fn vouch(&self) -> io::Result<Vouched> {
        Ok(Vouched::Yes)
    }

    /// Returns the length, reading everything if necessary.
    fn find_len(&self) -> io::Result<u64> {
        self.len().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Returns the number of bytes received, for a source that receives in order and keeps its
    /// bytes. These can be read without waiting.
    fn received(&self) -> Option<u64> {
        None
    }
}

/// Whether something vouches for bytes that came from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// A checksum of the whole file, or nothing is in doubt.
    Yes,
    /// The origin states a checksum of the whole file, but other bytes or another order were read.
    NotWhole,
    /// The origin states no checksum, and no strong version either.
    Unstated,
}

/// One buffer of [`ReadAt::read_ranges`].
#[derive(Debug)]
pub struct ReadRange<'a> {
    /// The offset of its first byte.
    pub offset: u64,
    /// The buffer to fill.
    pub out: &'a mut [u8],
}

/// Bytes that will be read soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Their range.
    pub range: Range<u64>,
    /// How they will be read.
    pub reading: Reading,
    /// The read order: ranges read together share a number, later ones have a higher number, and 0
    /// comes first. A range announced again under another number is read again.
    pub group: u64,
}

/// The expected access pattern of announced bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Roughly in order, and roughly once.
    Once,
    /// Some bytes several times, while others of the group are read.
    Often,
    /// In short scattered pieces, repeatedly, until the whole range is read.
    Scattered,
}
