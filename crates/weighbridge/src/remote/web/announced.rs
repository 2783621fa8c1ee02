//! What is fetched ahead is fetched for somebody: when that work is over or is stopped, so is this.

use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::remote::ahead::{Fetch, Fetching};
use crate::remote::runtime::unless;
use crate::remote::web::fetch::Fetcher;
use crate::stop;

/// The works that have announced something of one file.
#[derive(Default)]
pub(crate) struct Announced(Mutex<Vec<Arc<ForWork>>>);

/// A file, for as long as a work wants it.
struct ForWork {
    fetcher: Arc<Fetcher>,
    /// The work's flag, which ends with the work.
    flag: Weak<AtomicBool>,
}

impl Announced {
    /// The file for the work of this thread.
    pub(crate) fn of(&self, fetcher: &Arc<Fetcher>) -> Arc<dyn Fetch> {
        let Some(flag) = stop::flag() else { return fetcher.clone() };
        let flag = Arc::downgrade(&flag);
        let mut works = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = works.iter().find(|work| work.flag.ptr_eq(&flag)) {
            return known.clone();
        }
        works.retain(|work| work.flag.strong_count() > 0);
        let new = Arc::new(ForWork { fetcher: fetcher.clone(), flag });
        works.push(new.clone());
        new
    }
}

impl Fetch for Fetcher {
    fn fetch(self: Arc<Self>, range: Range<u64>, mut bytes: Vec<u8>) -> Fetching {
        Box::pin(async move {
            bytes.resize(usize::try_from(range.end - range.start).unwrap_or(0), 0);
            self.fill(range.start, &mut bytes).await?;
            Ok(bytes)
        })
    }
}

impl Fetch for ForWork {
    fn fetch(self: Arc<Self>, range: Range<u64>, memory: Vec<u8>) -> Fetching {
        let fetching = self.fetcher.clone().fetch(range, memory);
        let is_over = move || self.flag.upgrade().is_none_or(|flag| stop::is_set(&flag));
        Box::pin(async move {
            let done = unless(fetching, is_over).await;
            done.unwrap_or_else(|| Err(io::Error::other(stop::stopped())))
        })
    }
}
