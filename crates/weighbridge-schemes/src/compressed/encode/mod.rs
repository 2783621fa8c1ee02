//! What llm-compressor makes of a model without data: linear layers by one of its presets.
//!
//! The bytes are those of llm-compressor 0.14.0.1 with compressed-tensors 0.20.0 on a CPU, whose
//! every operation is rounded to the weight's type. With T for that rounding, and numbers of a
//! group (some columns of a row, or all) with the extremes min and max, which include zero:
//!
//! ```text
//! symmetric   scale = T(amax / half the range)      codes of -2^(b-1) .. 2^(b-1) - 1, of E4M3 up to 448
//! asymmetric  scale = T(T(max - min) / 15), zero = round(clamp(T(-8 - T(min / scale))))
//! code        round(clamp(T(T(x / scale) + zero))), halves to even
//! MX          scale = 2^e, e = exponent of amax after half a step of E2M1 is added to its bits, less 2 (E2M1) or 8 (E4M3)
//! NVFP4       global = T(2688 * T(1 / amax of all that is fused)), scale = E4M3(global * T(amax / 6)), code = E2M1(x / (scale / global))
//! ```
//!
//! A scale of zero becomes T's epsilon, 1 (MX) or 0.125 (NVFP4). Layers whose columns are no whole groups are refused by
//! llm-compressor until they are ignored: here they stay as they are.

use super::loader_faults;
use crate::arithmetic::precision::{Brain, Half, Single};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::conventions::fused_layers::Fused;
use crate::framework::conventions::linear_choice::choose_linear;
use crate::framework::{Candidate, Chosen, LoaderFault, Quantizer, Request};

mod coding;
mod encoder;
mod quotients;
mod settings;

use encoder::GroupEncoder;

/// The ways to store a model.
pub(super) static QUANTIZERS: &[&dyn Quantizer] =
    &[&FP8, &INT8, &W8A16, &W4A16, &W4A16_ASYM, &MXFP4, &MXFP8, &NVFP4];

/// A preset of llm-compressor.
#[derive(Clone, Copy)]
struct Preset {
    name: &'static str,
    about: &'static str,
    /// What the config calls its format.
    format: &'static str,
    codes: Codes,
    /// Bits of a code, and what configs call the kind of number.
    bits: u64,
    numbers: &'static str,
    /// What the tensor of codes is called behind its module, and its type.
    stored: (&'static str, DType),
    /// The type of the scales, if it is not that of the weight.
    scales: Option<DType>,
    /// Tensors that come last: their names and types.
    last: &'static [(&'static str, DType)],
    /// Columns that share a scale; without, a row does.
    group: Option<u64>,
    /// Whether users may ask for other groups.
    is_any_group: bool,
    /// Whether inputs are quantized while the model runs.
    quantizes_inputs: bool,
    /// The kinds of models that a loader fails with.
    faults: &'static [LoaderFault],
}

/// How numbers become codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codes {
    /// E4M3.
    Floats,
    /// Signed bytes.
    Bytes,
    /// Eight bits in words.
    Words8,
    /// Four bits in words.
    Words4,
    /// Four bits in words, with zero points.
    Words4Zero,
    /// E2M1 with exponents.
    Mxfp4,
    /// E4M3 with exponents.
    Mxfp8,
    /// E2M1 with two levels of scales.
    Nvfp4,
}

const FP8: Preset = Preset {
    name: "fp8",
    about: "8-bit floats, one scale per row (compressed-tensors FP8_DYNAMIC)",
    format: "float-quantized",
    codes: Codes::Floats,
    bits: 8,
    numbers: "float",
    stored: ("weight", DType::F8_E4M3),
    scales: None,
    last: &[],
    group: None,
    is_any_group: false,
    quantizes_inputs: true,
    faults: &[],
};

const INT8: Preset = Preset {
    name: "int8",
    about: "8-bit integers, one scale per row (compressed-tensors W8A8)",
    format: "int-quantized",
    codes: Codes::Bytes,
    numbers: "int",
    stored: ("weight", DType::I8),
    faults: loader_faults::INTEGERS,
    ..FP8
};

/// The sides of a weight in words.
const SHAPE: (&str, DType) = ("weight_shape", DType::I64);

const W4A16: Preset = Preset {
    name: "w4a16",
    about: "4-bit integers, one scale per 128 columns (compressed-tensors W4A16)",
    format: "pack-quantized",
    codes: Codes::Words4,
    bits: 4,
    numbers: "int",
    stored: ("weight_packed", DType::I32),
    scales: None,
    last: &[SHAPE],
    group: Some(128),
    is_any_group: true,
    quantizes_inputs: false,
    faults: &[],
};

