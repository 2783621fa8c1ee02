//! NVFP4 with a second scale beside it, as llama.cpp's converter writes checkpoints that have one
//! (`companion.rs` reads it).
//!
//! ggml's own NVFP4 has no second scale, and the scales of its blocks are at least 2^-9: most blocks
//! of a weight whose numbers are about 0.002 become zeros. Here:
//!
//! - `P.scale` is the largest finite magnitude of the weight over 6 * 448, in single precision; for a
//!   stack of matrices one for each. It is 1 where that is no normal number.
//! - `P.weight` has ggml's blocks of every number over that scale, rounded to single precision.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::encoder::BlockEncoder;
use crate::blocks::Block;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{Decoded, EncodedTensor, Encoder, Groups, SameLevels, WeightEncoder};

/// The largest number of a block with the largest scale.
const LARGEST: f32 = 6.0 * 448.0;

/// Numbers that are divided at a time, whole blocks.
const STRETCH: usize = 4096;

/// Blocks of NVFP4 and the scale beside them.
pub(crate) fn nvfp4_with_scale() -> Option<Arc<dyn Encoder>> {
    let blocks = BlockEncoder::of(Block::from_name("NVFP4")?)?;
    Some(Arc::new(ScaledFp4Encoder { blocks }))
}

struct ScaledFp4Encoder {
    blocks: BlockEncoder,
}

impl Encoder for ScaledFp4Encoder {
    fn name(&self) -> &'static str {
        "NVFP4+scale"
    }

    fn types(&self) -> Vec<StoredType> {
        let mut types = self.blocks.types();
        types.push(DType::F32.into());
        types
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let prefix = name.strip_suffix(".weight");
        let prefix =
            prefix.ok_or("its name does not end in `.weight`, so its scale cannot be named")?;
        let mut outputs = self.blocks.outputs(name, shape)?;
        let count = matrices(shape);
        count.checked_mul(4).ok_or("it has too many matrices")?;
        let scale = format!("{prefix}.scale");
        outputs.push(EncodedTensor::of(scale, DType::F32, &[count], Groups::Once));
        Ok(outputs)
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        let count = matrices(shape).max(1);
        Box::new(ScaledFp4Weight {
            blocks: self.blocks.begin(shape),
            matrix: (shape.iter().product::<u64>() / count).max(1),
            largest: (0..count).map(|_| AtomicU32::new(0)).collect(),
        })
    }
}

/// How many matrices have a scale of their own.
fn matrices(shape: &[u64]) -> u64 {
    if shape.len() > 2 { shape[..shape.len() - 2].iter().product() } else { 1 }
}

/// One weight.
struct ScaledFp4Weight {
    blocks: Box<dyn WeightEncoder>,
    /// Numbers of a matrix.
    matrix: u64,
    /// The bits of each matrix's largest magnitude, which are in the order of the magnitudes.
    largest: Vec<AtomicU32>,
}

impl ScaledFp4Weight {
    /// The matrix that an element lies in, and how many elements are left of it.
    fn place(&self, element: u64) -> (usize, usize) {
        let matrix = usize::try_from(element / self.matrix).unwrap_or(usize::MAX);
        let left = usize::try_from(self.matrix - element % self.matrix).unwrap_or(usize::MAX);
        (matrix, left)
    }

    fn scale(&self, matrix: usize) -> f32 {
        let bits = self.largest.get(matrix).map_or(0, |bits| bits.load(Ordering::Relaxed));
        let scale = f32::from_bits(bits) / LARGEST;
        if scale.is_normal() { scale } else { 1.0 }
    }

    /// Multiplies levels of blocks, from an element on, with their scales.
    fn scale_levels(&self, mut at: u64, levels: &mut [SameLevels]) {
        for levels in levels {
            let scale = self.scale(self.place(at).0);
            for level in [&mut levels.step, &mut levels.lowest, &mut levels.highest] {
                *level *= scale;
            }
            at += levels.elements as u64;
        }
    }
}

impl WeightEncoder for ScaledFp4Weight {
    fn needs_first_pass(&self) -> bool {
        true
    }

    fn see(&self, elements: Range<u64>, mut values: &[f32]) {
        let mut at = elements.start;
        while !values.is_empty() {
            let (matrix, left) = self.place(at);
            let (now, later) = values.split_at(values.len().min(left));
            let finite = now.iter().map(|value| value.to_bits() & 0x7fff_ffff);
            let finite = finite.map(|bits| if bits < f32::INFINITY.to_bits() { bits } else { 0 });
            if let Some(largest) = self.largest.get(matrix) {
                largest.fetch_max(finite.max().unwrap_or_default(), Ordering::Relaxed);
            }
            (at, values) = (at + now.len() as u64, later);
        }
    }

    fn encode(&self, elements: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [blocks, scales] = out else {
            return Err(Error::usage("expected two tensors: blocks and a scale"));
        };
        for (matrix, scale) in scales.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            *scale = self.scale(matrix).to_le_bytes();
        }
        let (mut at, mut values, mut blocks) = (elements.start, values, &mut **blocks);
        let mut divided = [0.0; STRETCH];
        while !values.is_empty() {
            let (matrix, left) = self.place(at);
            let count = values.len().min(left).min(STRETCH);
            let (now, later) = values.split_at(count);
            let (bytes, later_bytes) = blocks.split_at_mut(count / 64 * 36);
            let scale = self.scale(matrix);
            for (divided, value) in divided.iter_mut().zip(now) {
                *divided = value / scale;
            }
            let range = at..at + count as u64;
            self.blocks.encode(range, &divided[..count], &mut [bytes])?;
            (at, values, blocks) = (at + count as u64, later, later_bytes);
        }
        Ok(())
    }

    fn decode(
        &self,
        elements: Range<u64>,
        encoded: &[&[u8]],
        decoded: &mut Decoded,
    ) -> Result<bool> {
        let Some((blocks, _)) = encoded.split_first() else { return Ok(false) };
        if !self.blocks.decode(elements.clone(), &[*blocks], decoded)? {
            return Ok(false);
        }
        let (mut at, mut numbers) = (elements.start, &mut decoded.numbers[..]);
        while !numbers.is_empty() {
            let (matrix, left) = self.place(at);
            let (now, later) = numbers.split_at_mut(numbers.len().min(left));
            let scale = self.scale(matrix);
            now.iter_mut().for_each(|number| *number *= scale);
            (at, numbers) = (at + now.len() as u64, later);
        }
        self.scale_levels(elements.start, &mut decoded.levels);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_needs_the_name_of_a_weight() {
        let encoder = nvfp4_with_scale().unwrap();
        assert!(encoder.outputs("w.bias", &[4, 64]).unwrap_err().contains(".weight"));
        assert!(encoder.outputs("w.weight", &[4, 65]).is_err());
    }
}
