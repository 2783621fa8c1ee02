//! Jobs in tiles: how the pool writes a file's tensors.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Job;
use super::pool::{Pool, Tiled};
use super::sink::{Sink, Tile};
use super::worker::Buffers;
use crate::error::Result;

/// Writes the data of every job, and gives the number of finite values that became infinite. The
/// bytes are the same for any number of workers.
pub fn run<'j, 'm: 'j>(
    jobs: impl Iterator<Item = &'j Job<'m>>,
    sink: &'j dyn Sink,
    pool: &Pool<'_>,
) -> Result<u64> {
    let overflowed = AtomicU64::new(0);
    let mut jobs: Vec<_> = jobs.enumerate().collect();
    jobs.sort_by_key(|(_, job)| job.offset);
    let mut turns = 0;
    let in_tiles = |(index, job): (usize, &'j Job<'m>)| {
        let first_turn = turns;
        turns += job.cut.tiles();
        JobTiles { job, index, first_turn, sink, overflowed: &overflowed }
    };
    let items: Vec<_> = jobs.into_iter().map(in_tiles).collect();
    pool.run(&items)?;
    Ok(overflowed.load(Ordering::Relaxed))
}

/// A job whose tiles are written to a sink.
struct JobTiles<'a, 'm> {
    job: &'a Job<'m>,
    /// Its place among the jobs that were given.
    index: usize,
    /// How many tiles come before its own in the order of the output.
    first_turn: u64,
    sink: &'a dyn Sink,
    overflowed: &'a AtomicU64,
}

impl Tiled for JobTiles<'_, '_> {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        self.job.cut.tiles()
    }

    fn tile(&self, buffers: &mut Buffers, tile: u64) -> Result<u64> {
        let (job, pieces) = (self.job, self.job.cut.tile(tile));
        let at = job.cut.offset(pieces.start, job.dtype());
        let bytes = job.cut.offset(pieces.end, job.dtype()) - at;
        let turn = self.first_turn + tile;
        let place = Tile { turn, job: self.index, at, offset: job.offset + at };
        let overflowed = buffers.work(job, pieces, &place, self.sink)?;
        self.overflowed.fetch_add(overflowed, Ordering::Relaxed);
        Ok(bytes)
    }

    fn give_up(&self) {
        self.sink.give_up();
    }
}
