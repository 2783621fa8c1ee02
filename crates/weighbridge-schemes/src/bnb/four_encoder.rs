//! Encodes numbers as NF4 and FP4: an [`Encoder`] for a weight.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::mean::mean;
use super::nearest::{self, BLOCK, Fp4, Levels, Nf4};
use super::{STATE, scales, state_text};
use crate::arithmetic::decode_again::{Coded, scaled};
use crate::arithmetic::matrix::{Arithmetic, Codes, Packing};
use crate::catalog::element_count;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{Decoded, EncodedTensor, Encoder, Groups, WeightEncoder};
use crate::simd::{self, Level};

/// A type of codes, with its levels erased.
pub(super) struct Kind {
    pub(super) name: &'static str,
    map: [f32; 16],
    /// Typical distance between neighbouring levels.
    step: f32,
    encode: fn(Level, &[f32], &mut [u8], &mut [f32]),
}

pub(super) static NF4: Kind = Kind {
    name: "nf4",
    map: Nf4::MAP,
    step: Nf4::MAP[12] - Nf4::MAP[11],
    encode: nearest::encode::<Nf4>,
};
pub(super) static FP4: Kind =
    Kind { name: "fp4", map: Fp4::MAP, step: Fp4::MAP[6], encode: nearest::encode::<Fp4> };

/// Stores a weight in four-bit codes.
#[derive(Clone)]
pub(super) struct FourBits {
    pub(super) name: &'static str,
    pub(super) kind: &'static Kind,
    /// Whether scales are codes themselves.
    pub(super) is_nested: bool,
    /// Type that loaders decode to.
    pub(super) dtype: DType,
}

impl FourBits {
    fn state(&self, shape: &[u64]) -> String {
        state_text::state(self.kind.name, self.dtype, shape, self.is_nested)
    }
}

impl Encoder for FourBits {
    fn name(&self) -> &'static str {
        self.name
    }

    fn types(&self) -> Vec<StoredType> {
        vec![DType::U8.into(), DType::F32.into()]
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let elements = element_count(shape).filter(|elements| *elements > 0);
        let elements = elements.ok_or_else(|| format!("its shape is {shape:?}"))?;
        let (bytes, blocks) = (elements.div_ceil(2), elements.div_ceil(BLOCK as u64));
        let state = state_text::length(&self.state(shape), self.is_nested) as u64;
        let each =
            |blocks: usize, bytes: u64| Groups::Of { elements: (blocks * BLOCK) as u64, bytes };
        let tensor = |end: &str, dtype: DType, shape: &[u64], groups| {
            EncodedTensor::of(format!("{name}{end}"), dtype, shape, groups)
        };
        let u8 = |end: &str, shape: &[u64], groups| tensor(end, DType::U8, shape, groups);
        let f32 = |end: &str, count: u64, groups| tensor(end, DType::F32, &[count], groups);
        let mut tensors = vec![u8("", &[bytes, 1], each(1, BLOCK as u64 / 2))];
        if self.is_nested {
            tensors.push(u8(".absmax", &[blocks], each(1, 1)));
        } else {
            tensors.push(f32(".absmax", blocks, each(1, 4)));
        }
        tensors.push(f32(".quant_map", 16, Groups::Once));
        if self.is_nested {
            let outer = blocks.div_ceil(scales::BLOCK as u64);
            tensors.push(f32(".nested_absmax", outer, each(scales::BLOCK, 4)));
            tensors.push(f32(".nested_quant_map", 256, Groups::Once));
        }
        let end = format!("{STATE}{}", self.kind.name);
        tensors.push(u8(&end, &[state], Groups::Once));
        Ok(tensors)
    }

    fn refuses_non_finite(&self) -> Option<&'static str> {
        self.is_nested.then_some(
            "bitsandbytes subtracts the mean of all scales, so it would store every value of the \
             weight as NaN, and a quant_state that is not JSON",
        )
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        let elements = element_count(shape).unwrap_or(0);
        Box::new(FourBitsOfWeight {
            of: self.clone(),
            state: self.state(shape),
            blocks: usize::try_from(elements.div_ceil(BLOCK as u64)).unwrap_or(usize::MAX),
            scales: Mutex::default(),
            offset: OnceLock::new(),
        })
    }
}

/// Stores one weight.
struct FourBitsOfWeight {
    of: FourBits,
    state: String,
    /// Number of blocks.
    blocks: usize,
    /// Scales of all blocks, from the first pass until their mean is known.
    scales: Mutex<Vec<f32>>,
    /// Mean of all scales.
    offset: OnceLock<f32>,
}

impl FourBitsOfWeight {
    /// Returns the mean of all scales, and frees them: a tile computes its own.
    fn offset(&self) -> f32 {
        *self.offset.get_or_init(|| {
            let mut scales = self.scales.lock().unwrap_or_else(PoisonError::into_inner);
            mean(&std::mem::take(&mut *scales))
        })
    }
}

impl WeightEncoder for FourBitsOfWeight {
    fn needs_first_pass(&self) -> bool {
        self.of.is_nested
    }

    fn see(&self, elements: Range<u64>, values: &[f32]) {
        let mut own = Vec::with_capacity(values.len().div_ceil(BLOCK));
        nearest::absmax(simd::level(), values, &mut own);
        let first = usize::try_from(elements.start).unwrap_or(usize::MAX) / BLOCK;
        let mut scales = self.scales.lock().unwrap_or_else(PoisonError::into_inner);
        scales.resize(self.blocks, 0.0);
        let places = scales.iter_mut().skip(first);
        places.zip(own).for_each(|(place, scale)| *place = scale);
    }

    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let mut absmax = vec![0.0; values.len().div_ceil(BLOCK)];
        let [codes, beside @ ..] = out else { return Err(Error::usage("expected output tensors")) };
        (self.of.kind.encode)(simd::level(), values, codes, &mut absmax);
        // Tensors that are written once have no room in later tiles.
        match beside {
            [scales, map, state] => {
                write(scales, &absmax);
                write(map, &self.of.kind.map);
                write_text(state, &self.state);
            }
            [codes, map, outer, outer_map, state] => {
                let offset = self.offset();
                write(outer, &scales::encode(&absmax, offset, codes));
                write(map, &self.of.kind.map);
                write(outer_map, &*scales::MAP);
                write_text(state, &state_text::with_offset(&self.state, offset));
            }
            _ => return Err(Error::usage("unexpected output tensors")),
        }
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let (codes, absmax) = match encoded {
            [codes, scales, _, _] => (codes, numbers(scales)),
            [codes, scales, _, outer, _, _] => {
                (codes, scales::decode(scales, &numbers(outer), self.offset()))
            }
            _ => return Ok(false),
        };
        let map = &self.of.kind.map;
        let coded = Coded {
            codes: &Codes::new(Packing::HighNibbles, |code| map[usize::from(code)]),
            arithmetic: Arithmetic::Times,
            group: BLOCK,
            bytes: codes,
            factors: &scaled(absmax.into_iter()),
            step: Some(self.of.kind.step),
        };
        coded.decode(&mut decoded.numbers, &mut decoded.levels);
        Ok(true)
    }
}

/// Writes numbers in little-endian order.
pub(super) fn write(out: &mut [u8], numbers: &[f32]) {
    let places = out.as_chunks_mut().0.iter_mut();
    places.zip(numbers).for_each(|(place, number)| *place = number.to_le_bytes());
}

/// Reads numbers in little-endian order.
fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn write_text(out: &mut [u8], text: &str) {
    out.iter_mut().zip(text.bytes()).for_each(|(out, byte)| *out = byte);
}
