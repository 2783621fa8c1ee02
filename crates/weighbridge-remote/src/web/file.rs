//! A file on a server, read by ranges.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::{Need, ReadAt, ReadRange, Requests, read_ranges_merged};
use tokio::sync::OnceCell;

use crate::ahead::{AHEAD_AT_ONCE, Ahead};
use crate::announced::Announced;
use crate::guess;
use crate::process::PerProcess;
use crate::runtime;
use crate::stop::lock;
use crate::web::fault::Fault;
use crate::web::fetch::Fetcher;
use crate::web::kept::{Kept, Stretch};

/// What a small read fetches at least: a request costs as much as this many bytes.
const SMALL: usize = 64 << 10;

/// Unwanted bytes between two ranges that are fetched together.
const MAX_GAP: u64 = 1 << 20;

/// A file on a server. Its first bytes are fetched with its length; the others when they are read.
pub struct WebFile(Arc<Opened>);

struct Opened {
    fetcher: Arc<Fetcher>,
    /// The name, which tells how its header may go on.
    name: String,
    first: Range<u64>,
    /// Filled by the first request.
    kept: PerProcess<FirstBytes>,
    /// What is fetched ahead, for each work that wants it.
    announced: PerProcess<Announced>,
    /// Its number among the files of which something is fetched ahead.
    id: u64,
}

type FirstBytes = OnceCell<Result<Mutex<Kept>, Fault>>;

/// Numbers of files.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl WebFile {
    /// A file whose first bytes are fetched now: its length is not known otherwise.
    pub(crate) fn open(fetcher: Fetcher, name: &str, first: Range<u64>) -> io::Result<Self> {
        let file = Self::new(fetcher, name, first);
        drop(file.0.kept()?);
        Ok(file)
    }

    /// A file of known length: its first bytes are fetched in the background, so that many files
    /// can be opened one after the other. What fails is told to the first who reads.
    pub(crate) fn start(fetcher: Fetcher, name: &str, first: Range<u64>) -> io::Result<Self> {
        let file = Self::new(fetcher, name, first);
        let opened = file.0.clone();
        runtime::runtime()?.spawn(async move { drop(opened.first().await) });
        Ok(file)
    }

    fn new(fetcher: Fetcher, name: &str, first: Range<u64>) -> Self {
        Self(Arc::new(Opened {
            fetcher: Arc::new(fetcher),
            name: name.to_owned(),
            first,
            kept: PerProcess::new(),
            announced: PerProcess::new(),
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        }))
    }
}

impl WebFile {
    /// What tells this version of the file from another, if the server says that.
    pub(crate) fn version(&self) -> Option<String> {
        self.0.fetcher.version()
    }
}

impl Opened {
    fn ahead(&self) -> &Arc<Ahead> {
        self.fetcher.client.ahead()
    }

    async fn first(&self) -> Result<&Mutex<Kept>, Fault> {
        let fetch = || async {
            let first = self.fetcher.first(self.first.clone()).await;
            first.map(|stretch| Mutex::new(Kept::new(stretch)))
        };
        self.kept.get(OnceCell::new).get_or_init(fetch).await.as_ref().map_err(Clone::clone)
    }

