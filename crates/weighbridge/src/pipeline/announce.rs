//! Tells sources with latency what will be read, in the order of the work: they fetch ahead.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::job::Job;
use crate::catalog::{Order, Run, TensorInfo};
use crate::input::{Need, Reading};
use crate::model::Weight;
use crate::source::Source;

/// Parts up to this length are read for many tiles of a weight; they come before its long ones.
const SHORT: u64 = 4 << 20;

/// Parts up to this length are few requests: whether their bytes are read in order matters little.
const FEW_REQUESTS: u64 = 16 << 20;

/// What is read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group(u64);

impl Group {
    /// What is read after all that was announced before.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Announces every stored byte that a job will read.
pub(super) fn announce(job: &Job) {
    job.origin.ask(announce_weight, announce_part);
}

/// Announces every stored byte of a weight.
pub fn announce_weight(weight: &Weight) {
    announce_parts(weight, Group::next());
}

/// Announces every stored byte of a weight that is read at once, whatever was announced before.
pub fn announce_weight_now(weight: &Weight) {
    announce_parts(weight, Group(0));
}

fn announce_parts(weight: &Weight, group: Group) {
    let parts = parts_of(weight);
    let (short, long) = parts.iter().partition::<Vec<_>, _>(|part| part.stored.1.bytes <= SHORT);
    for part in short.into_iter().chain(long) {
        announce_as(part.stored, 0..part.stored.1.held_bytes(), part.reading, group);
    }
}

/// Announces every byte of a stored tensor.
pub fn announce_part(source: &Source, tensor: &TensorInfo) {
    let reading = if is_scattered(tensor) { Reading::Scattered } else { Reading::Once };
    announce_as((source, tensor), 0..tensor.held_bytes(), reading, Group::next());
}

/// Announces some bytes of a stored tensor.
pub fn announce_range(source: &Source, tensor: &TensorInfo, range: Range<u64>, group: Group) {
    announce_as((source, tensor), range, Reading::Once, group);
}

/// Bytes of a weight that have to be held all at once while it is read over a network, because every
/// row of it needs some of all of them.
pub fn held_at_once(weight: &Weight) -> u64 {
    let parts = parts_of(weight);
    let scattered = parts.iter().filter(|part| part.reading == Reading::Scattered);
    scattered.map(|part| part.stored.1.held_bytes()).fold(0, u64::saturating_add)
}

/// Announces a stored tensor that is not decoded.
pub fn held_as_stored(source: &Source, tensor: &TensorInfo) -> u64 {
    if source.input().has_latency() && is_scattered(tensor) { tensor.held_bytes() } else { 0 }
}

/// Announces the reads of a job.
pub fn held_by_job(job: &Job) -> u64 {
    job.origin.ask(held_at_once, held_as_stored)
}

/// A part of a weight that is read over a network.
struct AnnouncedPart<'a> {
    stored: Stored<'a>,
    reading: Reading,
}

/// A stored tensor, and what it lies in.
type Stored<'a> = (&'a Source, &'a TensorInfo);

fn parts_of(weight: &Weight) -> Vec<AnnouncedPart<'_>> {
    if !weight.parts().any(|(_, source, _)| source.input().has_latency()) {
        return Vec::new();
    }
    let (spans, is_alone) = (weight.spans_of_a_row(), weight.parts().nth(1).is_none());
    let mut announced = Vec::new();
    for (index, (_, source, tensor)) in weight.parts().enumerate() {
        let of_part = spans.iter().filter(|(part, _)| *part == index).map(|(_, span)| *span);
        let span = of_part.max().unwrap_or(0);
        // Of many rows, one whose bytes are half of the part lies all over it.
        let is_across =
            span > FEW_REQUESTS && span > tensor.bytes / 2 && weight.rows_and_columns().0 > 2;
        let reading = match tensor.bytes {
            _ if is_scattered(tensor) => Reading::Scattered,
            ..=SHORT if !is_alone => Reading::Often,
            _ if is_across => Reading::Scattered,
            _ => Reading::Once,
        };
        if source.input().has_latency() {
            announced.push(AnnouncedPart { stored: (source, tensor), reading });
        }
    }
    announced
}

/// Whether its elements do not lie in their order, and reading some of them reads all over it.
fn is_scattered(tensor: &TensorInfo) -> bool {
    tensor.place.order != Order::RowMajor && tensor.bytes > SHORT
}

fn announce_as(stored: Stored<'_>, range: Range<u64>, reading: Reading, group: Group) {
    let (source, tensor) = stored;
    let input = source.input();
    if let (true, Run::At(offset)) = (input.has_latency(), tensor.place.run) {
        let end = range.end.min(tensor.held_bytes());
        let range = offset.saturating_add(range.start)..offset.saturating_add(end);
        if !range.is_empty() {
            input.will_need(&Need { range, reading, group: group.0 });
        }
    }
}
