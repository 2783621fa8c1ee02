//! Encodes numbers as signed bytes with one scale per row: an [`Encoder`].
//!
//! The arithmetic is that of bitsandbytes 0.50.2. Numbers are rounded to half precision first.
//! `SCB` is the largest magnitude of a row, and a code is the number times `(1 / SCB) * 127` in
//! single precision, rounded to the nearest, ties to even. A row of zeros has codes of zero, and so
//! has a row with NaN or infinity, whose `SCB` is that.

use std::ops::Range;

use half::f16;

use super::eight::OVER_127;
use super::four_encoder::write;
use crate::arithmetic::magnitude::largest_magnitude;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{Decoded, EncodedTensor, Encoder, Groups, SameLevels, WeightEncoder};
use crate::simd::{self, half_to_f32, kernel};

/// Stores a weight in signed bytes.
#[derive(Clone, Copy)]
pub(super) struct EightBits;

/// Name for users.
pub(super) const NAME: &str = "bnb-int8";

impl Encoder for EightBits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn types(&self) -> Vec<StoredType> {
        vec![DType::I8.into(), DType::F32.into(), DType::U8.into()]
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let &[rows, columns] = shape else { return Err(format!("its shape is {shape:?}")) };
        let module = name.strip_suffix(".weight").ok_or("its name does not end in `.weight`")?;
        let bytes = rows.checked_mul(columns).filter(|bytes| *bytes > 0);
        bytes.ok_or_else(|| format!("its shape is {shape:?}"))?;
        let tensor = |end: &str, dtype, sides: &[u64], groups| {
            EncodedTensor::of(format!("{module}.{end}"), dtype, sides, groups)
        };
        let row = |bytes| Groups::Of { elements: columns, bytes };
        Ok(vec![
            tensor("weight", DType::I8, shape, row(columns)),
            tensor("SCB", DType::F32, &[rows], row(4)),
            tensor("weight_format", DType::U8, &[], Groups::Once),
        ])
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        Box::new(EightBitsOfWeight { columns: shape.last().copied().unwrap_or(1).max(1) })
    }
}

/// Stores one weight.
struct EightBitsOfWeight {
    columns: u64,
}

impl WeightEncoder for EightBitsOfWeight {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        // The last tensor's only number is zero, for rows.
        let [codes, scales, ..] = out else { return Err(Error::usage("expected output tensors")) };
        let too_large = |_| Error::limit("a row is too large for this machine's address space");
        let columns = usize::try_from(self.columns).map_err(too_large)?;
        let mut halves = vec![f16::ZERO; columns];
        let rows = values.chunks_exact(columns).zip(codes.chunks_exact_mut(columns));
        for ((values, codes), scale) in rows.zip(scales.chunks_exact_mut(4)) {
            write(scale, &[encode_row(simd::level(), values, &mut halves, codes)]);
        }
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [codes, scales, ..] = encoded else { return Ok(false) };
        let columns = usize::try_from(self.columns).unwrap_or(usize::MAX);
        let rows = decoded.numbers.chunks_mut(columns).zip(codes.chunks(columns));
        for ((out, codes), scale) in rows.zip(scales.as_chunks().0) {
            let scale = f32::from_le_bytes(*scale);
            for (out, code) in out.iter_mut().zip(codes) {
                *out = f32::from(code.cast_signed()) * scale * OVER_127;
            }
            let (elements, step) = (out.len(), scale / 127.0);
            decoded.levels.push(SameLevels { elements, step, lowest: -scale, highest: scale });
        }
        Ok(true)
    }
}

kernel! {
    /// Encodes a row, with a buffer for its numbers in half precision. Returns its largest
    /// magnitude.
    fn encode_row(isa; values: &[f32], halves: &mut [f16], codes: &mut [u8]) -> f32 {
        isa.narrow(values, halves);
        // Rounding keeps the order of magnitudes.
        let largest = f16::from_f32(largest_magnitude(values)).to_f32();
        let factor = if largest == 0.0 { 0.0 } else { 1.0 / largest * 127.0 };
        for (half, code) in halves.iter().zip(codes) {
            let value = half_to_f32(half.to_bits());
            // Between -127 and 127. NaN becomes zero, as in a row with infinity.
            #[allow(clippy::cast_possible_truncation)]
            let rounded = (value * factor).round_ties_even() as i32 as i8;
            *code = rounded.cast_unsigned();
        }
        largest
    }
}
