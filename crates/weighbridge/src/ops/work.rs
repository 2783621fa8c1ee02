//! How work is done: the number of threads, the memory, progress, cancelling.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{MemoryBudget, OnTile, Pool};

/// How far the work is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes done so far.
    pub done: u64,
    /// Bytes to do in all.
    pub total: u64,
}

/// Called with the progress of the work, from any thread.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// How work is done. None of it changes the result.
///
/// ```no_run
/// use weighbridge::ops::{ConvertOptions, DiffOptions, Work};
/// let work = Work::new().max_memory(1 << 30);
/// let (convert, diff) = (ConvertOptions::new("out").work(&work), DiffOptions::default().work(&work));
/// ```
#[derive(Clone, Default)]
pub struct Work {
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) max_memory: Option<u64>,
    pub(super) progress: Option<OnProgress>,
    pub(super) cancel: Option<Arc<AtomicBool>>,
}

impl Work {
    /// As many threads as the machine has, and as much memory as they need.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The most bytes of memory for tiles, over all threads; the headers come on top.
    #[must_use]
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// What is called with the progress.
    #[must_use]
    pub fn progress(mut self, progress: OnProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// A flag that stops the work soon after it is set. The error is
    /// [`Cancelled`](crate::ErrorKind::Cancelled), and no unfinished file has its final name.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }

    pub(super) fn workers(&self) -> usize {
        let default = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(default, NonZeroUsize::get)
    }

    /// What is left of the memory for tiles when what is fetched ahead of models and `held` bytes of
    /// an output have theirs. An error if that is nothing.
    pub(super) fn memory_for_tiles(&self, models: &[&Model], held: u64) -> Result<Option<u64>> {
        let most = self.max_memory.unwrap_or(u64::MAX);
        let each = most / 4 / models.len().max(1) as u64;
        let ahead = models.iter().map(|model| model.limit_ahead(each)).fold(0, u64::saturating_add);
        let Some(max) = self.max_memory else { return Ok(None) };
        let left = max.checked_sub(ahead.saturating_add(held)).filter(|left| *left > 0);
        left.map(Some).ok_or_else(|| {
            Error::limit(format!(
                "{held} bytes that wait to be sent do not fit into {max} bytes of memory"
            ))
            .remedy(Remedy::RaiseLimit("max_memory"))
        })
    }

    /// The memory that all workers may take together.
    pub(super) fn budget(&self, models: &[&Model]) -> Result<MemoryBudget> {
        Ok(MemoryBudget::new(self.workers(), self.memory_for_tiles(models, 0)?))
    }

    /// Reports how much of `total` bytes is done. Where `total` is an estimate, no more than that.
    pub(super) fn reporter(&self, total: u64) -> impl Fn(u64) + Sync {
        move |done| {
            if let Some(progress) = &self.progress {
                progress(Progress { done: done.min(total), total });
            }
        }
    }

    /// An error if the work was cancelled.
    pub(super) fn refuse_cancelled(&self) -> Result<()> {
        self.pool(1, &|_| {}).refuse_cancelled()
    }

    /// A pool of `workers` threads that report to `progress`.
    pub(super) fn pool<'a>(&'a self, workers: usize, progress: OnTile<'a>) -> Pool<'a> {
        let cancel = self.cancel.as_ref();
        Pool { workers, cancel, progress: Some(progress), done_before: 0 }
    }
}

/// Gives options with a field `work` the methods of [`Work`].
macro_rules! work_options {
    ($options:ty) => {
        impl $options {
            /// How the work is done.
            #[must_use]
            pub fn work(mut self, work: &$crate::ops::Work) -> Self {
                self.work = work.clone();
                self
            }

            /// See [`Work::threads`]($crate::ops::Work::threads).
            #[must_use]
            pub fn threads(mut self, threads: std::num::NonZeroUsize) -> Self {
                self.work = self.work.threads(threads);
                self
            }

            /// See [`Work::max_memory`]($crate::ops::Work::max_memory).
            #[must_use]
            pub fn max_memory(mut self, bytes: u64) -> Self {
                self.work = self.work.max_memory(bytes);
                self
            }

            /// See [`Work::progress`]($crate::ops::Work::progress).
            #[must_use]
            pub fn progress(mut self, progress: $crate::ops::OnProgress) -> Self {
                self.work = self.work.progress(progress);
                self
            }

            /// See [`Work::cancel`]($crate::ops::Work::cancel).
            #[must_use]
            pub fn cancel(mut self, cancel: std::sync::Arc<std::sync::atomic::AtomicBool>) -> Self {
                self.work = self.work.cancel(cancel);
                self
            }
        }
    };
}

pub(super) use work_options;
