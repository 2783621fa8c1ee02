//! CRC-32 checksums of tensors whose tiles are seen in any order.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::containers::writing::{Fixed, Layout};
use crate::crc::shifted;

/// The checksums of a file's tensors, as far as their tiles have been seen, and their lengths; none
/// where the format wants no checksums.
#[derive(Default)]
pub struct Checksums(Vec<(AtomicU32, u64)>);

impl Checksums {
    /// For the tensors of a file; `lengths` are their bytes.
    pub fn of(layout: &Layout, lengths: impl Iterator<Item = u64>) -> Self {
        let seeds = layout.seeds.iter().flatten().zip(lengths);
        Self(seeds.map(|(seed, len)| (shifted(*seed, len).into(), len)).collect())
    }

    /// Adds the bytes at `at` in a tensor.
    pub fn add(&self, tensor: usize, at: u64, bytes: &[u8]) {
        if let Some((checksum, len)) = self.0.get(tensor) {
            let after = len.saturating_sub(at).saturating_sub(bytes.len() as u64);
            checksum.fetch_xor(shifted(crc32fast::hash(bytes), after), Ordering::Relaxed);
        }
    }

    /// Fixed bytes with the checksums filled in.
    pub fn filled<'f>(&self, fixed: &'f Fixed) -> Cow<'f, [u8]> {
        let mut bytes = Cow::Borrowed(&fixed.bytes[..]);
        for &(tensor, place) in &fixed.checksums {
            let checksum = self.0.get(tensor).map_or(0, |(crc, _)| crc.load(Ordering::Relaxed));
            if let Some(gap) = bytes.to_mut().get_mut(place..place.saturating_add(4)) {
                gap.copy_from_slice(&checksum.to_le_bytes());
            }
        }
        bytes
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
        let checksums = Checksums::of(&layout, [data.len() as u64].into_iter());
        for start in [7_000, 0, 3_000, 9_999] {
            let end = [3_000, 7_000, 9_999, 10_000].into_iter().find(|&end| end > start).unwrap();
            checksums.add(0, start as u64, &data[start..end]);
        }
        let fixed = Fixed { at: 0, bytes: vec![9; 6], checksums: vec![(0, 1)] };
        let whole = crc32fast::hash(&[&header[..], &data].concat()).to_le_bytes();
        assert_eq!(*checksums.filled(&fixed), [&[9], &whole[..], &[9]].concat());
    }
}
