//! How work is done: the number of threads, the memory, progress, cancelling.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{MemoryBudget, OnTile, Pool, Tiled};
use crate::stop;

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

/// Bytes that are held of files on a network, at most, if nobody limits memory.
const USUALLY_AHEAD: u64 = 176 << 20;

/// At least one in so many bytes of memory is for what is fetched ahead.
const LEAST: u64 = 8;

/// What a program with connections takes besides: code, threads, their buffers.
const PROGRAM: u64 = 32 << 20;

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

    pub(super) fn workers(&self) -> usize {
        let default = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(default, NonZeroUsize::get)
    }

    /// What is left of the memory for tiles when `sending` bytes of an output and the least that is
    /// fetched ahead of models have theirs. An error if that is nothing.
    pub(super) fn memory_for_tiles(&self, models: &[&Model], sending: u64) -> Result<Option<u64>> {
        let Some(max) = self.max_memory else { return Ok(None) };
        let ahead = if models.iter().any(|model| model.has_latency()) { max / LEAST } else { 0 };
        // What is sent would be the first to grow beyond it.
        let program = if sending > 0 { PROGRAM } else { 0 };
        let taken = ahead.saturating_add(sending).saturating_add(program);
        let left = max.checked_sub(taken).filter(|left| *left > 0);
        left.map(Some).ok_or_else(|| {
            Error::limit(format!(
                "the upload buffers ({sending} bytes) and the program ({program} bytes) exceed the memory limit of {max} bytes"
            ))
            .remedy(Remedy::RaiseLimit("max_memory"))
        })
    }

    /// The memory that all workers may take together.
    pub(super) fn budget(&self, models: &[&Model]) -> Result<MemoryBudget> {
        Ok(MemoryBudget::new(self.workers(), self.memory_for_tiles(models, 0)?))
    }

    /// Gives what `taken` bytes of tiles and of an output leave to what is fetched ahead of models. An
    /// error if what has to be held of a weight at once does not fit.
    pub(super) fn grant_ahead<'w>(
        &self,
        models: &[&Model],
        taken: u64,
        held: impl Iterator<Item = (u64, &'w str)>,
    ) -> Result<()> {
        let far: Vec<_> = models.iter().filter(|model| model.has_latency()).collect();
        let places = far.len().max(1) as u64;
        let taken = taken.saturating_add(PROGRAM * places);
        let left = match self.max_memory {
            None => USUALLY_AHEAD,
            Some(max) => max.saturating_sub(taken).max(max / LEAST),
        };
        let each = left / places;
        far.iter().for_each(|model| model.limit_ahead(each));
        match held.max_by_key(|(bytes, _)| *bytes).filter(|(bytes, _)| *bytes > each) {
            None => Ok(()),
            Some((bytes, name)) => {
                let needed = (bytes * places + taken).div_ceil(1 << 20);
                Err(Error::limit(format!(
                    "each row is spread across the whole stored tensor; reading it remotely \
                     buffers {bytes} bytes, but only {each} bytes are left"
                ))
                .in_tensor(name)
                .hint(format!("allow {needed} MiB of memory, or download the file"))
                .remedy(Remedy::RaiseLimit("max_memory")))
            }
        }
    }

    /// Reports how much of `total` bytes is done. Where `total` is an estimate, no more than that.
    pub(super) fn reporter(&self, total: u64) -> impl Fn(u64) + Sync {
        move |done| {
            if let Some(progress) = &self.progress {
                progress(Progress { done: done.min(total), total });
            }
        }
    }

    /// Does something that ends soon after the work is cancelled, if it waits.
    pub(super) fn waiting<R>(&self, work: impl FnOnce() -> R) -> R {
        match &self.cancel {
            Some(flag) => stop::with_flag(flag, work),
            None => work(),
        }
    }

    /// An error if the work was cancelled.
    pub(super) fn refuse_cancelled(&self) -> Result<()> {
        self.pool(1, &|_| {}).refuse_cancelled()
    }

    /// Does all tiles of some items, by as many workers as there is memory for. Of each item,
    /// `needs` says the weight, the bytes that a worker needs for a tile, and those that have to be
    /// held at once; of all, `total` says the bytes that progress counts to.
    pub(super) fn run<T: Tiled>(
        &self,
        models: &[&Model],
        items: impl Iterator<Item = Result<T>>,
        total: impl FnOnce(&[T]) -> u64,
        needs: impl Fn(&T) -> Result<(&str, u64, u64)>,
    ) -> Result<Vec<T>> {
        let (mut budget, mut held) = (self.budget(models)?, Vec::new());
        let all: Vec<T> = items.collect::<Result<_>>()?;
        for item in &all {
            let (name, bytes, at_once) = needs(item)?;
            budget.make_room(name, bytes)?;
            held.push((at_once, name));
        }
        let memory = budget.memory();
        self.grant_ahead(models, memory.bytes, held.into_iter())?;
        self.pool(memory.workers, &self.reporter(total(&all))).run(&all)?;
        Ok(all)
    }

    /// A pool of `workers` threads that report to `progress`.
    pub(super) fn pool<'a>(&'a self, workers: usize, progress: OnTile<'a>) -> Pool<'a> {
        let cancel = self.cancel.as_ref();
        Pool { workers, cancel, progress: Some(progress), done_before: 0 }
    }
}

setters! { Work:
    /// The number of threads.
    threads(threads: NonZeroUsize) threads = Some(threads);

    /// The most bytes of memory for tiles, over all threads, and for what is fetched ahead of them or
    /// waits to be sent; the headers come on top.
    max_memory(bytes: u64) max_memory = Some(bytes);

    /// What is called with the progress.
    progress(progress: OnProgress) progress = Some(progress);

    /// A flag that stops the work soon after it is set. The error is
    /// [`Cancelled`](crate::ErrorKind::Cancelled), and no unfinished file has its final name.
    cancel(cancel: Arc<AtomicBool>) cancel = Some(cancel);
}

/// Gives options with a field `work` the methods of [`Work`].
macro_rules! work_options {
    ($options:ty) => {
        $crate::ops::work::setters! { $options:
            /// How the work is done.
            work(work: &$crate::ops::Work) work = work.clone();

            /// See [`Work::threads`]($crate::ops::Work::threads).
            threads(threads: std::num::NonZeroUsize) work.threads = Some(threads);

            /// See [`Work::max_memory`]($crate::ops::Work::max_memory).
            max_memory(bytes: u64) work.max_memory = Some(bytes);

            /// See [`Work::progress`]($crate::ops::Work::progress).
            progress(progress: $crate::ops::OnProgress) work.progress = Some(progress);

            /// See [`Work::cancel`]($crate::ops::Work::cancel).
            cancel(cancel: std::sync::Arc<std::sync::atomic::AtomicBool>) work.cancel = Some(cancel);
        }
    };
}

pub(super) use weighbridge_core::setters;
pub(super) use work_options;
