//! Which way is left for a model's numbers by options that exclude each other.

use std::sync::Arc;

use super::options::ConvertOptions;
use super::values::{Values, Verb};
use super::{move_codes, quantize};
use crate::containers::writing::Holds;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{OutputType, Target};

/// The one way that options leave; an error if they contradict each other.
pub(super) fn decide(
    verb: Verb<'_>,
    options: &ConvertOptions,
    target: &Target,
    model: &Model,
) -> Result<Values> {
    let is_cast = options.dtype != OutputType::Auto || !options.casts.is_empty();
    let refused = |message: &str| Err(Error::usage(message));
    let casts_nothing = |message: &str| Err(Error::usage(message).in_file(model.path()));
    let is_kept = options.dtype == OutputType::Keep;
    match (verb, &options.layout) {
        (Verb::Convert, Some(_)) if is_cast => casts_nothing(
            "a layout change cannot be combined with a cast: it moves codes without decoding them",
        ),
        (Verb::Convert, Some(name)) => move_codes::layout(name),
        (_, Some(_)) => {
            refused("a layout change cannot be combined with quantizing or dequantizing")
        }
        (Verb::Quantize(how), None) => {
            let quantizer = quantize::found(how, target)?;
            if is_cast {
                let message =
                    "the quantization type cannot be combined with another output type or a cast";
                return casts_nothing(message);
            }
            Ok(Values::Quantize { quantizer, how: Arc::new(how.clone()) })
        }
        (Verb::Dequantize, None) if is_kept => {
            refused("dequantizing cannot keep tensors as stored")
        }
        (Verb::Convert, None) if is_kept && !options.casts.is_empty() => {
            refused("tensors cannot be both kept as stored and cast")
                .map_err(|error| error.remedy(Remedy::KeepOrCast))
        }
        (Verb::Convert, None) if is_kept || (!is_cast && is_rewritten(model, target)) => {
            Ok(Values::AsStored)
        }
        (verb, None) => Ok(Values::Types {
            dtype: options.dtype,
            casts: options.casts.clone(),
            only_decoded: matches!(verb, Verb::Dequantize),
        }),
    }
}

/// Whether a model is written again in its own format, which holds its blocks and all of its
/// metadata: changing a key is no reason to decode.
fn is_rewritten(model: &Model, target: &Target) -> bool {
    target.writer.holds() == Holds::Values && model.format() == target.writer.format()
}