    /// What is kept, once the first request is answered.
    fn kept(&self) -> io::Result<MutexGuard<'_, Kept>> {
        let kept = match self.kept.get(OnceCell::new).get() {
            Some(kept) => kept.as_ref().map_err(Clone::clone)?,
            None => runtime::block_on(self.first())??,
        };
        Ok(lock(kept))
    }

    /// The range of some bytes; `UnexpectedEof` beyond the end.
    fn checked(&self, offset: u64, len: usize) -> io::Result<Range<u64>> {
        let end = offset.checked_add(len as u64);
        let end = end.filter(|end| self.fetcher.len().is_some_and(|all| *end <= all));
        end.map(|end| offset..end).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Fills `out` from what is kept, from what was fetched ahead, and by requests for the rest.
    fn read(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let mut count = self.kept()?.copy(offset, out);
            if count == 0 {
                count = self.ahead().copy(self.id, offset, out);
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

    /// How many of the next bytes are nowhere here.
    fn missing(&self, offset: u64, len: usize) -> io::Result<usize> {
        let kept = self.kept()?.next(offset);
        let next = [kept, self.ahead().next(self.id, offset)].into_iter().flatten().min();
        let free = next.map_or(u64::MAX, |next| next - offset);
        Ok(usize::try_from(free).unwrap_or(usize::MAX).min(len))
    }

    fn fetch(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match out.len() {
            0..=SMALL => self.fetch_more(offset, out),
            len if len > self.request_bytes() => {
                self.fetch_merged(&mut [ReadRange { offset, out }])
            }
            _ => self.request(offset, out),
        }
    }

    /// Fetches what follows a small read too, and keeps it: more small reads will come.
    fn fetch_more(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let goes_on = self.kept()?.continues(offset);
        let more = goes_on.map_or(SMALL as u64, |read| guess::more(&self.name, read));
        let rest = self.fetcher.len().map_or(0, |len| len.saturating_sub(offset));
        let len = usize::try_from(more.min(rest)).unwrap_or(0).max(out.len());
        let mut bytes = vec![0; len];
        self.request(offset, &mut bytes)?;
        out.copy_from_slice(&bytes[..out.len()]);
        self.kept()?.add(Stretch { start: offset, bytes });
        Ok(())
    }

    /// Bytes of a request.
    fn request_bytes(&self) -> usize {
        usize::try_from(self.ahead().request_bytes()).unwrap_or(usize::MAX)
    }

    /// As few requests as there can be, and no more at once than are fetched ahead: what lies between
    /// ranges takes memory on the way.
    fn fetch_merged(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        let parallel = self.fetcher.client.settings().parallel.clamp(1, AHEAD_AT_ONCE);
        let how = Requests { max_gap: MAX_GAP, max_len: self.request_bytes(), parallel };
        read_ranges_merged(ranges, how, |offset, out| self.request(offset, out))
    }

    fn request(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        Ok(runtime::block_on(self.fetcher.fill(offset, out))??)
    }
}

impl ReadAt for WebFile {
    fn len(&self) -> Option<u64> {
        self.0.fetcher.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        drop(self.0.kept()?);
        self.0.checked(offset, out.len())?;
        self.0.read(offset, out)
    }

    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        drop(self.0.kept()?);
        let mut left = Vec::new();
        for range in ranges {
            let wanted = self.0.checked(range.offset, range.out.len())?;
            if self.0.ahead().touches(self.0.id, &wanted) {
                self.0.read(range.offset, range.out)?;
                continue;
            }
            if self.0.kept()?.copy(range.offset, range.out) < range.out.len() {
                left.push(ReadRange { offset: range.offset, out: &mut *range.out });
            }
        }
        if left.is_empty() { Ok(()) } else { self.0.fetch_merged(&mut left) }
    }

    fn has_latency(&self) -> bool {
        true
    }

    fn will_need(&self, need: &Need) {
        let Some(len) = self.0.fetcher.len() else { return };
        let end = need.range.end.min(len);
        // What is kept needs no fetching; the first request itself is under way.
        let kept = self.0.kept.get(OnceCell::new).get();
        let kept = kept.and_then(|kept| kept.as_ref().ok()?.lock().ok());
        let start = need.range.start;
        let start = kept.map_or(start, |kept| kept.end_from(start));
        if start < end {
            let fetcher = self.0.announced.get(Announced::default).of(self.0.fetcher.clone());
            let need = Need { range: start..end, ..need.clone() };
            self.0.ahead().will_need(&fetcher, self.0.id, &need);
        }
    }

    fn limit_ahead(&self, bytes: u64) {
        self.0.ahead().limit(bytes);
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(!self.0.fetcher.was_changed())
    }
}

impl Drop for WebFile {
    fn drop(&mut self) {
        self.0.ahead().forget(self.0.id);
    }
}
