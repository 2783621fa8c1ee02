//! Whole models in the form that transformers saves with bitsandbytes.
//!
//! The layers that stay as they are must be named in the config: transformers replaces every other
//! linear layer before it reads the weights. The output matrix is named even where the file has
//! none, since it may share the numbers of the embedding. Single matrices of experts stay: since
//! version 5 transformers puts them together in one that is no linear layer.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::eight_encoder::{self, EightBits};
use super::four_encoder::{FP4, FourBits, Kind, NF4};
use super::{METHOD, state_text};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::conventions::linear_layers::{is_linear, is_quantized};
use crate::framework::conventions::turned_layers;
use crate::framework::{Candidate, Chosen, Encoder, Quantizer, Request, TypeAssignment};

/// Every quantizer.
pub(super) const ALL: &[&dyn Quantizer] = &[
    &four("bnb-nf4", "NF4 in blocks of 64, for transformers", &NF4, false),
    &four("bnb-nf4-nested", "NF4 in blocks of 64, double-quantized, for transformers", &NF4, true),
    &four("bnb-fp4", "FP4 in blocks of 64, for transformers", &FP4, false),
    &four("bnb-fp4-nested", "FP4 in blocks of 64, double-quantized, for transformers", &FP4, true),
    &BnbQuantizer {
        name: eight_encoder::NAME,
        about: "8-bit integers, one scale per row (LLM.int8), for transformers",
        four: None,
    },
];

/// What transformers calls the output matrix.
const OUTPUT: &str = "lm_head";

/// A way to store a model.
struct BnbQuantizer {
    name: &'static str,
    about: &'static str,
    /// The kind of codes of four bits, and whether their scales are codes too; without, signed bytes.
    four: Option<(&'static Kind, bool)>,
}

const fn four(
    name: &'static str,
    about: &'static str,
    kind: &'static Kind,
    is_nested: bool,
) -> BnbQuantizer {
    BnbQuantizer { name, about, four: Some((kind, is_nested)) }
}

impl Quantizer for BnbQuantizer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn types(&self) -> Vec<StoredType> {
        match self.four {
            Some(_) => vec![DType::U8.into(), DType::F32.into()],
            None => EightBits.types(),
        }
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        turned_layers::refuse(&request.configs, METHOD)?;
        let stays = |weight: &Candidate<'_>| {
            !is_quantized(weight) || is_of_expert(weight.name) || (request.keeps)(weight.name)
        };
        let is_layer = |weight: &&Candidate<'_>| is_linear(weight) && !is_of_expert(weight.name);
        let linear = request.weights.iter().filter(is_layer);
        let kept = linear.filter(|weight| stays(weight)).map(|weight| module_of(weight.name));
        let mut kept: Vec<&str> = kept.collect();
        if !kept.contains(&OUTPUT) {
            kept.insert(0, OUTPUT);
        }
        let mut notes: Vec<String> = of_experts(request.weights).into_iter().collect();
        let (mut fates, mut first_type) = (Vec::new(), None);
        for weight in request.weights {
            let module = module_of(weight.name);
            let fate = match kept.iter().find(|kept| is_taken_for(module, kept)) {
                _ if stays(weight) => TypeAssignment::Keep,
                Some(other) => {
                    notes.push(format!(
                        "{} is not quantized: transformers matches its name to {other}, which is \
                         not quantized",
                        weight.name
                    ));
                    TypeAssignment::Keep
                }
                None => TypeAssignment::Encode(self.encoder(weight)?),
            };
            if matches!(fate, TypeAssignment::Encode(_)) {
                first_type.get_or_insert(weight.dtype);
            }
            fates.push(fate);
        }
        let compute = first_type.filter(|_| self.four.is_some());
        let compute = compute.map_or("float32", state_text::torch_name);
        Ok(Chosen::stated(self.section(compute, &kept), fates, notes))
    }
}

impl BnbQuantizer {
    fn encoder(&self, weight: &Candidate<'_>) -> Result<Arc<dyn Encoder>> {
        let (name, dtype) = (self.name, weight.dtype);
        if !matches!(dtype, DType::BF16 | DType::F16 | DType::F32) {
            let message =
                format!("its dtype is {dtype}, but bitsandbytes takes only BF16, F16 and F32");
            return Err(Error::unsupported(message).in_tensor(weight.name));
        }
        Ok(match self.four {
            Some((kind, is_nested)) => Arc::new(FourBits { name, kind, is_nested, dtype }),
            None => Arc::new(EightBits),
        })
    }

    /// What the config says, in the order in which transformers writes it.
    fn section(&self, compute: &str, kept: &[&str]) -> Json {
        let is_four = self.four.is_some();
        let (kind, is_nested) = self.four.unwrap_or((&FP4, false));
        json!({
            "_load_in_4bit": is_four,
            "_load_in_8bit": !is_four,
            "bnb_4bit_compute_dtype": compute,
            "bnb_4bit_quant_storage": "uint8",
            "bnb_4bit_quant_type": kind.name,
            "bnb_4bit_use_double_quant": is_nested,
            "llm_int8_enable_fp32_cpu_offload": false,
            "llm_int8_has_fp16_weight": false,
            "llm_int8_skip_modules": kept,
            "llm_int8_threshold": 6.0,
            "load_in_4bit": is_four,
            "load_in_8bit": !is_four,
            "quant_method": METHOD,
        })
    }
}

/// Whether a weight is the matrix of one expert.
fn is_of_expert(name: &str) -> bool {
    name.contains(".experts.")
}

/// What is said about the matrices of experts.
fn of_experts(weights: &[Candidate<'_>]) -> Option<String> {
    let of_experts = weights.iter().filter(|weight| is_of_expert(weight.name));
    let count = of_experts.filter(|weight| is_quantized(weight)).count();
    (count > 0).then(|| {
        format!(
            "{count} expert matrices are not quantized: transformers fuses them into a form that \
             bitsandbytes does not support"
        )
    })
}

/// The module that a weight belongs to.
fn module_of(weight: &str) -> &str {
    weight.strip_suffix(".weight").unwrap_or(weight)
}

/// Whether transformers leaves a module alone because a config names another: what is inside of that
/// one, and whatever ends with its name.
pub(super) fn is_taken_for(module: &str, kept: &str) -> bool {
    let is_inside = |rest: &str| rest.is_empty() || rest.starts_with('.');
    module.ends_with(kept) || module.strip_prefix(kept).is_some_and(is_inside)
}
