//! What is fetched ahead is fetched for somebody: when that work is over or is stopped, so is this.

use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use super::ahead::{Fetch, Fetching};
use super::runtime::unless;
use crate::stop::{self, lock};

/// The works that have announced something of one file.
#[derive(Default)]
pub(crate) struct Announced(Mutex<Vec<Arc<ForWork>>>);

/// A file, for as long as a work wants it.
struct ForWork {
    file: Arc<dyn Fetch>,
    /// The work's flag, which ends with the work.
    flag: Weak<AtomicBool>,
}

impl Announced {
    /// The file for the work of this thread.
    pub(crate) fn of(&self, file: Arc<dyn Fetch>) -> Arc<dyn Fetch> {
        let Some(flag) = stop::flag() else { return file };
        let flag = Arc::downgrade(&flag);
        let mut works = lock(&self.0);
        if let Some(known) = works.iter().find(|work| work.flag.ptr_eq(&flag)) {
            return known.clone();
        }
        works.retain(|work| work.flag.strong_count() > 0);
        let new = Arc::new(ForWork { file, flag });
        works.push(new.clone());
        new
    }
}

impl Fetch for ForWork {
    fn fetch(self: Arc<Self>, range: Range<u64>, memory: Vec<u8>) -> Fetching {
        let fetching = self.file.clone().fetch(range, memory);
        let is_over = move || self.flag.upgrade().is_none_or(|flag| stop::is_set(&flag));
        Box::pin(async move {
            let done = unless(fetching, is_over).await;
            done.unwrap_or_else(|| Err(io::Error::other(stop::stopped())))
        })
    }
}
