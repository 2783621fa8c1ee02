//! What becomes of a model's numbers: one of several ways, which exclude each other.

use std::sync::Arc;

use super::move_codes;
use super::options::ConvertOptions;
use super::quantize::{self, QuantizeOptions};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{Cast, OutputType, Target};
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
    /// The one way that options leave; an error if they contradict each other.
    pub(super) fn of(
        verb: Verb<'_>,
        options: &ConvertOptions,
        target: &Target,
        model: &Model,
    ) -> Result<Self> {
        let is_cast = options.dtype != OutputType::Auto || !options.casts.is_empty();
        let refused = |message: &str| Err(Error::usage(message));
        let casts_nothing = |message: &str| Err(Error::usage(message).in_file(model.path()));
        let is_kept = options.dtype == OutputType::Keep;
        match (verb, &options.layout) {
            (Verb::Convert, Some(_)) if is_cast => {
                casts_nothing("nothing is decoded in another layout, so nothing can be cast")
            }
            (Verb::Convert, Some(name)) => move_codes::layout(name),
            (_, Some(_)) => refused(
                "codes that are moved into another layout are neither decoded nor encoded anew",
            ),
            (Verb::Quantize(how), None) => {
                let quantizer = quantize::found(how, target)?;
                if is_cast {
                    let message = "the type decides about all weights: none can be cast besides";
                    return casts_nothing(message);
                }
                Ok(Self::Quantize { quantizer, how: Arc::new(how.clone()) })
            }
            (Verb::Dequantize, None) if is_kept => {
                refused("nothing is decoded if tensors are kept as they are stored")
            }
            (Verb::Convert, None) if is_kept && !options.casts.is_empty() => {
                refused("tensors that are kept as they are stored cannot be cast")
                    .map_err(|error| error.remedy(Remedy::KeepOrCast))
            }
            (Verb::Convert, None) if is_kept => Ok(Self::AsStored),
            (verb, None) => Ok(Self::Types {
                dtype: options.dtype,
                casts: options.casts.clone(),
                only_decoded: matches!(verb, Verb::Dequantize),
            }),
        }
    }

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
