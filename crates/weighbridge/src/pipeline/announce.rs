//! Tells sources with latency what will be read, in the order of the plan: they fetch ahead.

use super::job::{Job, Origin};
use crate::catalog::{Run, TensorInfo};
use crate::source::Source;

/// Parts up to this length are read for many tiles of a weight; they come before its long ones.
const SHORT: u64 = 4 << 20;

/// Announces every stored byte that some jobs will read, job by job.
pub fn announce<'j>(jobs: impl Iterator<Item = &'j Job>) {
    for job in jobs {
        match &job.origin {
            Origin::Weight(weight) => {
                let parts = || weight.parts().map(|(_, source, tensor)| (source, tensor));
                let is_short = |part: &(&Source, &TensorInfo)| part.1.bytes <= SHORT;
                parts().filter(is_short).for_each(announce_part);
                parts().filter(|part| !is_short(part)).for_each(announce_part);
            }
            Origin::Stored(model, id) => announce_part(model.stored(*id)),
        }
    }
}

fn announce_part((source, tensor): (&Source, &TensorInfo)) {
    let input = source.input();
    if let (true, Run::At(offset)) = (input.has_latency(), tensor.place.run) {
        let len = usize::try_from(tensor.held_bytes()).unwrap_or(usize::MAX);
        input.will_need(offset, len);
    }
}
