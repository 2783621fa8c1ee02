//! Weights as codes and scales: which tensors they become, and how tiles are encoded.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::coding::{
    Bytes, Coding, Encode, Floats, Mxfp4, Mxfp8, Nibbles, Nvfp4, Shifted, global_scale, zero_at,
};
use super::{Codes, Preset};
use crate::arithmetic::decode_again::Coded;
use crate::arithmetic::matrix::{self, Arithmetic, Factor, Packing};
use crate::arithmetic::precision::{Precision, width};
use crate::compressed::layout::Kind;
use crate::compressed::recipe::codes;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{
    Decoded, EncodedTensor, Encoder, Groups, Largest, Quantizer as _, WeightEncoder,
};
use crate::simd;
use crate::simd::small_floats::{e4m3, e8m0};

impl Codes {
    /// What they stand for, the zero point of all, and the step between them.
    fn stand_for(self) -> (matrix::Codes, f32, Option<f32>) {
        let (kind, step) = match self {
            Self::Floats | Self::Mxfp8 => (Kind::Float(DType::F8_E4M3), None),
            Self::Bytes => (Kind::Byte, Some(1.0)),
            // Bytes without a sign are decoded faster.
            Self::Words8 => {
                return (matrix::Codes::new(Packing::Bytes, f32::from), 128.0, Some(1.0));
            }
            Self::Words4 | Self::Words4Zero => (Kind::Packed(4, Packing::LowNibbles), Some(1.0)),
            Self::Mxfp4 | Self::Nvfp4 => (Kind::E2m1 { global: false }, Some(1.0)),
        };
        (codes(kind), 0.0, step)
    }
}

/// Encodes weights of one type.
#[derive(Clone)]
pub(super) struct GroupEncoder<P> {
    preset: Preset,
    /// Columns of a group; without, a row is one.
    group: Option<u64>,
    /// The largest magnitude of all weights that share a global scale.
    largest: Option<Largest>,
    precision: PhantomData<P>,
}

impl<P: Precision> GroupEncoder<P> {
    pub(super) fn shared(
        preset: Preset,
        group: Option<u64>,
        largest: Option<Largest>,
    ) -> Arc<dyn Encoder> {
        Arc::new(Self { preset, group, largest, precision: PhantomData })
    }

    /// Columns of a group.
    fn group_of(&self, columns: u64) -> u64 {
        self.group.unwrap_or(columns).max(1)
    }

    fn scale_type(&self) -> DType {
        self.preset.scales.unwrap_or(P::DTYPE)
    }
}

impl<P: Precision> Encoder for GroupEncoder<P> {
    fn name(&self) -> &'static str {
        self.preset.name
    }

    fn types(&self) -> Vec<StoredType> {
        let own = self.preset.scales.is_none().then(|| P::DTYPE.into());
        self.preset.types().into_iter().chain(own).collect()
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let &[rows, columns] = shape else { return Err("it is not a matrix".to_owned()) };
        let group = self.group_of(columns);
        if columns == 0 || columns % group != 0 {
            return Err(format!(
                "row length {columns} is not a multiple of the group size ({group})"
            ));
        }
        let module = name.strip_suffix("weight").ok_or("its name does not end in `weight`")?;
        let Preset { bits, stored: codes, last, .. } = self.preset;
        let groups = columns / group;
        let tensor = |(last, dtype): (&str, DType), shape: &[u64], groups| {
            EncodedTensor::of(format!("{module}{last}"), dtype, shape, groups)
        };
        let row = columns * bits / 8 / width(codes.1);
        let each = |bytes| Groups::Of { elements: group, bytes };
        let scales = ("weight_scale", self.scale_type());
        let mut all = vec![
            tensor(codes, &[rows, row], each(group * bits / 8)),
            tensor(scales, &[rows, groups], each(width(scales.1))),
        ];
        all.extend(last.iter().map(|&(last, dtype)| match dtype {
            DType::I64 => tensor((last, dtype), &[2], Groups::Once),
            DType::F32 => tensor((last, dtype), &[1], Groups::Once),
            _ => {
                let words = Groups::Of { elements: 8 * columns, bytes: groups * 4 };
                tensor((last, dtype), &[rows.div_ceil(8), groups], words)
            }
        }));
        Ok(all)
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        let sides = [shape.first(), shape.last()].map(|side| side.copied().unwrap_or(0));
        let stand_for = self.preset.codes.stand_for();
        Box::new(GroupsOfWeight { of: self.clone(), sides, stand_for })
    }
}

/// Encodes one weight.
struct GroupsOfWeight<P> {
    of: GroupEncoder<P>,
    /// Rows and columns.
    sides: [u64; 2],
    /// What codes are when they are read again: see [`Codes::stand_for`].
    stand_for: (matrix::Codes, f32, Option<f32>),
}

