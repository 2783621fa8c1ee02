//! What becomes of a model's numbers: one of several ways, which exclude each other.

use std::sync::Arc;

use super::quantize_options::QuantizeOptions;
use crate::dtype::DType;
use crate::model::Model;
use crate::pipeline::{Cast, OutputType};
use crate::schemes::{Quantizer, TargetLayout};

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) enum Verb<'a> {
    Convert,
    Dequantize,
    Quantize(&'a QuantizeOptions),
}

/// What becomes of a model's numbers.
#[derive(Clone)]
pub(super) enum Values {
    /// Stored tensors are copied, undecoded.
    AsStored,
    /// They are decoded and cast.
    Types {
        dtype: OutputType,
        casts: Vec<Cast>,
        /// Whether plain tensors stay as they are, and what is decoded follows the config.
        only_decoded: bool,
    },
    /// They are encoded in fewer bits.
    Quantize { quantizer: &'static dyn Quantizer, how: Arc<QuantizeOptions> },
    /// Their codes are laid out as this scheme has them.
    Layout { scheme: &'static str, layout: &'static dyn TargetLayout },
}

impl Values {
    /// The types that are asked for.
    pub(super) fn dtype(&self) -> OutputType {
        match self {
            Self::AsStored => OutputType::Keep,
            Self::Types { dtype, .. } => *dtype,
            Self::Quantize { .. } | Self::Layout { .. } => OutputType::Auto,
        }
    }

    /// The type of a weight of that name, if one is asked for.
    pub(super) fn cast(&self, name: &str) -> Option<DType> {
        let Self::Types { casts, .. } = self else { return None };
        casts.iter().find(|cast| (cast.matches)(name)).map(|cast| cast.dtype)
    }

    /// Whether only what is quantized is decoded.
    pub(super) fn is_dequantized(&self) -> bool {
        matches!(self, Self::Types { only_decoded: true, .. })
    }

    /// What an output says that it was made by.
    pub(super) fn made_by(&self) -> &'static str {
        match self {
            Self::Quantize { .. } => "quantize",
            Self::Types { only_decoded: true, .. } => DEQUANTIZE,
            _ => "convert",
        }
    }
}

/// What a directory says that it was made by, if a repository was dequantized.
pub(super) const DEQUANTIZE: &str = "dequantize";

/// Whether there is something to decode, or a config that says so.
pub(super) fn is_quantized(model: &Model) -> bool {
    model.stale_method().is_some() || model.weights().any(|weight| !weight.is_plain())
}
