//! Jobs in tiles: how the pool writes a file's tensors.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::announce::announce;
use super::first_pass::FirstPass;
use super::job::{Action, Job};
use super::pool::{Pool, Tiled};
use super::sink::{Sink, Tile};
use super::worker::Buffers;
use crate::error::Result;

/// Writes the data of every job, and gives the number of finite values that became infinite. The
/// bytes are the same for any number of workers.
pub fn run<'j>(
    jobs: impl Iterator<Item = &'j Job>,
    sink: &'j dyn Sink,
    pool: &Pool<'_>,
) -> Result<u64> {
    let overflowed = AtomicU64::new(0);
    let mut tensors = 0;
    let numbered = jobs.map(|job| {
        let first = tensors;
        tensors += job.outputs.len();
        (first, job, encoder_of(job))
    });
    let mut jobs: Vec<_> = numbered.collect();
    jobs.sort_by_key(|(_, job, _)| job.offset());
    let mut turns = 0;
    let mut items = Vec::with_capacity(jobs.len());
    for (first_tensor, job, pass) in &jobs {
        let (pass, overflowed) = (pass.as_ref(), &overflowed);
        let of = JobTiles { job, pass, sink, first_turn: turns, overflowed };
        if let Some(pass) = pass.filter(|pass| pass.encoder.needs_first_pass()) {
            items.push(Item::See(job, pass));
        }
        items.push(Item::Write { of, first_tensor: *first_tensor });
        turns += job.cut.tiles();
    }
    pool.run(&items)?;
    Ok(overflowed.load(Ordering::Relaxed))
}

/// The encoder of a job, if it is encoded.
fn encoder_of(job: &Job) -> Option<FirstPass> {
    match &job.action {
        Action::Encode(encoding) => {
            Some(FirstPass::new(encoding.encoder.begin(job.shape()), job.cut.tiles()))
        }
        _ => None,
    }
}

/// The work of the pool, done tile by tile.
enum Item<'a> {
    /// Shows a weight to its encoder, before it is written.
    See(&'a Job, &'a FirstPass),
    /// Writes a job.
    Write {
        of: JobTiles<'a>,
        /// The number of its first tensor among those of all jobs.
        first_tensor: usize,
    },
}

/// A job whose tiles are written to a sink.
pub(super) struct JobTiles<'a> {
    pub(super) job: &'a Job,
    /// Its encoder, if it is encoded.
    pub(super) pass: Option<&'a FirstPass>,
    pub(super) sink: &'a dyn Sink,
    /// How many tiles come before its own in the order of the output.
    pub(super) first_turn: u64,
    overflowed: &'a AtomicU64,
}

/// Some pieces of a job, and their turn.
pub(super) struct Turn<'a> {
    pub(super) of: &'a JobTiles<'a>,
    pub(super) pieces: Range<u64>,
    pub(super) place: Tile,
}

impl Tiled for Item<'_> {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        match self {
            Self::See(job, _) | Self::Write { of: JobTiles { job, .. }, .. } => job.cut.tiles(),
        }
    }

    fn announce(&self) {
        match self {
            Self::See(job, _) => announce(job),
            Self::Write { of, first_tensor } => {
                announce(of.job);
                let tensors = *first_tensor..first_tensor + of.job.outputs.len();
                tensors.for_each(|tensor| of.sink.announce(tensor));
            }
        }
    }

    fn tile(&self, buffers: &mut Buffers, tile: u64) -> Result<u64> {
        match self {
            Self::See(job, pass) => {
                buffers.see(job, job.cut.tile(tile), pass)?;
                Ok(0)
            }
            Self::Write { of, first_tensor } => {
                let pieces = of.job.cut.tile(tile);
                let bytes = of.job.bytes_of(&of.job.cut.elements(&pieces));
                let place =
                    Tile { turn: of.first_turn + tile, tensor: *first_tensor, at: 0, offset: 0 };
                let overflowed = buffers.write(&Turn { of, pieces, place })?;
                of.overflowed.fetch_add(overflowed, Ordering::Relaxed);
                Ok(bytes)
            }
        }
    }

    fn give_up(&self) {
        match self {
            Self::See(_, pass) => pass.give_up(),
            Self::Write { of, .. } => of.sink.give_up(),
        }
    }
}
