//! The workers: threads that take one tile after the other until none is left.
//!
//! Converting, verifying and comparing all run here. What they do is cut into tiles ahead of time
//! ([`Tiled`]), so neither the tiles nor their order depends on how many workers there are. Workers
//! take the next tile of the first item that has one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::announce::announce_weight;
use crate::error::{Error, Result};
use crate::model::Weight;
use crate::simd;
use crate::stop;

/// Something that is done in tiles.
pub trait Tiled: Sync {
    /// What a worker keeps from one tile to the next: its buffers.
    type Buffers: Default;

    /// How many tiles there are.
    fn tiles(&self) -> u64;

    /// What it reads.
    fn weights(&self) -> Vec<&Weight> {
        Vec::new()
    }

    /// Whether it reads something that can be read from front to back only. One worker does it
    /// then, before all that is not sequential.
    fn is_sequential(&self) -> bool {
        self.weights().iter().any(|weight| weight.is_sequential())
    }

    /// Whether the tiles that are left need not be done.
    fn is_settled(&self) -> bool {
        false
    }

    /// Tells what it reads from what it will read, so that sources with latency can begin.
    fn announce(&self) {
        self.weights().into_iter().for_each(announce_weight);
    }

    /// Does a tile, and gives the number of bytes that progress counts for it.
    fn tile(&self, buffers: &mut Self::Buffers, tile: u64) -> Result<u64>;

    /// Called when the work ends early: whatever waits for another tile must stop waiting.
    fn give_up(&self) {}
}

/// Called with the bytes done after every tile, on any thread.
pub type OnTile<'a> = &'a (dyn Fn(u64) + Sync);

/// The number of threads, what cancels them, and what is told the progress.
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    /// The number of threads, at least one.
    pub workers: usize,
    /// A flag that cancels the work soon after it is set.
    pub cancel: Option<&'a Arc<AtomicBool>>,
    /// Called with the progress.
    pub progress: Option<OnTile<'a>>,
    /// Bytes that were done before: where progress starts.
    pub done_before: u64,
}

impl Pool<'_> {
    /// An error if the work is cancelled.
    pub fn refuse_cancelled(&self) -> Result<()> {
        if self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            Err(stop::stopped())
        } else {
            Ok(())
        }
    }

    /// Does every tile of every item. The first error ends the work; cancelling counts as one.
    pub fn run<'i, T: Tiled + 'i>(&self, items: impl IntoIterator<Item = &'i T>) -> Result<()> {
        let (sequential, parallel) =
            items.into_iter().partition::<Vec<&T>, _>(|item| item.is_sequential());
        let shared =
            Shared { pool: *self, done: AtomicU64::new(self.done_before), error: OnceLock::new() };
        let work = || {
            sequential.iter().chain(&parallel).for_each(|item| item.announce());
            shared.run(&Queue::new(sequential), 1);
            shared.run(&Queue::new(parallel), self.workers);
        };
        match self.cancel {
            Some(cancel) => stop::with_flag(cancel, work),
            None => work(),
        }
        shared.error.into_inner().map_or(Ok(()), Err)
    }
}

/// The items, and the first tile that nobody has taken.
struct Queue<'a, T> {
    items: Vec<&'a T>,
    next: Mutex<(usize, u64)>,
}

impl<'a, T: Tiled> Queue<'a, T> {
    fn new(items: Vec<&'a T>) -> Self {
        Self { items, next: Mutex::default() }
    }

    fn take(&self) -> Option<(&'a T, u64)> {
        let mut next = stop::lock(&self.next);
        loop {
            let item = *self.items.get(next.0)?;
            if next.1 < item.tiles() && !item.is_settled() {
                next.1 += 1;
                return Some((item, next.1 - 1));
            }
            *next = (next.0 + 1, 0);
        }
    }

    /// How many tiles there are, if they are fewer than `most`.
    fn tiles_up_to(&self, most: usize) -> usize {
        let tiles = self.items.iter().map(|item| item.tiles()).fold(0, u64::saturating_add);
        usize::try_from(tiles).map_or(most, |tiles| tiles.min(most))
    }
}

