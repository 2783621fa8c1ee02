//! The workers: each takes the next tile in the order of the output, until there are none.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Job;
use super::desk::Desk;
use super::sink::{Sink, Tile};
use crate::error::{Error, Result};
use crate::simd;

/// How the work is done, and who hears of it.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// How many threads work.
    pub workers: usize,
    /// Set from elsewhere, it ends the work soon, with an error.
    pub cancel: Option<&'a AtomicBool>,
    /// Hears how many bytes have been written, after every tile and on any thread.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

/// Writes the data of every job, and gives the number of finite values that became infinite. The
/// bytes are the same for any number of workers.
pub fn run<'j, 'm: 'j>(
    jobs: impl Iterator<Item = &'j Job<'m>>,
    sink: &'j dyn Sink,
    work: Work<'j>,
) -> Result<u64> {
    let floor = Floor::new(jobs, sink, work);
    let workers = work.workers.clamp(1, floor.tiles_up_to(work.workers));
    let level = simd::level();
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| simd::with_level(level, || floor.work()));
        }
        floor.work();
    });
    match floor.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(floor.overflowed.into_inner()),
    }
}

/// What workers share.
struct Floor<'a, 'm> {
    /// In the order of the output, with their places among the jobs that were given.
    jobs: Vec<(usize, &'a Job<'m>)>,
    sink: &'a dyn Sink,
    work: Work<'a>,
    next: Mutex<Next>,
    stopped: AtomicBool,
    error: Mutex<Option<Error>>,
    overflowed: AtomicU64,
    written: AtomicU64,
}

/// The first tile that nobody has taken.
#[derive(Default)]
struct Next {
    job: usize,
    piece: u64,
    turn: u64,
}

impl<'a, 'm> Floor<'a, 'm> {
    fn new(jobs: impl Iterator<Item = &'a Job<'m>>, sink: &'a dyn Sink, work: Work<'a>) -> Self {
        let mut jobs: Vec<_> = jobs.enumerate().filter(|(_, job)| job.cut.pieces > 0).collect();
        jobs.sort_by_key(|(_, job)| job.offset);
        Self {
            jobs,
            sink,
            work,
            next: Mutex::default(),
            stopped: AtomicBool::new(false),
            error: Mutex::default(),
            overflowed: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    /// How many tiles there are, if they are fewer than `most`.
    fn tiles_up_to(&self, most: usize) -> usize {
        let mut tiles = 0usize;
        for (_, job) in &self.jobs {
            let of_job = job.cut.pieces.div_ceil(job.cut.step.max(1));
            tiles = tiles.saturating_add(usize::try_from(of_job).unwrap_or(usize::MAX));
            if tiles >= most {
                return most.max(1);
            }
        }
        tiles.max(1)
    }

    fn take(&self) -> Option<(Tile, &'a Job<'m>, Range<u64>)> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (index, job) = *self.jobs.get(next.job)?;
        let tile = job.cut.tile(next.piece);
        let turn = next.turn;
        *next = match tile.end == job.cut.pieces {
            true => Next { job: next.job + 1, piece: 0, turn: turn + 1 },
            false => Next { job: next.job, piece: tile.end, turn: turn + 1 },
        };
        let at = job.cut.offset(tile.start, job.dtype());
        Some((Tile { turn, job: index, at, offset: job.offset + at }, job, tile))
    }

    fn work(&self) {
        let mut desk = Desk::default();
        while !self.stopped.load(Ordering::Relaxed) {
            let Some((tile, job, pieces)) = self.take() else { break };
            if let Err(error) = self.tile(&mut desk, &tile, job, pieces) {
                self.stop(error);
            }
        }
    }

    fn tile(&self, desk: &mut Desk, tile: &Tile, job: &Job<'_>, pieces: Range<u64>) -> Result<()> {
        self.go_on()?;
        let bytes = job.cut.offset(pieces.end, job.dtype()) - tile.at;
        let overflowed = desk.work(job, pieces, tile, self.sink)?;
        self.overflowed.fetch_add(overflowed, Ordering::Relaxed);
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(progress) = self.work.progress {
            progress(written);
        }
        Ok(())
    }

    fn go_on(&self) -> Result<()> {
        match self.work.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            true => Err(Error::cancelled("nothing was written")),
            false => Ok(()),
        }
    }

    /// The first error counts; those that follow from it do not.
    fn stop(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stopped.store(true, Ordering::Relaxed);
        self.sink.give_up();
    }
}
