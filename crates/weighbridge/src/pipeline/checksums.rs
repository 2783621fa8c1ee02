//! CRC-32 checksums of tensors whose tiles are seen in any order.

use std::sync::atomic::{AtomicU32, Ordering};

use super::sink::{Sink, Tile};
use crate::containers::writing::{Fixed, Layout};
use crate::crc::shifted;
use crate::error::Result;

/// The checksums of a file's tensors, as far as their tiles have been seen.
pub struct Checksums {
    checksums: Vec<AtomicU32>,
    lengths: Vec<u64>,
}

impl Checksums {
    /// For the tensors of a file, where its format wants checksums; `lengths` are their bytes.
    pub fn of(layout: &Layout, lengths: impl Iterator<Item = u64>) -> Option<Self> {
        let seeds = layout.seeds.as_ref()?;
        let lengths: Vec<u64> = lengths.collect();
        let shifted_seeds =
            seeds.iter().zip(&lengths).map(|(seed, len)| shifted(*seed, *len).into());
        Some(Self { checksums: shifted_seeds.collect(), lengths })
    }

    /// Adds the bytes at `at` in a tensor.
    fn add(&self, tensor: usize, at: u64, bytes: &[u8]) {
        let (Some(checksum), Some(len)) = (self.checksums.get(tensor), self.lengths.get(tensor))
        else {
            return;
        };
        let after = len.saturating_sub(at).saturating_sub(bytes.len() as u64);
        checksum.fetch_xor(shifted(crc32fast::hash(bytes), after), Ordering::Relaxed);
    }

    /// Fixed bytes with the checksums filled in.
    pub fn filled(&self, fixed: &Fixed) -> Vec<u8> {
        let mut bytes = fixed.bytes.clone();
        for &(tensor, place) in &fixed.checksums {
            let checksum = self.checksums.get(tensor).map_or(0, |crc| crc.load(Ordering::Relaxed));
            if let Some(gap) = bytes.get_mut(place..place.saturating_add(4)) {
                gap.copy_from_slice(&checksum.to_le_bytes());
            }
        }
        bytes
    }
}

/// Passes tiles on to another sink, and adds them to the checksums.
pub struct Checksummed<'a> {
    /// The other sink.
    pub to: &'a dyn Sink,
    /// What collects the checksums.
    pub checksums: &'a Checksums,
}

impl Sink for Checksummed<'_> {
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        self.checksums.add(tile.tensor, tile.at, bytes);
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
        let checksums = Checksums::of(&layout, [data.len() as u64].into_iter()).unwrap();
        for start in [7_000, 0, 3_000, 9_999] {
            let end = [3_000, 7_000, 9_999, 10_000].into_iter().find(|&end| end > start).unwrap();
            checksums.add(0, start as u64, &data[start..end]);
        }
        let fixed = Fixed { at: 0, bytes: vec![9; 6], checksums: vec![(0, 1)] };
        let whole = crc32fast::hash(&[&header[..], &data].concat()).to_le_bytes();
        assert_eq!(checksums.filled(&fixed), [&[9], &whole[..], &[9]].concat());
    }
}
