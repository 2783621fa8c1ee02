//! Weights that are larger than what is stored of them.
//!
//! A PyTorch tensor may be a view with a stride of 0: a few stored bytes stand for any number of
//! values. That is legal, and a small file can so describe more numbers than any disk holds.

use super::Weight;
use crate::catalog::TensorInfo;
use crate::error::{Error, Remedy, Result};
use crate::limits::MOST_EXPANSION;
use crate::source::Source;
use crate::text::shortened;

/// Characters of a name that a note shows.
const MOST_NAME: usize = 100;

/// A note about the stored tensors that repeat stored bytes, if there are any.
pub(super) fn note(sources: &[Source]) -> Option<String> {
    let mut repeating = repeating(sources).peekable();
    let first = repeating.peek()?.name.clone();
    let (mut count, mut held, mut bytes) = (0u64, 0u64, 0u64);
    for tensor in repeating {
        count += 1;
        held = held.saturating_add(tensor.held_bytes());
        bytes = bytes.saturating_add(tensor.bytes);
    }
    let first = shortened(&first, MOST_NAME);
    let (who, verb) = match count {
        1 => (format!("`{first}`"), "repeats"),
        _ => (format!("{count} tensors (the first is `{first}`)"), "repeat"),
    };
    Some(format!("{who} {verb} stored bytes: {held} stored bytes expand to {bytes} bytes"))
}

/// The tensor that repeats its stored bytes most often, if one does.
pub(crate) fn most_repeating(sources: &[Source]) -> Option<&TensorInfo> {
    repeating(sources).max_by_key(|tensor| tensor.bytes / tensor.held_bytes().max(1))
}

/// The tensors of which fewer bytes are stored than they have.
fn repeating(sources: &[Source]) -> impl Iterator<Item = &TensorInfo> {
    let tensors = sources.iter().flat_map(|source| &source.catalog().tensors);
    tensors.filter(|tensor| tensor.held_bytes() < tensor.bytes)
}

impl Weight {
    /// An error if a new buffer of `bytes` for all of it is out of proportion to what is stored.
    pub(super) fn check_new_buffer(&self, bytes: u64) -> Result<()> {
        let held = self.parts().map(|(.., info)| info.held_bytes()).fold(0, u64::saturating_add);
        let allocation = self.parts().map(|(_, source, _)| source.limits().max_allocation).min();
        let most = held.saturating_mul(MOST_EXPANSION).max(allocation.unwrap_or(0));
        if bytes <= most {
            return Ok(());
        }
        let problem = format!(
            "a buffer for the whole weight would take {bytes} bytes, but only {held} bytes are \
             stored; the limit is {most} bytes"
        );
        Err(Error::limit(problem)
            .hint("read it row by row")
            .remedy(Remedy::RaiseLimit("max_allocation"))
            .in_tensor(self.name())
            .in_file(self.model_path()))
    }
}
