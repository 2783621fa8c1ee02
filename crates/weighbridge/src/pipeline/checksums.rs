//! CRC-32 sums of tensors whose tiles are seen in any order.
//!
//! A sum of two stretches is the first one's, moved by the length of the second, XOR the second
//! one's. So each tile's sum, moved by what follows it in its tensor, can be added at any time.

use std::sync::atomic::{AtomicU32, Ordering};

use crc32fast::Hasher;

use super::sink::{Sink, Tile};
use crate::containers::writing::{Fixed, Layout};
use crate::error::Result;

/// The sums of a file's tensors, as far as their tiles have been seen.
pub struct Checksums {
    sums: Vec<AtomicU32>,
    lengths: Vec<u64>,
}

impl Checksums {
    /// For the tensors of a file, where its format wants sums; `lengths` are their bytes.
    pub fn of(layout: &Layout, lengths: impl Iterator<Item = u64>) -> Option<Self> {
        let seeds = layout.seeds.as_ref()?;
        let lengths: Vec<u64> = lengths.collect();
        let moved_seeds = seeds.iter().zip(&lengths).map(|(seed, len)| moved(*seed, *len).into());
        Some(Self { sums: moved_seeds.collect(), lengths })
    }

    /// Adds what lies at `at` in a tensor.
    fn add(&self, tensor: usize, at: u64, bytes: &[u8]) {
        let (Some(sum), Some(len)) = (self.sums.get(tensor), self.lengths.get(tensor)) else {
            return;
        };
        let after = len.saturating_sub(at).saturating_sub(bytes.len() as u64);
        sum.fetch_xor(moved(crc32fast::hash(bytes), after), Ordering::Relaxed);
    }

    /// Fixed bytes with the sums in them.
    pub fn filled(&self, fixed: &Fixed) -> Vec<u8> {
        let mut bytes = fixed.bytes.clone();
        for &(tensor, place) in &fixed.sums {
            let sum = self.sums.get(tensor).map_or(0, |sum| sum.load(Ordering::Relaxed));
            if let Some(gap) = bytes.get_mut(place..place.saturating_add(4)) {
                gap.copy_from_slice(&sum.to_le_bytes());
            }
        }
        bytes
    }
}

/// What a sum becomes when `by` zero bytes follow, the sum of which is taken to be zero.
fn moved(sum: u32, by: u64) -> u32 {
    let mut hasher = Hasher::new_with_initial_len(sum, 0);
    hasher.combine(&Hasher::new_with_initial_len(0, by));
    hasher.finalize()
}

/// A sink that sums what goes through it.
pub struct Checksummed<'a> {
    /// Where it goes.
    pub to: &'a dyn Sink,
    /// Where it is summed.
    pub sums: &'a Checksums,
}

impl Sink for Checksummed<'_> {
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        self.sums.add(tile.tensor, tile.at, bytes);
        self.to.write(tile, bytes)
    }

    fn give_up(&self) {
        self.to.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_in_any_order_make_the_sum_of_the_whole() {
        let data: Vec<u8> = (0..10_000u32).map(|i| (i * 7 % 251) as u8).collect();
        let header = b"what comes first";
        let layout = Layout { seeds: Some(vec![crc32fast::hash(header)]), ..Layout::default() };
        let sums = Checksums::of(&layout, [data.len() as u64].into_iter()).unwrap();
        for start in [7_000, 0, 3_000, 9_999] {
            let end = [3_000, 7_000, 9_999, 10_000].into_iter().find(|&end| end > start).unwrap();
            sums.add(0, start as u64, &data[start..end]);
        }
        let fixed = Fixed { at: 0, bytes: vec![9; 6], sums: vec![(0, 1)] };
        let whole = crc32fast::hash(&[&header[..], &data].concat()).to_le_bytes();
        assert_eq!(sums.filled(&fixed), [&[9], &whole[..], &[9]].concat());
    }
}
