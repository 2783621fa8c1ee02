//! Blocks of four-bit floats, made of codes and scales that other schemes store apart.
//!
//! A code of ggml's is the same four bits as everywhere. Within a group, those of its first half
//! are low nibbles, those of its second half high ones.
//!
//! ```text
//! MXFP4   a scale (E8M0), 16 bytes of codes                      32 elements
//! NVFP4   4 scales (E4M3 without a sign), 4 times 8 bytes        64 elements
//! ```

use std::sync::Arc;

use super::scales;
use crate::blocks::Block;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{
    CodeNumbers, CodedWeight, EncodedTensor, Groups, LaidOut, LayoutMismatch, Order, PackedWeight,
    Packer, Panel, TargetLayout, ToLayOut,
};

/// All of them.
pub(super) const ALL: &[&dyn TargetLayout] = &[&MXFP4, &NVFP4];

const MXFP4: Blocks<1, 16> =
    Blocks { block: 39, file_type: 38, scale: DType::F8_E8M0, no_scale: 255 };

// There is no place for a sign.
const NVFP4: Blocks<4, 8> =
    Blocks { block: 40, file_type: 39, scale: DType::F8_E4M3, no_scale: 127 };

/// Blocks of so many groups, the codes of each in so many bytes.
#[derive(Clone, Copy)]
struct Blocks<const GROUPS: usize, const BYTES: usize> {
    /// Their type's number.
    block: u32,
    /// That of files which are mostly made of them.
    file_type: u32,
    scale: DType,
    /// The first byte that is no scale: what is scaled by it is no number.
    no_scale: u8,
}

impl<const GROUPS: usize, const BYTES: usize> TargetLayout for Blocks<GROUPS, BYTES> {
    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<LayoutMismatch>> {
        let weights = model.each(|weight| self.packed(weight))?;
        Ok(LaidOut { weights, ..LaidOut::default() })
    }
}

impl<const GROUPS: usize, const BYTES: usize> Blocks<GROUPS, BYTES> {
    fn packed(self, weight: &CodedWeight<'_>) -> Result<PackedWeight, String> {
        let CodedWeight { form, shape, .. } = *weight;
        let is_own = matches!(form.numbers, CodeNumbers::Floats { .. })
            && (form.scale, form.group) == (self.scale, 2 * BYTES as u64);
        let block = Block::from_id(self.block)
            .filter(|_| is_own)
            .ok_or("its codes do not fit this block type")?;
        let columns = shape.last().copied().unwrap_or(1);
        let bytes = block.bytes_for(shape.iter().rev().skip(1).product(), columns);
        let tensor = EncodedTensor {
            name: weight.name.to_owned(),
            stored: StoredType::Block(block),
            shape: shape.into(),
            bytes: bytes.ok_or("row length is not a multiple of the block size")?,
            groups: Groups::Of { elements: block.elements.into(), bytes: block.bytes.into() },
        };
        Ok(PackedWeight { form, tensors: vec![tensor], packer: Arc::new(self) })
    }
}

impl<const GROUPS: usize, const BYTES: usize> Packer for Blocks<GROUPS, BYTES> {
    fn order(&self) -> Order {
        Order::Stretches
    }

    fn unit(&self) -> u64 {
        (GROUPS * BYTES * 2) as u64
    }

    fn file_type(&self) -> Option<u32> {
        Some(self.file_type)
    }

    fn applies_factor(&self, architecture: &str, weight: &str) -> bool {
        scales::is_applied(Some(architecture), weight)
    }

    fn pack(&self, panel: &Panel<'_>, out: &mut [&mut [u8]]) -> Result<()> {
        let [out] = out else { return Ok(()) };
        let codes = panel.codes.as_chunks::<BYTES>().0.as_chunks::<GROUPS>().0;
        let scales = panel.scales.as_chunks::<GROUPS>().0;
        let blocks = out.chunks_exact_mut(GROUPS + GROUPS * BYTES);
        for ((block, codes), scales) in blocks.zip(codes).zip(scales) {
            let (first, rest) = block.split_at_mut(GROUPS);
            first.copy_from_slice(scales);
            for (out, codes) in rest.as_chunks_mut::<BYTES>().0.iter_mut().zip(codes) {
                in_halves(codes, out);
            }
        }
        match panel.scales.iter().position(|scale| *scale >= self.no_scale) {
            None => Ok(()),
            Some(at) => {
                let number = panel.factors_of.across.start + at as u64;
                let message = format!("scale {number} is negative or NaN");
                Err(Error::malformed(message))
            }
        }
    }
}

/// Codes of a group, the first half into low nibbles, the second into high ones.
#[inline(always)]
fn in_halves<const BYTES: usize>(codes: &[u8; BYTES], out: &mut [u8; BYTES]) {
    let (first, second) = codes.split_at(codes.len() / 2);
    for ((out, low), high) in out.chunks_exact_mut(2).zip(first).zip(second) {
        out[0] = low & 15 | high << 4;
        out[1] = low >> 4 | high & 0xf0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Extract;

    /// The codes of a block in the order of its elements, by ggml's rule.
    fn elements(bytes: &[u8]) -> Vec<u8> {
        bytes.iter().map(|byte| byte & 15).chain(bytes.iter().map(|byte| byte >> 4)).collect()
    }

    fn packed(packer: &dyn Packer, codes: &[u8], scales: &[u8], bytes: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; bytes];
        let factors_of = &Extract { rows: 0..1, across: 8..8 + scales.len() as u64 };
        let codes_of = &Extract { rows: 0..1, across: 0..2 * codes.len() as u64 };
        let panel = Panel { codes_of, factors_of, codes, scales, zeros: &[] };
        packer.pack(&panel, &mut [&mut out])?;
        Ok(out)
    }

    #[test]
    fn codes_keep_their_places() {
        let codes: Vec<u8> = (0..32u8).map(|at| at.wrapping_mul(37).wrapping_add(11)).collect();
        let wanted: Vec<u8> = codes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
        let out = packed(&MXFP4, &codes, &[7, 9], 34).unwrap();
        assert_eq!((out[0], out[17]), (7, 9));
        assert_eq!([elements(&out[1..17]), elements(&out[18..])].concat(), wanted);
        let out = packed(&NVFP4, &codes, &[1, 2, 3, 126], 36).unwrap();
        assert_eq!(out[..4], [1, 2, 3, 126]);
        assert_eq!(out[4..].chunks(8).flat_map(elements).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn scales_that_blocks_cannot_hold_are_told() {
        let told = |packer: &dyn Packer, scales: &[u8], bytes| {
            packed(packer, &[0; 32], scales, bytes).unwrap_err().message().to_owned()
        };
        assert!(told(&MXFP4, &[254, 255], 34).starts_with("scale 9 is"));
        for scale in [127, 128, 200, 255] {
            assert!(told(&NVFP4, &[1, 1, 1, scale], 36).starts_with("scale 11 is"));
        }
    }
}
