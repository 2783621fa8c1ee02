//! CRC-32 of bytes that are seen in any order.
//!
//! The CRC of two ranges is that of the first, shifted by the length of the second, XOR that of the
//! second. So the CRC of a piece, shifted by the bytes that follow it, can be added at any time.

use std::sync::atomic::{AtomicU32, Ordering};

use crc32fast::Hasher;

/// A CRC shifted by `by` bytes.
pub fn shifted(crc: u32, by: u64) -> u32 {
    let mut hasher = Hasher::new_with_initial_len(crc, 0);
    hasher.combine(&Hasher::new_with_initial_len(0, by));
    hasher.finalize()
}

/// The checksum of a file that is written in pieces, each at its place. Its CRC starts from zero, so
/// that gaps, which are zeros, add nothing.
#[derive(Debug)]
pub struct FileChecksum {
    len: u64,
    sum: AtomicU32,
}

impl FileChecksum {
    /// Of a file of `len` bytes of which none has been seen.
    pub fn new(len: u64) -> Self {
        Self { len, sum: AtomicU32::new(0) }
    }

    /// Adds the bytes at `offset`. No byte may be added twice.
    pub fn add(&self, offset: u64, bytes: &[u8]) {
        let mut hasher = Hasher::new_with_initial(!0);
        hasher.update(bytes);
        let after = self.len.saturating_sub(offset).saturating_sub(bytes.len() as u64);
        self.sum.fetch_xor(shifted(!hasher.finalize(), after), Ordering::Relaxed);
    }

    /// The checksum of what was added.
    pub fn value(&self) -> u32 {
        self.sum.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_any_order_make_the_sum_of_the_file() {
        let mut data: Vec<u8> = (0..10_000u32).map(|i| (i * 7 % 251) as u8).collect();
        data[3_000..4_000].fill(0);
        let (whole, pieces) = (FileChecksum::new(10_000), FileChecksum::new(10_000));
        whole.add(0, &data);
        // What is left out is zero.
        for (start, end) in [(7_000, 10_000), (0, 3_000), (4_000, 7_000)] {
            pieces.add(start as u64, &data[start..end]);
        }
        assert_eq!(pieces.value(), whole.value());
        let (zeros, other) = (FileChecksum::new(10_000), FileChecksum::new(10_000));
        zeros.add(0, &[0; 10_000]);
        data[9_999] ^= 1;
        other.add(0, &data);
        assert!(whole.value() != zeros.value() && whole.value() != other.value());
    }
}
