//! How much memory the work takes, and how it is made to fit.
//!
//! A worker holds one tile at a time: the stored bytes it is made from, and the numbers. Tiles of
//! the most expensive tensor count, since every worker may be at one.

use super::job::{Action, Job};
use crate::error::{Error, Result};

/// Smaller tiles than this cost more time than they save memory.
const LEAST_BYTES: u64 = 16 << 10;

/// Bytes that a worker needs for a tile of a job.
fn of_job(job: &Job<'_>) -> Result<u64> {
    let tile = job.cut.tile(0);
    let bytes = job.cut.offset(tile.end.min(job.cut.part), job.dtype());
    match job.action {
        Action::Copy => Ok(bytes),
        // The stored number may be wider than the written one.
        Action::Cast => {
            let (_, info) = job.only_part()?;
            let stored = info.bytes / job.elements().max(1);
            Ok(bytes.saturating_add(tile.end.saturating_mul(stored)))
        }
        Action::Decode => Ok(bytes.saturating_add(job.cut.staged_bytes(job.weight()?)?)),
    }
}

/// Bytes that one worker needs at most.
fn of_worker(jobs: &[Job<'_>]) -> Result<u64> {
    jobs.iter().map(of_job).try_fold(0, |most, bytes| Ok(bytes?.max(most)))
}

/// How many workers work, and what they need together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// How many threads work.
    pub workers: usize,
    /// Bytes of all their tiles.
    pub bytes: u64,
}

/// Cuts smaller tiles, or lets fewer work, until all fits into `most` bytes.
pub fn fit(jobs: &mut [Job<'_>], workers: usize, most: Option<u64>) -> Result<Memory> {
    let most = most.unwrap_or(u64::MAX);
    for job in jobs.iter_mut() {
        // Rather smaller tiles for all than one worker alone.
        while of_job(job)? > most / workers as u64 && halve(job) {}
        while of_job(job)? > most && halve_further(job) {}
    }
    let each = of_worker(jobs)?;
    if each > most {
        return Err(too_much(jobs, most)?);
    }
    let workers = workers.min(usize::try_from(most / each.max(1)).unwrap_or(usize::MAX)).max(1);
    Ok(Memory { workers, bytes: each.saturating_mul(workers as u64) })
}

/// Smaller tiles, unless they are small already.
fn halve(job: &mut Job<'_>) -> bool {
    job.cut.offset(job.cut.tile(0).end, job.dtype()) > LEAST_BYTES && halve_further(job)
}

fn halve_further(job: &mut Job<'_>) -> bool {
    // A tile may already be smaller than a step of the cut.
    job.cut.step = job.cut.step.min(job.cut.pieces) / 2;
    let is_possible = job.cut.step > 0;
    job.cut.step = job.cut.step.max(1);
    job.cut.part = job.cut.part.min(job.cut.step);
    is_possible
}

fn too_much(jobs: &[Job<'_>], most: u64) -> Result<Error> {
    for job in jobs {
        let needed = of_job(job)?;
        if needed > most {
            return Ok(Error::limit(format!(
                "the smallest piece of it takes {needed} bytes of memory, {most} are allowed"
            ))
            .in_tensor(job.source_name())
            .hint("raise --max-memory, or leave it out (--exclude RE)"));
        }
    }
    Ok(Error::limit(format!("{most} bytes of memory are too few")))
}
