//! A file elsewhere, read by ranges: what is kept of it or was fetched ahead is not asked for again.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use crate::ahead::{AHEAD_AT_ONCE, Ahead, Fetch, Fetching};
use crate::announced::Announced;
use crate::kept::{Kept, Stretch};
use crate::process::PerProcess;
use crate::runtime::block_on;
use crate::{Need, ReadAt, ReadRange, Requests, Vouched, read_ranges_merged};

/// What a small read fetches at least, if it fetches more: a request costs as much as this many bytes.
pub(crate) const SMALL: usize = 64 << 10;

/// Unwanted bytes between two ranges that are fetched together.
const MAX_GAP: u64 = 1 << 20;

/// What is asked for the bytes of one file.
pub trait Elsewhere: Send + Sync + 'static {
    /// What is fetched ahead, of all files of its place.
    fn ahead(&self) -> &Arc<Ahead>;

    /// Requests under way at the same time, at most.
    fn parallel(&self) -> usize;

    /// The length, as far as it is known.
    fn len(&self) -> Option<u64>;

    /// Fills a buffer with the bytes from an offset on.
    fn fill(&self, offset: u64, out: &mut [u8]) -> impl Future<Output = io::Result<()>> + Send;

    /// What is kept, once the first request is answered.
    fn kept(&self) -> io::Result<MutexGuard<'_, Kept>>;

    /// The answer, if there is one already.
    fn kept_already(&self) -> Option<MutexGuard<'_, Kept>>;

    /// How many bytes a small read fetches and keeps; `read` is the length of what it goes on with,
    /// if it does. `None` if it fetches what it was asked for.
    fn more(&self, _read: Option<u64>) -> Option<u64> {
        None
    }

    /// Some bytes have come.
    fn has_come(&self, _offset: u64, _bytes: &[u8]) {}

    /// Some bytes have come before they were asked for, and are held until they are read.
    fn has_come_ahead(&self, _offset: u64, _bytes: &Arc<Vec<u8>>) {}

    /// What vouches for the bytes that have come.
    fn vouch(&self) -> io::Result<Vouched> {
        Ok(Vouched::Yes)
    }

    /// Whether the file is still the one that was opened.
    fn is_unchanged(&self) -> io::Result<bool>;
}

impl<T: Elsewhere> Fetch for T {
    fn fetch(self: Arc<Self>, range: Range<u64>, mut bytes: Vec<u8>) -> Fetching {
        Box::pin(async move {
            bytes.resize(usize::try_from(range.end - range.start).unwrap_or(0), 0);
            self.fill(range.start, &mut bytes).await?;
            let bytes = Arc::new(bytes);
            self.has_come_ahead(range.start, &bytes);
            Ok(bytes)
        })
    }
}

/// A file elsewhere. Its first bytes are fetched when it is opened; the others when they are read.
pub struct FarFile<T: Elsewhere> {
    pub(crate) of: Arc<T>,
    /// What is fetched ahead, for each work that wants it.
    announced: PerProcess<Announced>,
    /// Its number among the files of which something is fetched ahead.
    id: u64,
}

impl<T: Elsewhere> FarFile<T> {
    pub(crate) fn new(of: T) -> Self {
        /// Numbers of files.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { of: Arc::new(of), announced: PerProcess::new(), id }
    }

    /// The range of some bytes; `UnexpectedEof` beyond the end.
    fn checked(&self, offset: u64, len: usize) -> io::Result<Range<u64>> {
        let end = offset.checked_add(len as u64);
        let end = end.filter(|end| self.of.len().is_some_and(|all| *end <= all));
        end.map(|end| offset..end).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Reads piece by piece: what is kept, what was fetched ahead, and the rest from its place.
    fn read(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let mut count = self.of.kept()?.copy(offset, out);
            if count == 0 {
                count = self.of.ahead().copy(self.id, offset, out)?;
            }
            if count == 0 {
                count = self.missing(offset, out.len())?;
                self.fetch(offset, &mut out[..count])?;
            }
            offset += count as u64;
            out = &mut out[count..];
        }
        Ok(())
    }

    /// How many of `len` bytes from `offset` on are neither kept nor announced.
    fn missing(&self, offset: u64, len: usize) -> io::Result<usize> {
        let kept = self.of.kept()?.next(offset);
        let next = [kept, self.of.ahead().next(self.id, offset)].into_iter().flatten().min();
        let free = next.map_or(u64::MAX, |next| next - offset);
        Ok(usize::try_from(free).unwrap_or(usize::MAX).min(len))
    }

    /// Fetches bytes; where few are read in a row, more than those.
    fn fetch(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let goes_on = self.of.kept()?.continues(offset);
        let more = self.of.more(goes_on).filter(|_| out.len() <= SMALL);
        let Some(more) = more else {
            return self.fetch_merged(&mut [ReadRange { offset, out }]);
        };
        let rest = self.of.len().map_or(0, |len| len.saturating_sub(offset));
        let len = usize::try_from(more.min(rest)).unwrap_or(0).max(out.len());
        let mut bytes = vec![0; len];
        self.fill_now(offset, &mut bytes)?;
        out.copy_from_slice(&bytes[..out.len()]);
        self.of.kept()?.add(Stretch { start: offset, bytes: bytes.into() });
        Ok(())
    }

    /// As few requests as there can be, and no more at once than are fetched ahead: what lies between
    /// ranges takes memory on the way.
    fn fetch_merged(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        let parallel = self.of.parallel().clamp(1, AHEAD_AT_ONCE);
        let max_len = usize::try_from(self.of.ahead().request_bytes()).unwrap_or(usize::MAX);
        let how = Requests { max_gap: MAX_GAP, max_len, parallel };
        read_ranges_merged(ranges, how, |offset, out| self.fill_now(offset, out))
    }

    fn fill_now(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        block_on(self.of.fill(offset, out))??;
        self.of.has_come(offset, out);
        Ok(())
    }
}

impl<T: Elsewhere> ReadAt for FarFile<T> {
    fn len(&self) -> Option<u64> {
        self.of.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        // The first answer tells the length.
        drop(self.of.kept()?);
        self.checked(offset, out.len())?;
        self.read(offset, out)
    }

    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        drop(self.of.kept()?);
        let mut left = Vec::new();
        for ReadRange { offset, out } in ranges {
            let wanted = self.checked(*offset, out.len())?;
            if self.of.ahead().touches(self.id, &wanted) {
                self.read(*offset, out)?;
            } else if self.of.kept()?.copy(*offset, out) < out.len() {
                left.push(ReadRange { offset: *offset, out });
            }
        }
        self.fetch_merged(&mut left)
    }

    fn has_latency(&self) -> bool {
        true
    }

    fn will_need(&self, need: &Need) {
        let Some(len) = self.of.len() else { return };
        let (start, end) = (need.range.start, need.range.end.min(len));
        // What is kept needs no fetching; the first request itself is under way.
        let start = self.of.kept_already().map_or(start, |kept| kept.end_from(start));
        if start < end {
            let file = self.announced.get(Announced::default).of(self.of.clone());
            let need = Need { range: start..end, ..need.clone() };
            self.of.ahead().will_need(&file, self.id, &need);
        }
    }

    fn limit_ahead(&self, bytes: u64) {
        self.of.ahead().limit(bytes);
    }

    fn vouch(&self) -> io::Result<Vouched> {
        drop(self.of.kept()?);
        self.of.vouch()
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        self.of.is_unchanged()
    }
}

impl<T: Elsewhere> Drop for FarFile<T> {
    fn drop(&mut self) {
        self.of.ahead().forget(self.id);
    }
}
