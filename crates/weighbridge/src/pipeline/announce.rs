//! Tells sources with latency what will be read, in the order of the work: they fetch ahead.

use std::ops::Range;

use super::job::{Job, Origin};
use crate::catalog::{Run, TensorInfo};
use crate::model::Weight;
use crate::source::Source;

/// Parts up to this length are read for many tiles of a weight; they come before its long ones.
const SHORT: u64 = 4 << 20;

/// Announces every stored byte that a job will read.
pub(super) fn announce(job: &Job) {
    match &job.origin {
        Origin::Weight(weight) => announce_weight(weight),
        Origin::Stored(model, id) => {
            let (source, tensor) = model.stored(*id);
            announce_part(source, tensor);
        }
    }
}

/// Announces every stored byte of a weight.
pub fn announce_weight(weight: &Weight) {
    let parts = || weight.parts().map(|(_, source, tensor)| (source, tensor));
    let is_short = |part: &(&Source, &TensorInfo)| part.1.bytes <= SHORT;
    parts().filter(is_short).for_each(|(source, tensor)| announce_part(source, tensor));
    let long = parts().filter(|part| !is_short(part));
    long.for_each(|(source, tensor)| announce_part(source, tensor));
}

/// Announces every byte of a stored tensor.
pub fn announce_part(source: &Source, tensor: &TensorInfo) {
    announce_range(source, tensor, 0..tensor.held_bytes());
}

/// Announces some bytes of a stored tensor.
pub fn announce_range(source: &Source, tensor: &TensorInfo, range: Range<u64>) {
    let input = source.input();
    if let (true, Run::At(offset)) = (input.has_latency(), tensor.place.run) {
        let end = range.end.min(tensor.held_bytes());
        let len = usize::try_from(end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        input.will_need(offset.saturating_add(range.start), len);
    }
}
