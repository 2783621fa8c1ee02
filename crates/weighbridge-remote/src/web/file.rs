//! A file on a server, read by ranges.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::OnceCell;

use crate::ahead::Ahead;
use crate::far::{Elsewhere, FarFile, SMALL};
use crate::guess;
use crate::kept::Kept;
use crate::process::PerProcess;
use crate::runtime;
use crate::stop::lock;
use crate::web::fault::Fault;
use crate::web::fetch::Fetcher;

/// A file on a server. Its first bytes are fetched with its length; the others when they are read.
pub(crate) type WebFile = FarFile<Opened>;

pub(crate) struct Opened {
    fetcher: Fetcher,
    /// The name, which tells how its header may go on.
    name: String,
    first: Range<u64>,
    /// Filled by the first request.
    kept: PerProcess<FirstBytes>,
}

type FirstBytes = OnceCell<Result<Mutex<Kept>, Fault>>;

impl WebFile {
    /// A file whose first bytes are fetched now: its length is not known otherwise.
    pub(crate) fn open(fetcher: Fetcher, name: &str, first: Range<u64>) -> io::Result<Self> {
        let file = Self::unread(fetcher, name, first);
        drop(file.of.kept()?);
        Ok(file)
    }

    /// A file of known length: its first bytes are fetched in the background, so that many files
    /// can be opened one after the other. What fails is told to the first who reads.
    pub(crate) fn start(fetcher: Fetcher, name: &str, first: Range<u64>) -> io::Result<Self> {
        let file = Self::unread(fetcher, name, first);
        let opened = file.of.clone();
        runtime::runtime()?.spawn(async move { drop(opened.first().await) });
        Ok(file)
    }

    fn unread(fetcher: Fetcher, name: &str, first: Range<u64>) -> Self {
        Self::new(Opened { fetcher, name: name.to_owned(), first, kept: PerProcess::new() })
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
            first.map(|stretch| Mutex::new(Kept::new(stretch)))
        };
        self.kept.get(OnceCell::new).get_or_init(fetch).await.as_ref().map_err(Clone::clone)
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

    fn is_unchanged(&self) -> io::Result<bool> {
        Ok(!self.fetcher.was_changed())
    }
}