const W8A16: Preset = Preset {
    name: "w8a16",
    about: "8-bit integers, one scale per 128 columns (compressed-tensors W8A16)",
    codes: Codes::Words8,
    bits: 8,
    ..W4A16
};

const W4A16_ASYM: Preset = Preset {
    name: "w4a16-asym",
    about: "4-bit integers, one scale and zero point per 128 columns (compressed-tensors \
            W4A16_ASYM)",
    codes: Codes::Words4Zero,
    last: &[SHAPE, ("weight_zero_point", DType::I32)],
    faults: loader_faults::INTEGERS,
    ..W4A16
};

const MXFP4: Preset = Preset {
    name: "mxfp4",
    about: "4-bit floats, one power-of-two scale per 32 columns (compressed-tensors MXFP4A16)",
    format: "mxfp4-pack-quantized",
    codes: Codes::Mxfp4,
    bits: 4,
    stored: ("weight_packed", DType::U8),
    scales: Some(DType::U8),
    group: Some(32),
    quantizes_inputs: false,
    faults: loader_faults::MXFP4,
    ..FP8
};

const MXFP8: Preset = Preset {
    name: "mxfp8",
    about: "8-bit floats, one power-of-two scale per 32 columns (compressed-tensors MXFP8A16)",
    format: "mxfp8-quantized",
    codes: Codes::Mxfp8,
    bits: 8,
    stored: ("weight", DType::F8_E4M3),
    faults: loader_faults::MXFP8,
    ..MXFP4
};

const NVFP4: Preset = Preset {
    name: "nvfp4",
    about: "4-bit floats, one scale per 16 columns and one per tensor (compressed-tensors \
            NVFP4A16)",
    format: "nvfp4-pack-quantized",
    codes: Codes::Nvfp4,
    scales: Some(DType::F8_E4M3),
    last: &[("weight_global_scale", DType::F32)],
    group: Some(16),
    faults: loader_faults::NVFP4,
    ..MXFP4
};

impl Quantizer for Preset {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn types(&self) -> Vec<StoredType> {
        let last = self.last.iter().map(|(_, dtype)| *dtype);
        [self.stored.1].into_iter().chain(self.scales).chain(last).map(Into::into).collect()
    }

    fn loader_faults(&self) -> &'static [LoaderFault] {
        self.faults
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        let group = self.group_size(request)?;
        let fused = Fused::new(request);
        let choice = choose_linear(request, |index, weight| {
            check(weight, group)?;
            let is_encoded = |other: &Candidate<'_>| check(other, group).is_ok();
            let largest = (self.codes == Codes::Nvfp4).then(|| fused.largest(index, is_encoded));
            Ok(match weight.dtype {
                DType::BF16 => GroupEncoder::<Brain>::shared(*self, group, largest),
                DType::F16 => GroupEncoder::<Half>::shared(*self, group, largest),
                _ => GroupEncoder::<Single>::shared(*self, group, largest),
            })
        })?;
        let section = settings::section(self, group, &choice.plain);
        Ok(Chosen::stated(section, choice.fates, choice.notes))
    }
}

impl Preset {
    /// Columns that share a scale, as the user asks for.
    fn group_size(&self, request: &Request<'_>) -> Result<Option<u64>> {
        let name = self.name;
        match (request.wishes.group_size, self.group) {
            (None, group) => Ok(group),
            (Some(asked), group) if group == Some(asked) => Ok(group),
            (Some(asked), _) if self.is_any_group && asked > 0 && asked % 8 == 0 => Ok(Some(asked)),
            (Some(asked), _) if self.is_any_group => Err(Error::usage(format!(
                "{name} needs a group size that is a multiple of 8, not {asked}"
            ))),
            (Some(_), Some(group)) => {
                Err(Error::usage(format!("{name} has a fixed group size of {group}")))
            }
            (Some(_), None) => {
                Err(Error::usage(format!("{name} has one scale per row and no group size")))
            }
        }
    }
}

/// Why a weight cannot be encoded.
fn check(weight: &Candidate<'_>, group: Option<u64>) -> Result<(), String> {
    let columns = weight.shape.last().copied().unwrap_or(0);
    match (weight.dtype, group) {
        (DType::F32 | DType::BF16 | DType::F16, Some(group)) if columns % group != 0 => {
            Err(format!("row length {columns} is not a multiple of the group size ({group})"))
        }
        (DType::F32 | DType::BF16 | DType::F16, _) if columns > 0 => Ok(()),
        (dtype, _) => Err(format!("rows of {columns} {dtype} values are not supported")),
    }
}
