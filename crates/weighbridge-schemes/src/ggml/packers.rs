//! Blocks of four-bit floats, made of codes and scales that other schemes store apart.
//!
//! A code of ggml's is the same four bits as everywhere. Within a group, those of its first half
//! are low nibbles, those of its second half high ones.
//!
//! ```text
//! MXFP4   a scale (E8M0), 16 bytes of codes                      32 elements
//! NVFP4   4 scales (E4M3 without a sign), 4 times 8 bytes        64 elements
//! ```

use crate::blocks::Block;
use crate::dtype::DType;
use crate::framework::{CodeKind, Packer};

/// All of them.
pub(super) const ALL: &[&dyn Packer] = &[&Mxfp4, &Nvfp4];

/// No scale: what is scaled by it is no number.
const NAN_OF_POWERS: u8 = 255;
const NAN_OF_E4M3: u8 = 127;

struct Mxfp4;

impl Packer for Mxfp4 {
    fn kind(&self) -> CodeKind {
        CodeKind { scale: DType::F8_E8M0, group: 32 }
    }

    fn block(&self) -> Option<&'static Block> {
        Block::from_id(39)
    }

    fn file_type(&self) -> u32 {
        38
    }

    fn pack(&self, codes: &[u8], scales: &[u8], out: &mut [u8]) -> Result<(), usize> {
        let (codes, blocks) = (codes.as_chunks::<16>().0, out.as_chunks_mut::<17>().0);
        for ((block, codes), &scale) in blocks.iter_mut().zip(codes).zip(scales) {
            let [first, rest @ ..] = block;
            *first = scale;
            in_halves(codes, rest);
        }
        scales.iter().position(|scale| *scale == NAN_OF_POWERS).map_or(Ok(()), Err)
    }
}

struct Nvfp4;

impl Packer for Nvfp4 {
    fn kind(&self) -> CodeKind {
        CodeKind { scale: DType::F8_E4M3, group: 16 }
    }

    fn block(&self) -> Option<&'static Block> {
        Block::from_id(40)
    }

    fn file_type(&self) -> u32 {
        39
    }

    fn pack(&self, codes: &[u8], scales: &[u8], out: &mut [u8]) -> Result<(), usize> {
        let (codes, blocks) = (codes.as_chunks::<32>().0, out.as_chunks_mut::<36>().0);
        let scales_of = scales.as_chunks::<4>().0;
        for ((block, codes), scales) in blocks.iter_mut().zip(codes).zip(scales_of) {
            let (first, rest) = block.split_at_mut(4);
            first.copy_from_slice(scales);
            for (out, codes) in rest.chunks_exact_mut(8).zip(codes.chunks_exact(8)) {
                in_halves(codes, out);
            }
        }
        // There is no place for a sign.
        scales.iter().position(|scale| *scale >= NAN_OF_E4M3).map_or(Ok(()), Err)
    }
}

/// Codes of a group, the first half into low nibbles, the second into high ones.
fn in_halves(codes: &[u8], out: &mut [u8]) {
    let (first, second) = codes.split_at(codes.len() / 2);
    for ((out, low), high) in out.chunks_exact_mut(2).zip(first).zip(second) {
        out[0] = low & 15 | high << 4;
        out[1] = low >> 4 | high & 0xf0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of a block in the order of its elements, by ggml's rule.
    fn elements(bytes: &[u8]) -> Vec<u8> {
        bytes.iter().map(|byte| byte & 15).chain(bytes.iter().map(|byte| byte >> 4)).collect()
    }

    #[test]
    fn codes_keep_their_places() {
        let codes: Vec<u8> = (0..32u8).map(|at| at.wrapping_mul(37).wrapping_add(11)).collect();
        let wanted: Vec<u8> = codes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
        let mut out = [0; 34];
        Mxfp4.pack(&codes, &[7, 9], &mut out).unwrap();
        assert_eq!((out[0], out[17]), (7, 9));
        assert_eq!([elements(&out[1..17]), elements(&out[18..])].concat(), wanted);
        let mut out = [0; 36];
        Nvfp4.pack(&codes, &[1, 2, 3, 126], &mut out).unwrap();
        assert_eq!(out[..4], [1, 2, 3, 126]);
        assert_eq!(out[4..].chunks(8).flat_map(elements).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn scales_that_blocks_cannot_hold_are_told() {
        assert_eq!(Mxfp4.pack(&[0; 32], &[254, 255], &mut [0; 34]), Err(1));
        for scale in [127, 128, 200, 255] {
            assert_eq!(Nvfp4.pack(&[0; 32], &[1, 1, 1, scale], &mut [0; 36]), Err(3));
        }
    }
}
