//! BLAKE3 of bytes that arrive in stretches, in any order and from any thread.
//!
//! BLAKE3 is a tree: its leaves are chunks of 1024 bytes, and a subtree over a power of two of chunks
//! that begins at a multiple of that number has a value of its own. A stretch is hashed as the largest
//! such subtrees that fit into it, and stretches are put together in their order; what they leave over
//! at either end, less than a chunk, is hashed with the end of the neighbour. The result is what one
//! thread would have found from front to back.

use std::sync::OnceLock;

use blake3::hazmat::{
    ChainingValue, HasherExt as _, Mode, merge_subtrees_non_root, merge_subtrees_root,
};
use blake3::{CHUNK_LEN, Hash, Hasher};

use crate::pipeline::OrderedSum;

/// The hash of a number of stretches.
pub(super) struct TreeHash {
    stretches: u64,
    /// The hash of the only stretch.
    only: OnceLock<Hash>,
    tree: OrderedSum<Tree, Stretch>,
}

impl TreeHash {
    /// For so many stretches, none of which is empty.
    pub(super) fn new(stretches: u64) -> Self {
        Self { stretches, only: OnceLock::new(), tree: OrderedSum::default() }
    }

    /// Takes stretch `index`, which begins at that byte.
    pub(super) fn add(&self, index: u64, start: u64, bytes: &[u8]) {
        if self.stretches == 1 {
            self.only.get_or_init(|| blake3::hash(bytes));
            return;
        }
        self.tree.add(index, Stretch::of(start, bytes), Tree::append);
    }

    /// The hash, once all stretches are there.
    pub(super) fn finish(self) -> Hash {
        self.only.into_inner().unwrap_or_else(|| self.tree.sum().root())
    }
}

/// A subtree, and how many chunks are below it.
type Subtree = (ChainingValue, u64);

/// What is known of a stretch by itself.
struct Stretch {
    /// The rest of a chunk that begins before it.
    head: Vec<u8>,
    subtrees: Vec<Subtree>,
    /// The beginning of a chunk that ends after it.
    tail: Vec<u8>,
}

impl Stretch {
    fn of(start: u64, bytes: &[u8]) -> Self {
        let chunk = CHUNK_LEN as u64;
        let before = usize::try_from(start.next_multiple_of(chunk) - start).unwrap_or(0);
        let (head, bytes) = bytes.split_at(before.min(bytes.len()));
        let (whole, tail) = bytes.split_at(bytes.len() / CHUNK_LEN * CHUNK_LEN);
        let (mut subtrees, mut rest, mut at) = (Vec::new(), whole, start.div_ceil(chunk));
        while !rest.is_empty() {
            let fitting = 1u64 << (rest.len() / CHUNK_LEN).ilog2();
            // At the very beginning a subtree may be as large as it likes.
            let chunks = if at == 0 { fitting } else { fitting.min(1 << at.trailing_zeros()) };
            let len = usize::try_from(chunks).unwrap_or(usize::MAX).saturating_mul(CHUNK_LEN);
            let (first, others) = rest.split_at(len.min(rest.len()));
            subtrees.push((subtree(at, first), chunks));
            (at, rest) = (at + chunks, others);
        }
        Self { head: head.to_vec(), subtrees, tail: tail.to_vec() }
    }
}

/// The value of the subtree over some bytes that begin at a chunk.
fn subtree(chunk: u64, bytes: &[u8]) -> ChainingValue {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(chunk * CHUNK_LEN as u64);
    hasher.update(bytes).finalize_non_root()
}

/// All stretches so far, from the front.
#[derive(Default)]
struct Tree {
    /// Subtrees from left to right, each smaller than the one before; only the last two may be of the
    /// same size, since the last merge of all is done otherwise.
    subtrees: Vec<Subtree>,
    chunks: u64,
    /// The chunk that is not known to be followed by another, at most `CHUNK_LEN` bytes.
    pending: Vec<u8>,
}

impl Tree {
    fn append(&mut self, next: &Stretch) {
        self.pend(&next.head);
        if !next.subtrees.is_empty() || !next.tail.is_empty() {
            self.push_pending();
        }
        next.subtrees.iter().for_each(|subtree| self.push(*subtree));
        self.pend(&next.tail);
    }

    /// Takes bytes of one chunk.
    fn pend(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    fn push_pending(&mut self) {
        if !self.pending.is_empty() {
            let value = subtree(self.chunks, &self.pending);
            self.pending.clear();
            self.push((value, 1));
        }
    }

    fn push(&mut self, next: Subtree) {
        while let [.., (left, size), (right, same)] = self.subtrees[..]
            && size == same
        {
            self.subtrees.truncate(self.subtrees.len() - 2);
            let both = merge_subtrees_non_root(&left, &right, Mode::Hash);
            self.subtrees.push((both, size + same));
        }
        self.chunks += next.1;
        self.subtrees.push(next);
    }

    fn root(mut self) -> Hash {
        if self.subtrees.is_empty() {
            return blake3::hash(&self.pending);
        }
        self.push_pending();
        let mut values = self.subtrees.iter().rev().map(|(value, _)| value);
        let mut right = values.next().copied().unwrap_or_default();
        let mut values = values.peekable();
        while let Some(left) = values.next() {
            if values.peek().is_none() {
                return merge_subtrees_root(left, &right, Mode::Hash);
            }
            right = merge_subtrees_non_root(left, &right, Mode::Hash);
        }
        Hash::from_bytes(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// The hash of stretches of `step` bytes that arrive in a mixed order.
    fn in_stretches(bytes: &[u8], step: usize) -> Hash {
        let stretches: Vec<_> = (0u64..).zip(bytes.chunks(step)).collect();
        let tree = TreeHash::new(stretches.len() as u64);
        let (early, late): (Vec<_>, Vec<_>) =
            stretches.into_iter().partition(|(index, _)| index % 3 == 1);
        for (index, stretch) in early.into_iter().chain(late.into_iter().rev()) {
            tree.add(index, index * step as u64, stretch);
        }
        tree.finish()
    }

    #[test]
    fn stretches_of_any_length_give_the_hash_of_all_bytes() {
        let all = bytes(70_000);
        for len in [0, 1, 1023, 1024, 1025, 2048, 3072, 4096, 5000, 8192, 65_536, 69_999] {
            let wanted = blake3::hash(&all[..len]);
            for step in [1, 7, 1000, 1024, 1536, 2048, 3072, 4096, 5120, 10_000, 16_384, 70_000] {
                if len / step < 3000 {
                    assert_eq!(in_stretches(&all[..len], step), wanted, "{len} by {step}");
                }
            }
        }
    }

    #[test]
    fn every_number_of_chunks_up_to_some_trees_gives_the_hash_of_all_bytes() {
        let all = bytes(40 * 1024);
        for len in (1..=40).flat_map(|chunks| [chunks * 1024 - 1, chunks * 1024]) {
            for step in [1024, 2048, 3000, 5 * 1024] {
                assert_eq!(in_stretches(&all[..len], step), blake3::hash(&all[..len]), "{len}");
            }
        }
    }
}