impl<P: Precision> WeightEncoder for GroupsOfWeight<P> {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, scales, last @ ..] = out else {
            return Err(Error::usage("expected two tensors: codes and scales"));
        };
        let mut tile = Tile { values, codes, scales, zeros: None };
        match last {
            [shape] if self.of.preset.stored.1 == DType::I32 => self.write_shape(shape),
            [shape, zeros] => {
                self.write_shape(shape);
                tile.zeros = Some(zeros);
            }
            [global] => return self.encode_nvfp4(tile, global),
            _ => {}
        }
        match self.of.preset.codes {
            Codes::Floats => self.run(Floats, tile),
            Codes::Bytes => self.run(Bytes::<0>, tile),
            Codes::Words8 => self.run(Bytes::<128>, tile),
            Codes::Words4 => self.run(Nibbles, tile),
            Codes::Words4Zero => self.run(Shifted, tile),
            Codes::Mxfp4 => self.run(Mxfp4, tile),
            Codes::Mxfp8 => self.run(Mxfp8, tile),
            Codes::Nvfp4 => Err(Error::usage("expected a tensor for the global scale")),
        }
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [codes, scales, last @ ..] = encoded else { return Ok(false) };
        let (stand_for, zero, step) = &self.stand_for;
        let factors = &self.factors_of(scales, last, *zero)?[..];
        let group = usize::try_from(self.of.group_of(self.sides[1])).unwrap_or(usize::MAX);
        let arithmetic = match self.of.preset.numbers {
            "int" => Arithmetic::MinusTimes,
            _ => Arithmetic::Times,
        };
        let coded =
            Coded { codes: stand_for, arithmetic, group, bytes: codes, factors, step: *step };
        coded.decode(&mut decoded.numbers, &mut decoded.levels);
        Ok(true)
    }
}

/// Numbers, and where their codes go.
struct Tile<'a> {
    values: &'a [f32],
    codes: &'a mut [u8],
    scales: &'a mut [u8],
    zeros: Option<&'a mut [u8]>,
}

impl<P: Precision> GroupsOfWeight<P> {
    /// The scale and the zero point of each group of a tile.
    fn factors_of(&self, scales: &[u8], last: &[&[u8]], zero: f32) -> Result<Vec<Factor>> {
        let global = match (&self.of.largest, self.of.preset.codes) {
            (Some(largest), Codes::Nvfp4) => global_scale::<P>(largest()?),
            _ => 1.0,
        };
        let width = usize::try_from(width(self.of.scale_type())).unwrap_or(1);
        let groups = self.sides[1] / self.of.group_of(self.sides[1]).max(1);
        let groups = usize::try_from(groups).unwrap_or(usize::MAX).max(1);
        let zeros = last.get(1).filter(|_| self.of.preset.codes == Codes::Words4Zero);
        let scale = |bytes: &[u8]| match self.of.preset.codes {
            Codes::Mxfp4 | Codes::Mxfp8 => e8m0(bytes[0]),
            Codes::Nvfp4 => e4m3(bytes[0]) / global,
            _ => P::read(bytes),
        };
        let of = |(at, bytes): (usize, &[u8])| {
            let offset = zeros.map_or(zero, |zeros| zero_at(zeros, groups, at));
            Factor { scale: scale(bytes), offset }
        };
        Ok(scales.chunks_exact(width.max(1)).enumerate().map(of).collect())
    }

    fn run<C: Coding<P>>(&self, coding: C, tile: Tile<'_>) -> Result<()> {
        let columns = self.sides[1];
        let group = self.of.group_of(columns);
        let sizes = [group, group * self.of.preset.bits / 8, width(self.of.scale_type())];
        let in_memory = |size: u64| {
            let too_large = |_| Error::limit("a row is too large for this machine's address space");
            usize::try_from(size).map_err(too_large)
        };
        let [group_len, codes_len, scale_len] = sizes.map(in_memory);
        let (group, groups) = ([group_len?, codes_len?, scale_len?], in_memory(columns / group)?);
        let Tile { values, codes, scales, zeros } = tile;
        let zeros = zeros.map(|zeros| (zeros, groups));
        let task =
            Encode::<_, P> { coding, precision: PhantomData, values, group, codes, scales, zeros };
        simd::run(simd::level(), task);
        Ok(())
    }

    fn encode_nvfp4(&self, tile: Tile<'_>, out: &mut [u8]) -> Result<()> {
        let largest = self.of.largest.as_ref().ok_or_else(|| Error::usage("no largest number"))?;
        let global = global_scale::<P>(largest()?);
        out.iter_mut().zip(global.to_le_bytes()).for_each(|(to, byte)| *to = byte);
        self.run(Nvfp4 { global }, tile)
    }

    /// The true sides, with the first tile.
    fn write_shape(&self, out: &mut [u8]) {
        let bytes = self.sides.iter().flat_map(|side| side.to_le_bytes());
        out.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    }
}
