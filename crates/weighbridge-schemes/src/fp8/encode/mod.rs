//! Stores models in 8-bit floats, with one scale per block or per weight.
//!
//! ```text
//! fp8-block    P.weight F8_E4M3, P.weight_scale_inv F32 [rows / 128, columns / 128], rounded up
//! fp8-tensor   P.weight F8_E4M3, P.weight_scale F32 []
//! ```
//!
//! Arithmetic of transformers 5.22.2 (`Fp8Quantize`), all in f32: `scale = (1 / amax) * 448`, or 1 where
//! all numbers are zero; the code is the nearest E4M3 of `clamp(x * scale)`; `1 / scale` is stored.
//!
//! transformers does not quantize weights whose sides are not multiples of the block size. They are
//! encoded here as if padded with zeros, as in DeepSeek's own files. transformers calls the scale
//! of a whole weight `weight_scale_inv` too. Here it has the name that vLLM loads, and the config
//! has the keys that AutoFP8 wrote.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::settings::METHODS;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::conventions::linear_choice::choose_linear;
use crate::framework::loader_faults::any;
use crate::framework::{
    Chosen, EncodedTensor, Encoder, Groups, LoaderFault, Quantizer, Request, WeightEncoder,
};
use crate::warning::WILL_NOT_LOAD;

mod coding;

use coding::{Blocks, Whole};

/// The quantizers.
pub(super) static QUANTIZERS: &[&dyn Quantizer] = &[&Way::Blocks, &Way::Whole];

/// Rows and columns of a block.
const SIDE: u64 = 128;
const BLOCK: usize = 128;

/// Blocks that are smaller than others.
const PARTIAL_BLOCKS: LoaderFault = LoaderFault {
    kind: WILL_NOT_LOAD,
    concerns: |model| model.has(|weight| weight.shape.iter().any(|side| side % SIDE != 0)),
    message: "weights have sides that are not multiples of 128, so their last blocks are smaller, as \
              in DeepSeek's files: transformers 5.22.2 does not dequantize these",
};

/// A scale that transformers does not read.
const OTHER_NAME: LoaderFault = LoaderFault {
    kind: WILL_NOT_LOAD,
    concerns: any,
    message: "transformers 5.22.2 looks for these scales under another name than vLLM, and fails \
              when the model runs",
};

/// The part of a weight that shares a scale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A block.
    Blocks,
    /// A weight.
    Whole,
}

impl Quantizer for Way {
    fn name(&self) -> &'static str {
        match self {
            Self::Blocks => "fp8-block",
            Self::Whole => "fp8-tensor",
        }
    }

    fn about(&self) -> &'static str {
        match self {
            Self::Blocks => "8-bit floats, one scale per 128 x 128 block (DeepSeek)",
            Self::Whole => "8-bit floats, one scale per tensor (vLLM)",
        }
    }

    fn types(&self) -> Vec<StoredType> {
        vec![DType::F8_E4M3.into(), DType::F32.into()]
    }

    fn loader_faults(&self) -> &'static [LoaderFault] {
        match self {
            Self::Blocks => &[PARTIAL_BLOCKS],
            Self::Whole => &[OTHER_NAME],
        }
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        if request.wishes.group_size.is_some() {
            return Err(Error::usage(format!("{} has no group size", Quantizer::name(self))));
        }
        let choice = choose_linear(request, |_, weight| match weight.dtype {
            DType::F32 | DType::BF16 | DType::F16 => Ok(Arc::new(*self) as Arc<dyn Encoder>),
            dtype => Err(format!("dtype {dtype} is not supported")),
        })?;
        Ok(Chosen::stated(self.section(&choice.plain), choice.fates, choice.notes))
    }
}

impl Way {
    /// Returns the section of the config. `plain` lists the linear layers that are not quantized.
    fn section(self, plain: &[String]) -> Json {
        let method = METHODS[0].name;
        match self {
            Self::Blocks => json!({
                "activation_scheme": "dynamic",
                "dequantize": false,
                "expert_dtype": "fp8",
                "modules_to_convert": null,
                "modules_to_not_convert": plain,
                "quant_method": method,
                "scale_fmt": "float",
                "weight_block_size": [SIDE, SIDE],
            }),
            Self::Whole => json!({
                "activation_scheme": "dynamic",
                "ignored_layers": plain,
                "quant_method": method,
            }),
        }
    }
}

impl Encoder for Way {
    fn name(&self) -> &'static str {
        Quantizer::name(self)
    }

    fn types(&self) -> Vec<StoredType> {
        Quantizer::types(self)
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let &[rows, columns] = shape else { return Err("it is not a matrix".to_owned()) };
        let tensor = EncodedTensor::of;
        let each = Groups::Of { elements: 1, bytes: 1 };
        let codes = tensor(name.to_owned(), DType::F8_E4M3, shape, each);
        let blocks = columns.div_ceil(SIDE);
        let stripe = Groups::Of { elements: SIDE * columns, bytes: 4 * blocks };
        let sides = [rows.div_ceil(SIDE), blocks];
        Ok(match self {
            Self::Blocks => {
                vec![codes, tensor(format!("{name}_scale_inv"), DType::F32, &sides, stripe)]
            }
            Self::Whole => {
                let once = Groups::Once;
                vec![codes, tensor(format!("{name}_scale"), DType::F32, &[], once)]
            }
        })
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        match self {
            Self::Blocks => Box::new(Blocks { columns: shape.last().copied().unwrap_or(0) }),
            Self::Whole => Box::new(Whole::default()),
        }
    }
}
