//! Block tensors of random bytes, as GGUF files of one tensor held in memory.

use std::sync::Arc;

use weighbridge::internals::blocks::Block;
use weighbridge::{Model, Weight};

use crate::decoding::Subject;

/// Whether the scales inside the blocks are left as random as the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scales {
    /// Any bit pattern, NaN and infinity included.
    Raw,
    /// Small positive numbers, as in real weights.
    Sane,
}

/// A byte of a block: its offset, which of its bits are random, and the other bits.
type ScaleByte = (usize, u8, u8);

/// Scales that the table of block types does not list as multi-byte numbers.
const BYTE_SCALES: &[(&str, &[ScaleByte])] = &[
    // One power of two, near 2^-8.
    ("MXFP4", &[(0, 0x03, 0x78)]),
    // Four small floats of 4 exponent and 3 mantissa bits.
    ("NVFP4", &[(0, 0x0f, 0x20), (1, 0x0f, 0x20), (2, 0x0f, 0x20), (3, 0x0f, 0x20)]),
    // A half float, one hex digit at the top of each of the last four words, lowest first.
    ("IQ1_M", &[(53, 0x7f, 0x40), (55, 0x0f, 0x10)]),
];

/// A sequence of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// One tensor of one block type, in a GGUF file in memory.
pub struct BlockFile {
    /// Its type.
    pub block: &'static Block,
    /// Rows.
    pub rows: u64,
    /// Elements of each row.
    pub columns: u64,
    /// The whole file.
    pub bytes: Arc<[u8]>,
    /// Where its blocks begin.
    pub data: usize,
    model: Model,
}

impl BlockFile {
    /// Random blocks; the same seed gives the same bytes.
    pub fn new(block: &'static Block, rows: u64, columns: u64, scales: Scales, seed: u64) -> Self {
        let mut bytes = header(block, rows, columns);
        let data = bytes.len();
        let len = block.bytes_for(rows, columns).expect("rows are whole blocks");
        bytes.resize(data + len as usize, 0);
        let mut random = Random(seed);
        random.fill(&mut bytes[data..]);
        if scales == Scales::Sane {
            for bytes in bytes[data..].chunks_exact_mut(block.bytes as usize) {
                tame(block, bytes, &mut random);
            }
        }
        let bytes: Arc<[u8]> = bytes.into();
        let model = Model::open_bytes(Arc::clone(&bytes), "random.gguf").expect("it opens");
        Self { block, rows, columns, bytes, data, model }
    }

    /// The weight.
    pub fn weight(&self) -> Weight {
        self.model.weights().next().expect("it holds one tensor")
    }

    /// The weight and its blocks.
    pub fn subject(&self) -> Subject<'_> {
        Subject { weight: self.weight(), parts: vec![self.blocks()] }
    }

    /// Its blocks.
    pub fn blocks(&self) -> &[u8] {
        &self.bytes[self.data..]
    }

    /// Its elements.
    pub fn elements(&self) -> usize {
        (self.rows * self.columns) as usize
    }
}

/// Turns a block's scales into small positive numbers: half floats from 2^-10 to 2^-7, and the
/// single float at the front of a block.
fn tame(block: &Block, bytes: &mut [u8], random: &mut Random) {
    let bits = random.next();
    for &(offset, width, count) in block.words {
        let at = usize::from(offset);
        match (width, count) {
            (2, 1 | 2) => {
                for word in 0..usize::from(count) {
                    let half = 0x1400 | ((bits >> (16 * word)) & 0x0fff) as u16;
                    bytes[at + 2 * word..][..2].copy_from_slice(&half.to_le_bytes());
                }
            }
            // A run of words from the block's front begins with the scale.
            (2, _) if offset == 0 => {
                bytes[..2].copy_from_slice(&(0x1400 | (bits & 0x0fff) as u16).to_le_bytes());
            }
            (4, 1) if offset == 0 => {
                bytes[..4]
                    .copy_from_slice(&(0x3b00_0000 | (bits & 0x007f_ffff) as u32).to_le_bytes());
            }
            _ => {}
        }
    }
    let listed = BYTE_SCALES.iter().find(|(name, _)| *name == block.name);
    for &(at, free, fixed) in listed.map_or(&[][..], |(_, bytes)| bytes) {
        bytes[at] = (bytes[at] & free) | fixed;
    }
}

fn header(block: &Block, rows: u64, columns: u64) -> Vec<u8> {
    let mut head = b"GGUF".to_vec();
    let text = |head: &mut Vec<u8>, text: &str| {
        head.extend_from_slice(&(text.len() as u64).to_le_bytes());
        head.extend_from_slice(text.as_bytes());
    };
    head.extend_from_slice(&3u32.to_le_bytes());
    head.extend_from_slice(&1u64.to_le_bytes());
    head.extend_from_slice(&1u64.to_le_bytes());
    text(&mut head, "general.architecture");
    head.extend_from_slice(&8u32.to_le_bytes());
    text(&mut head, "llama");
    text(&mut head, "blk.0.ffn_up.weight");
    head.extend_from_slice(&2u32.to_le_bytes());
    head.extend_from_slice(&columns.to_le_bytes());
    head.extend_from_slice(&rows.to_le_bytes());
    head.extend_from_slice(&block.id.to_le_bytes());
    head.extend_from_slice(&0u64.to_le_bytes());
    head.resize(head.len().next_multiple_of(32), 0);
    head
}
