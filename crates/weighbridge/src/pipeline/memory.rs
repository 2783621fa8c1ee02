//! How much memory the work takes, and how it is kept within a limit.
//!
//! A worker holds one tile at a time: its stored bytes, and the numbers. The largest tile counts,
//! since every worker may have one at the same time.

use std::ops::Range;

use super::job::{Action, Job};
use crate::error::{Error, Remedy, Result};
use crate::model::Weight;

/// Smaller tiles than this cost more time than they save memory.
const LEAST_BYTES: u64 = 16 << 10;

/// Bytes that a worker needs for a tile of a job.
fn of_job(job: &Job) -> Result<u64> {
    let (cut, tile) = (&job.cut, job.cut.tile(0));
    let elements = cut.elements(&(0..tile.end.min(cut.part)));
    let bytes = job.bytes_of(&elements);
    match &job.action {
        Action::Copy => Ok(bytes),
        // The stored number may be wider than the written one.
        Action::Cast => {
            let (_, info) = job.only_part()?;
            let stored = info.bytes / job.elements().max(1);
            Ok(bytes.saturating_add(tile.end.saturating_mul(stored)))
        }
        Action::Decode => Ok(bytes.saturating_add(cut.staged_bytes(job.weight()?)?)),
        Action::Rearrange(rearranging) => rearranging.memory(job.weight()?, &elements, bytes),
        Action::Encode(encoding) => {
            // To measure the cost, they are decoded again.
            let copies = if encoding.cost.is_some() { 2 } else { 1 };
            let numbers = elements.end.saturating_mul(4 * copies);
            let encoded = encoding.bytes_of(&elements).saturating_add(numbers);
            Ok(encoded.saturating_add(cut.staged_bytes(job.weight()?)?))
        }
    }
}

/// The number of workers, and the memory they need together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The number of threads.
    pub workers: usize,
    /// Bytes of all their tiles.
    pub bytes: u64,
}

/// The memory that all workers may take together. The largest tile decides how many may work, since
/// each may have one at the same time.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget {
    workers: usize,
    most: u64,
    largest: u64,
}

impl MemoryBudget {
    /// A number of workers, and the most bytes for all of them.
    pub fn new(workers: usize, most: Option<u64>) -> Self {
        Self { workers: workers.max(1), most: most.unwrap_or(u64::MAX), largest: 0 }
    }

    /// The most bytes of a tile if all workers are to work.
    fn share(&self) -> u64 {
        self.most / self.workers as u64
    }

    /// Makes room for a tile of `bytes` of the weight of that name in every worker, with fewer of
    /// them if need be; an error if not even one has room.
    pub fn make_room(&mut self, name: &str, bytes: u64) -> Result<()> {
        if bytes > self.most {
            return Err(too_much(bytes, self.most).in_tensor(name));
        }
        self.largest = self.largest.max(bytes);
        Ok(())
    }

    /// The number of workers, and the memory they need.
    pub fn memory(&self) -> Memory {
        let fit = usize::try_from(self.most / self.largest.max(1)).unwrap_or(usize::MAX);
        let workers = self.workers.min(fit).max(1);
        Memory { workers, bytes: self.largest.saturating_mul(workers as u64) }
    }
}

/// Makes tiles smaller, or workers fewer, until all fits into `most` bytes.
pub fn fit(jobs: &mut [Job], workers: usize, most: Option<u64>) -> Result<Memory> {
    let mut budget = MemoryBudget::new(workers, most);
    for job in jobs.iter_mut() {
        // Smaller tiles for all workers are better than fewer workers.
        while of_job(job)? > budget.share() && halve(job) {}
        while of_job(job)? > budget.most && halve_further(job) {}
        budget.make_room(job.source_name(), of_job(job)?)?;
    }
    Ok(budget.memory())
}

/// Smaller tiles, unless they are small already.
fn halve(job: &mut Job) -> bool {
    job.bytes_of(&job.cut.elements(&job.cut.tile(0))) > LEAST_BYTES && halve_further(job)
}

fn halve_further(job: &mut Job) -> bool {
    // A tile may already be smaller than a step of the cut.
    job.cut.step = job.cut.step.min(job.cut.pieces) / 2;
    let is_possible = job.cut.step > 0;
    job.cut.step = job.cut.step.max(1);
    job.cut.part = job.cut.part.min(job.cut.step);
    is_possible
}

fn too_much(needed: u64, most: u64) -> Error {
    Error::limit(format!(
        "its smallest tile takes {needed} bytes of memory, the limit is {most} bytes"
    ))
    .remedy(Remedy::RaiseLimit("max_memory"))
    .remedy(Remedy::Exclude)
}

/// An error if some rows of a weight, of which `decoded` elements are decoded at a time, take a
/// larger buffer than the limits allow.
pub fn check_whole_rows(weight: &Weight, rows: Range<u64>, decoded: u64) -> Result<()> {
    // Numbers are f32 at their widest, whatever they are written as.
    let needed = decoded.saturating_mul(4).max(weight.largest_slab(rows)?);
    for (_, source, _) in weight.parts() {
        let limit = source.limits().max_allocation;
        if needed > limit {
            return Err(Error::limit(format!(
                "decoding whole rows takes a buffer of {needed} bytes, the limit is {limit} bytes"
            ))
            .in_tensor(weight.name())
            .in_file(source.input().name())
            .remedy(Remedy::RaiseLimit("max_allocation"))
            .remedy(Remedy::Exclude));
        }
    }
    Ok(())
}
