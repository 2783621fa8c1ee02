//! Workers that read two things at once, tile by tile, and keep what each tile gives in order.
//!
//! A [`Lockstep`] is some work that is cut into tiles whose number does not depend on who does
//! them. Workers take the next tile of the first work that has one. What a tile gives is added up
//! in the order of the tiles ([`InOrder`]), so that sums of floating-point numbers are the same
//! for any number of workers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::engine::Work;
use crate::error::{Error, Result};
use crate::simd;

/// Some work in tiles.
pub trait Lockstep: Sync {
    /// What a worker keeps from one tile to the next.
    type Desk: Default;

    /// How many tiles there are.
    fn tiles(&self) -> u64;

    /// Whether it reads what can be read from front to back only: then one worker does it.
    fn is_sequential(&self) -> bool;

    /// Whether the tiles that are left need not be done.
    fn is_settled(&self) -> bool;

    /// Does a tile, and gives the number of stored bytes it stands for.
    fn tile(&self, desk: &mut Self::Desk, tile: u64) -> u64;
}

/// Does all of the work; an error only if it is cancelled. `before` is what progress starts at.
pub fn run_lockstep<L: Lockstep>(all: &[L], work: Work<'_>, before: u64) -> Result<()> {
    let (one_by_one, free) = all.iter().partition::<Vec<&L>, _>(|lot| lot.is_sequential());
    let done = AtomicU64::new(before);
    let floors = [
        Floor { all: one_by_one, work, next: Mutex::default(), done: &done },
        Floor { all: free, work, next: Mutex::default(), done: &done },
    ];
    floors[0].run(1);
    floors[1].run(work.workers);
    match floors[1].is_cancelled() {
        true => Err(Error::cancelled("the comparison is not complete")),
        false => Ok(()),
    }
}

/// What workers share.
struct Floor<'a, L> {
    all: Vec<&'a L>,
    work: Work<'a>,
    /// The first tile that nobody has taken: whose, and which.
    next: Mutex<(usize, u64)>,
    done: &'a AtomicU64,
}

impl<'a, L: Lockstep> Floor<'a, L> {
    fn run(&self, workers: usize) {
        let tiles = self.all.iter().map(|lot| lot.tiles()).fold(0, u64::saturating_add);
        let workers = workers.clamp(1, usize::try_from(tiles).unwrap_or(usize::MAX).max(1));
        let level = simd::level();
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|| simd::with_level(level, || self.work()));
            }
            self.work();
        });
    }

    fn take(&self) -> Option<(&'a L, u64)> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let lot = *self.all.get(next.0)?;
            if next.1 < lot.tiles() && !lot.is_settled() {
                next.1 += 1;
                return Some((lot, next.1 - 1));
            }
            *next = (next.0 + 1, 0);
        }
    }

    fn work(&self) {
        let mut desk = L::Desk::default();
        while !self.is_cancelled() {
            let Some((lot, tile)) = self.take() else { break };
            let bytes = lot.tile(&mut desk, tile);
            let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if let Some(progress) = self.work.progress {
                progress(done);
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.work.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}

/// A sum whose terms come in any order and are added in theirs.
#[derive(Debug)]
pub struct InOrder<T> {
    sum: T,
    next: u64,
    waiting: BTreeMap<u64, T>,
}

impl<T: Default> Default for InOrder<T> {
    fn default() -> Self {
        Self { sum: T::default(), next: 0, waiting: BTreeMap::new() }
    }
}

impl<T> InOrder<T> {
    /// Takes term `index`, and adds what can be added now.
    pub fn add(&mut self, index: u64, term: T, plus: impl Fn(&mut T, &T)) {
        self.waiting.insert(index, term);
        while let Some(term) = self.waiting.remove(&self.next) {
            plus(&mut self.sum, &term);
            self.next += 1;
        }
    }

    /// The sum of all terms up to the first that is missing.
    pub fn sum(self) -> T {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_added_in_their_order_whatever_order_they_come_in() {
        let mut all = InOrder::<String>::default();
        for index in [2, 0, 3, 1, 5] {
            all.add(index, index.to_string(), |sum, term| sum.push_str(term));
        }
        assert_eq!(all.sum(), "0123");
    }

    struct Count {
        tiles: u64,
        stop_at: u64,
        done: AtomicU64,
    }

    impl Lockstep for Count {
        type Desk = ();
        fn tiles(&self) -> u64 {
            self.tiles
        }
        fn is_sequential(&self) -> bool {
            self.tiles == 7
        }
        fn is_settled(&self) -> bool {
            self.done.load(Ordering::Relaxed) >= self.stop_at
        }
        fn tile(&self, (): &mut (), _: u64) -> u64 {
            self.done.fetch_add(1, Ordering::Relaxed);
            1
        }
    }

    #[test]
    fn every_tile_is_done_once_unless_the_work_is_settled() {
        let count = |tiles, stop_at| Count { tiles, stop_at, done: AtomicU64::new(0) };
        let all = [count(0, 1), count(7, 100), count(5, 2), count(3, 100)];
        run_lockstep(&all, Work { workers: 1, cancel: None, progress: None }, 0).unwrap();
        assert_eq!(all.map(|one| one.done.into_inner()), [0, 7, 2, 3]);
    }
}
