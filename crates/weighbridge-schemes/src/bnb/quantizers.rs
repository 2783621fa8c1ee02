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
use crate::framework::{Additions, Candidate, Chosen, Encoder, Fate, Quantizer, Request};

/// Every quantizer.
pub(super) const ALL: &[&dyn Quantizer] = &[
    &Four {
        name: "bnb-nf4",
        about: "NF4 in blocks of 64, for transformers",
        kind: &NF4,
        is_nested: false,
    },
    &Four {
        name: "bnb-nf4-nested",
        about: "NF4 in blocks of 64 with scales of eight bits, for transformers",
        kind: &NF4,
        is_nested: true,
    },
    &Four {
        name: "bnb-fp4",
        about: "FP4 in blocks of 64, for transformers",
        kind: &FP4,
        is_nested: false,
    },
    &Four {
        name: "bnb-fp4-nested",
        about: "FP4 in blocks of 64 with scales of eight bits, for transformers",
        kind: &FP4,
        is_nested: true,
    },
    &Eight,
];

/// What transformers calls the output matrix.
const OUTPUT: &str = "lm_head";

/// Codes of four bits.
struct Four {
    name: &'static str,
    about: &'static str,
    kind: &'static Kind,
    is_nested: bool,
}

impl Quantizer for Four {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn types(&self) -> Vec<StoredType> {
        vec![DType::U8.into(), DType::F32.into()]
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        let Self { name, kind, is_nested, .. } = *self;
        let encoder = |weight: &Candidate<'_>| -> Arc<dyn Encoder> {
            Arc::new(FourBits { name, kind, is_nested, dtype: weight.dtype })
        };
        let layers = Layers::of(request, &encoder)?;
        let compute = layers.dtype.map_or("float32", state_text::torch_name);
        let settings = Settings { four: Some((kind.name, is_nested)), compute };
        Ok(layers.chosen(&settings))
    }
}

/// Signed bytes.
struct Eight;

impl Quantizer for Eight {
    fn name(&self) -> &'static str {
        eight_encoder::NAME
    }

    fn about(&self) -> &'static str {
        "signed bytes with a scale a row (LLM.int8), for transformers"
    }

    fn types(&self) -> Vec<StoredType> {
        EightBits.types()
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        let layers = Layers::of(request, &|_| Arc::new(EightBits))?;
        Ok(layers.chosen(&Settings { four: None, compute: "float32" }))
    }
}

/// What becomes of the layers of a model.
struct Layers {
    fates: Vec<Fate>,
    /// Linear layers that stay as they are.
    kept: Vec<String>,
    /// The type of the first weight that is encoded.
    dtype: Option<DType>,
    notes: Vec<String>,
}

impl Layers {
    fn of(
        request: &Request<'_>,
        encoder: &dyn Fn(&Candidate<'_>) -> Arc<dyn Encoder>,
    ) -> Result<Self> {
        turned_layers::refuse(request.configs, "bitsandbytes")?;
        let stays = |weight: &Candidate<'_>| {
            !is_quantized(weight) || is_of_expert(weight.name) || (request.keeps)(weight.name)
        };
        let is_layer = |weight: &&Candidate<'_>| is_linear(weight) && !is_of_expert(weight.name);
        let linear = request.weights.iter().filter(is_layer);
        let kept = linear.filter(|weight| stays(weight)).map(|weight| module_of(weight.name));
        let mut kept: Vec<String> = kept.map(str::to_owned).collect();
        if !kept.iter().any(|module| module == OUTPUT) {
            kept.insert(0, OUTPUT.to_owned());
        }
        let notes = of_experts(request.weights).into_iter().collect();
        let mut layers = Self { fates: Vec::new(), kept, dtype: None, notes };
        for weight in request.weights {
            let fate = match stays(weight) {
                true => Fate::Keep,
                false => layers.fate_of(weight, encoder)?,
            };
            layers.fates.push(fate);
        }
        Ok(layers)
    }

    fn fate_of(
        &mut self,
        weight: &Candidate<'_>,
        encoder: &dyn Fn(&Candidate<'_>) -> Arc<dyn Encoder>,
    ) -> Result<Fate> {
        let module = module_of(weight.name);
        if let Some(other) = self.kept.iter().find(|kept| is_taken_for(module, kept)) {
            self.notes.push(format!(
                "{} stays as it is: transformers would take it for {other}, which stays",
                weight.name
            ));
            return Ok(Fate::Keep);
        }
        if !matches!(weight.dtype, DType::BF16 | DType::F16 | DType::F32) {
            return Err(Error::unsupported(format!(
                "it is {}, and bitsandbytes takes weights of 16 and 32 bits only",
                weight.dtype
            ))
            .in_tensor(weight.name));
        }
        self.dtype.get_or_insert(weight.dtype);
        Ok(Fate::Encode(encoder(weight)))
    }

    fn chosen(self, settings: &Settings) -> Chosen {
        let config = ("quantization_config".to_owned(), settings.json(&self.kept));
        let additions = Additions { config_keys: vec![config], ..Additions::default() };
        Chosen { fates: self.fates, notes: self.notes, additions, ..Chosen::default() }
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
            "{count} matrices of experts stay as they are: transformers puts them together in a form \
             that bitsandbytes does not take"
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

/// What the config says.
struct Settings {
    /// The kind of codes of four bits, and whether their scales are codes too.
    four: Option<(&'static str, bool)>,
    /// The type that loaders compute in.
    compute: &'static str,
}

impl Settings {
    /// In the order in which transformers writes them.
    fn json(&self, kept: &[String]) -> Json {
        let is_four = self.four.is_some();
        let (kind, is_nested) = self.four.unwrap_or((FP4.name, false));
        json!({
            "_load_in_4bit": is_four,
            "_load_in_8bit": !is_four,
            "bnb_4bit_compute_dtype": self.compute,
            "bnb_4bit_quant_storage": "uint8",
            "bnb_4bit_quant_type": kind,
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