/// What all workers share.
struct Shared<'a> {
    pool: Pool<'a>,
    done: AtomicU64,
    /// The first error counts; those that follow from it do not.
    error: OnceLock<Error>,
}

impl Shared<'_> {
    fn run<T: Tiled>(&self, queue: &Queue<'_, T>, workers: usize) {
        let (workers, level) = (queue.tiles_up_to(workers), simd::level());
        let listening = stop::here();
        std::thread::scope(|scope| {
            for _ in 1..workers {
                // The caller may have chosen a level for its own thread.
                let work = move || simd::with_level(level, || self.work(queue));
                let listening = listening.clone();
                scope.spawn(move || listening.during(work));
            }
            self.work(queue);
        });
    }

    fn work<T: Tiled>(&self, queue: &Queue<'_, T>) {
        let mut buffers = T::Buffers::default();
        while self.error.get().is_none() {
            let Some((item, tile)) = queue.take() else { break };
            if let Err(error) = self.tile(item, &mut buffers, tile) {
                drop(self.error.set(error));
                queue.items.iter().for_each(|item| item.give_up());
            }
        }
    }

    fn tile<T: Tiled>(&self, item: &T, buffers: &mut T::Buffers, tile: u64) -> Result<()> {
        self.pool.refuse_cancelled()?;
        let bytes = item.tile(buffers, tile)?;
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(progress) = self.pool.progress {
            progress(done);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count {
        tiles: u64,
        settled_at: u64,
        fails_at: Option<u64>,
        done: AtomicU64,
        given_up: AtomicBool,
    }

    fn count(tiles: u64, settled_at: u64) -> Count {
        let (done, given_up) = (AtomicU64::new(0), AtomicBool::new(false));
        Count { tiles, settled_at, fails_at: None, done, given_up }
    }

    impl Tiled for Count {
        type Buffers = ();
        fn tiles(&self) -> u64 {
            self.tiles
        }
        fn is_sequential(&self) -> bool {
            self.tiles == 7
        }
        fn is_settled(&self) -> bool {
            self.done.load(Ordering::Relaxed) >= self.settled_at
        }
        fn tile(&self, (): &mut (), tile: u64) -> Result<u64> {
            self.done.fetch_add(1, Ordering::Relaxed);
            if self.fails_at == Some(tile) {
                Err(Error::usage(format!("tile {tile}")))
            } else {
                Ok(10)
            }
        }
        fn give_up(&self) {
            self.given_up.store(true, Ordering::Relaxed);
        }
    }

    fn pool<'a>(workers: usize) -> Pool<'a> {
        Pool { workers, cancel: None, progress: None, done_before: 0 }
    }

    #[test]
    fn every_tile_is_done_once_unless_its_item_is_settled() {
        let all = [count(0, 1), count(7, 100), count(5, 2), count(3, 100)];
        pool(1).run(&all).unwrap();
        assert_eq!(all.map(|one| one.done.into_inner()), [0, 7, 2, 3]);
    }

    #[test]
    fn progress_ends_at_the_number_of_bytes() {
        let (all, last) = ([count(4, 9), count(7, 9)], AtomicU64::new(0));
        let hear = |done| {
            last.fetch_max(done, Ordering::Relaxed);
        };
        Pool { progress: Some(&hear), done_before: 5, ..pool(3) }.run(&all).unwrap();
        assert_eq!(last.into_inner(), 5 + 110);
    }

    #[test]
    fn the_first_error_ends_the_work_and_nobody_waits() {
        let all = [Count { fails_at: Some(2), ..count(100, 1000) }, count(50, 1000)];
        let error = pool(1).run(&all).unwrap_err();
        assert_eq!(error.message(), "tile 2");
        assert_eq!(all[0].done.load(Ordering::Relaxed), 3);
        assert!(all.iter().all(|one| one.given_up.load(Ordering::Relaxed)));
    }

    #[test]
    fn what_is_cancelled_is_an_error_before_the_next_tile() {
        let (all, cancel) = ([count(4, 9)], Arc::new(AtomicBool::new(true)));
        assert!(Pool { cancel: Some(&cancel), ..pool(2) }.run(&all).is_err());
        assert_eq!(all[0].done.load(Ordering::Relaxed), 0);
    }
}
