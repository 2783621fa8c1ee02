//! Encodes numbers as MLX's words, scales and biases: an [`Encoder`] for a weight.

use std::ops::Range;

use half::{bf16, f16};

use super::affine::Affine;
use super::floats::Floats;
use super::kind::{Kind, Mode};
use super::{decoding, module_of};
use crate::catalog::{Shape, element_count};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{Decoded, EncodedTensor, Encoder, Groups, WeightEncoder};
use crate::simd;

/// Stores a weight as MLX does.
#[derive(Clone, Copy)]
pub(super) struct MlxEncoder {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Type of the weight, and of its scales and biases.
    pub(super) dtype: DType,
}

impl MlxEncoder {
    /// Returns the type of the scales.
    fn scale_type(self) -> DType {
        match self.kind.mode {
            Mode::Affine => self.dtype,
            _ => DType::U8,
        }
    }
}

impl Encoder for MlxEncoder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn types(&self) -> Vec<StoredType> {
        vec![DType::U32.into(), self.scale_type().into()]
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let Kind { mode, bits, group } = self.kind;
        let ([.., columns], Some(prefix)) = (shape, module_of(name, "weight")) else {
            refuse!("its name does not end in `.weight`, or it has no dimensions")
        };
        let elements = element_count(shape).filter(|elements| *elements > 0);
        elements.ok_or_else(|| format!("its shape is {shape:?}"))?;
        refuse_if!(
            columns % group != 0,
            "row length {columns} is not a multiple of the group size ({group})"
        );
        let tensor = |end: &str, dtype, per_row, bytes| {
            let sides =
                shape[..shape.len() - 1].iter().copied().chain([per_row]).collect::<Shape>();
            let groups = Groups::Of { elements: group, bytes };
            EncodedTensor::of(format!("{prefix}{end}"), dtype, &sides, groups)
        };
        let words = columns / 8 * u64::from(bits) / 4;
        let width = u64::from(self.scale_type().bits() / 8);
        let beside = |end| tensor(end, self.scale_type(), columns / group, width);
        let weight = tensor("weight", DType::U32, words, group * u64::from(bits) / 8);
        let mut tensors = vec![weight, beside("scales")];
        tensors.extend((mode == Mode::Affine).then(|| beside("biases")));
        Ok(tensors)
    }

    fn refuses_non_finite(&self) -> Option<&'static str> {
        (self.kind.mode != Mode::Affine).then_some(
            "MLX would store finite numbers for its whole group, which have nothing to do with the \
             values",
        )
    }

    fn begin(&self, _: &[u64]) -> Box<dyn WeightEncoder> {
        Box::new(*self)
    }
}

impl WeightEncoder for MlxEncoder {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        match out {
            [codes, scales, biases] => self.affine(values, codes, [scales, biases]),
            [codes, scales] => {
                let (mode, dtype) = (self.kind.mode, self.dtype);
                simd::run(simd::level(), Floats { values, mode, dtype, codes, scales });
                Ok(())
            }
            _ => Err(Error::usage("expected output tensors")),
        }
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let (codes, factors): (_, [&[u8]; 2]) = match *encoded {
            [codes, scales, biases] => (codes, [scales, biases]),
            [codes, scales] => (codes, [scales, &[]]),
            _ => return Ok(false),
        };
        decoding::decode((self.kind, self.dtype), codes, factors, decoded);
        Ok(true)
    }
}

impl MlxEncoder {
    fn affine(self, values: &[f32], codes: &mut [u8], outs: [&mut [u8]; 2]) -> Result<()> {
        let too_large = |_| Error::limit("a group is too large for this machine's address space");
        let group = usize::try_from(self.kind.group).map_err(too_large)?;
        let mut factors = vec![[0.0; 2]; values.len() / group];
        let (level, factors) = (simd::level(), &mut factors[..]);
        macro_rules! run {
            ($($bits:literal)*) => {
                match self.kind.bits {
                    $($bits => simd::run(level, Affine::<$bits> { values, group, codes, factors }),)*
                    bits => return Err(Error::usage(format!("codes of {bits} bits"))),
                }
            };
        }
        run!(2 3 4 5 6 8);
        for (at, out) in outs.into_iter().enumerate() {
            let numbers = factors.iter().map(|factors| factors[at]);
            match self.dtype {
                DType::BF16 => write(out, numbers.map(|n| bf16::from_f32(n).to_le_bytes())),
                DType::F16 => write(out, numbers.map(|n| f16::from_f32(n).to_le_bytes())),
                _ => write(out, numbers.map(f32::to_le_bytes)),
            }
        }
        Ok(())
    }
}

/// Writes the bytes of numbers.
fn write<const N: usize>(out: &mut [u8], numbers: impl Iterator<Item = [u8; N]>) {
    out.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(out, bytes)| *out = bytes);
}
