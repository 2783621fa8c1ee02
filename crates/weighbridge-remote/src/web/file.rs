//! A file on a server, read by ranges.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::OnceCell;

use crate::Vouched;
use crate::ahead::Ahead;
use crate::far::{Elsewhere, FarFile, SMALL};
use crate::guess;
use crate::kept::Kept;
use crate::process::PerProcess;
use crate::runtime;
use crate::stop::lock;
use crate::web::fault::Fault;
use crate::web::fetch::Fetcher;
use crate::whole::{Found, Sum, Whole};

/// A file on a server. Its first bytes are fetched with its length; the others when they are read.
pub(crate) type WebFile = FarFile<Opened>;

pub(crate) struct Opened {
    fetcher: Fetcher,
    /// The name, which tells how its header may go on.
    name: String,
    first: Range<u64>,
    /// The sum of the whole file, where the Hub states it.
    sum: Option<Sum>,
    whole: PerProcess<Option<Whole>>,
    /// Filled by the first request.
    kept: PerProcess<FirstBytes>,
}

type FirstBytes = OnceCell<Result<Mutex<Kept>, Fault>>;

impl WebFile {
    /// A file whose first bytes are fetched now: its length is not known otherwise.
    pub(crate) fn open(fetcher: Fetcher, name: &str, first: Range<u64>) -> io::Result<Self> {
        let file = Self::unread(fetcher, name, first, None);
        drop(file.of.kept()?);
        Ok(file)
    }

    /// A file of known length: its first bytes are fetched in the background, so that many files
    /// can be opened one after the other. What fails is told to the first who reads.
    pub(crate) fn start(
        fetcher: Fetcher,
        name: &str,
        first: Range<u64>,
        sum: Option<Sum>,
    ) -> io::Result<Self> {
        let file = Self::unread(fetcher, name, first, sum);
        let opened = file.of.clone();
        runtime::runtime()?.spawn(async move { drop(opened.first().await) });
        Ok(file)
    }

    fn unread(fetcher: Fetcher, name: &str, first: Range<u64>, sum: Option<Sum>) -> Self {
        let (whole, kept) = (PerProcess::new(), PerProcess::new());
        Self::new(Opened { fetcher, name: name.to_owned(), first, sum, whole, kept })
    }

    /// What tells this version of the file from another, if the server says that.
    pub(crate) fn version(&self) -> Option<String> {
        self.of.fetcher.version()
    }
}

impl Opened {
    async fn first(&self) -> Result<&Mutex<Kept>, Fault> {
        let fetch = || async {
            let first = self.fetcher.first(self.first.clone()).await;
            first.map(|stretch| {
                self.has_come(stretch.start, &stretch.bytes);
                Mutex::new(Kept::new(stretch))
            })
        };
        self.kept.get(OnceCell::new).get_or_init(fetch).await.as_ref().map_err(Clone::clone)
    }

    /// The sum of what has come, where the Hub states one.
    fn whole(&self) -> Option<&Whole> {
        self.whole.get(|| self.sum.map(Whole::new)).as_ref()
    }

    /// What the sum of the file says; the few bytes that may pad its end are fetched for that.
    fn found(&self, whole: &Whole, len: u64) -> io::Result<Found> {
        let found = whole.found(len);
        if let Found::UpTo(at) = found
            && len - at <= SMALL as u64
        {
            let mut rest = vec![0; usize::try_from(len - at).unwrap_or(0)];
            runtime::block_on(self.fill(at, &mut rest))??;
            self.has_come(at, &rest);
            return Ok(whole.found(len));
        }
        Ok(found)
    }
}

impl Elsewhere for Opened {
    fn ahead(&self) -> &Arc<Ahead> {
        self.fetcher.client.ahead()
    }

    fn parallel(&self) -> usize {
        self.fetcher.client.settings().parallel
    }

    fn len(&self) -> Option<u64> {
        self.fetcher.len()
    }

    async fn fill(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        Ok(self.fetcher.fill(offset, out).await?)
    }

    fn kept(&self) -> io::Result<MutexGuard<'_, Kept>> {
        let kept = match self.kept.get(OnceCell::new).get() {
            Some(kept) => kept.as_ref().map_err(Clone::clone)?,
            None => runtime::block_on(self.first())??,
        };
        Ok(lock(kept))
    }

    fn kept_already(&self) -> Option<MutexGuard<'_, Kept>> {
        let kept = self.kept.get(OnceCell::new).get()?;
        kept.as_ref().ok().map(lock)
    }

    /// What follows a small read is fetched too: more small reads will come.
    fn more(&self, read: Option<u64>) -> Option<u64> {
        Some(read.map_or(SMALL as u64, |read| guess::more(&self.name, read)))
    }

    fn has_come(&self, offset: u64, bytes: &[u8]) {
        if let Some(whole) = self.whole() {
            whole.add_copy(offset, bytes);
        }
    }

    fn has_come_ahead(&self, offset: u64, bytes: &Arc<Vec<u8>>) {
        if let Some(whole) = self.whole() {
            whole.add(offset, bytes);
        }
    }

    fn vouch(&self) -> io::Result<Vouched> {
        let Some((whole, len)) = self.whole().zip(self.len()) else {
            let is_pinned = self.fetcher.is_pinned();
            return Ok(if is_pinned { Vouched::Yes } else { Vouched::Unstated });
        };
        match self.found(whole, len)? {
            Found::Right => Ok(Vouched::Yes),
            Found::Wrong => Err(self.fetcher.wrong_sum().into()),
            Found::UpTo(_) | Found::Unknown => Ok(Vouched::NotWhole),
        }
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(!self.fetcher.was_changed())
    }
}
