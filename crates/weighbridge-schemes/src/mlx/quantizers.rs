//! Stores whole models in the form that mlx-lm saves.
//!
//! All matrices of linear layers and all embeddings are quantized, including the output matrix.
//! Weights without whole groups are kept; a loader recognises them by their lack of scales.
//!
//! mlx-lm renames and rearranges weights on load (`sanitize`), and saves them that way. Here they
//! keep their names and order, so only families are supported whose weights it loads as
//! transformers saves them. For others it would look for scales in the wrong place.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::encoder::MlxEncoder;
use super::kind::{GROUPS, Kind, Mode};
use super::{KEY, module_of};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{
    Additions, Candidate, Chosen, Configs, QuantizeWishes, Quantizer, Request, TypeAssignment,
};
use crate::text::shortened;

/// A quantizer for MLX.
struct MlxQuantizer {
    name: &'static str,
    about: &'static str,
    /// The kind, with the default group size.
    kind: Kind,
}

/// Every quantizer.
pub(super) const ALL: &[&dyn Quantizer] = &[
    &affine("mlx-2bit", "2-bit integers, one scale and bias per group, for MLX", 2),
    &affine("mlx-3bit", "3-bit integers, one scale and bias per group, for MLX", 3),
    &affine("mlx-4bit", "4-bit integers, one scale and bias per group, for MLX", 4),
    &affine("mlx-5bit", "5-bit integers, one scale and bias per group, for MLX", 5),
    &affine("mlx-6bit", "6-bit integers, one scale and bias per group, for MLX", 6),
    &affine("mlx-8bit", "8-bit integers, one scale and bias per group, for MLX", 8),
    &MlxQuantizer { name: "mlx-mxfp4", about: "MXFP4, for MLX", kind: Mode::Mxfp4.usual() },
    &MlxQuantizer { name: "mlx-mxfp8", about: "MXFP8, for MLX", kind: Mode::Mxfp8.usual() },
    &MlxQuantizer { name: "mlx-nvfp4", about: "NVFP4, for MLX", kind: Mode::Nvfp4.usual() },
];

const fn affine(name: &'static str, about: &'static str, bits: u32) -> MlxQuantizer {
    MlxQuantizer { name, about, kind: Kind { bits, ..Mode::Affine.usual() } }
}

impl Quantizer for MlxQuantizer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn types(&self) -> Vec<StoredType> {
        match self.kind.mode {
            Mode::Affine => {
                [DType::U32, DType::BF16, DType::F16, DType::F32].map(Into::into).into()
            }
            _ => [DType::U32, DType::U8].map(Into::into).into(),
        }
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        check_family(request)?;
        let kind = self.kind_for(request.wishes)?;
        let mut chosen = Chosen { additions: additions(kind), ..Chosen::default() };
        for weight in request.weights {
            let stays = (request.keeps)(weight.name) || is_ignored(weight, &request.configs);
            let fate = if is_taken(weight) && !stays {
                self.fate_of(weight, kind, &mut chosen.notes)?
            } else {
                TypeAssignment::Keep
            };
            chosen.fates.push(fate);
        }
        Ok(chosen)
    }
}

impl MlxQuantizer {
    /// Returns the kind with the requested group size.
    fn kind_for(&self, wishes: &QuantizeWishes) -> Result<Kind> {
        let group = wishes.group_size.unwrap_or(self.kind.group);
        let allowed: &[u64] = match self.kind.mode {
            Mode::Affine => &GROUPS,
            _ => &[self.kind.group],
        };
        if allowed.contains(&group) {
            return Ok(Kind { group, ..self.kind });
        }
        let names: Vec<String> = allowed.iter().map(u64::to_string).collect();
        let (name, names) = (self.name, names.join(", "));
        Err(Error::usage(format!("{name} does not support group size {group}"))
            .hint(format!("supported group sizes: {names}")))
    }

    fn fate_of(
        &self,
        weight: &Candidate<'_>,
        kind: Kind,
        notes: &mut Vec<String>,
    ) -> Result<TypeAssignment> {
        let columns = weight.shape.last().copied().unwrap_or(0);
        if columns % kind.group != 0 {
            let (name, group) = (weight.name, kind.group);
            notes.push(format!(
                "{name} is not quantized: row length {columns} is not a multiple of the group size \
                 ({group})"
            ));
            return Ok(TypeAssignment::Keep);
        }
        if !matches!(weight.dtype, DType::BF16 | DType::F16 | DType::F32) {
            let message =
                format!("its dtype is {}, but MLX takes only BF16, F16 and F32", weight.dtype);
            return Err(Error::unsupported(message).in_tensor(weight.name));
        }
        let encoder = MlxEncoder { name: self.name, kind, dtype: weight.dtype };
        Ok(TypeAssignment::Encode(Arc::new(encoder)))
    }
}

/// Returns an error for a model of an unsupported family.
fn check_family(request: &Request<'_>) -> Result<()> {
    let named = request.configs.model().and_then(|model| model.get("model_type")?.as_str());
    match named {
        Some(name) if (request.takes_as_saved)("mlx-lm", name) => Ok(()),
        Some(name) => Err(Error::unsupported(format!(
            "model type {} is not supported: mlx-lm rearranges its weights on load, or may do so",
            shortened(name, 40)
        ))
        .hint("use mlx-lm's own `convert`")),
        None => Err(Error::unsupported(
            "config.json has no model_type, which mlx-lm needs to load a model",
        )),
    }
}

/// Whether mlx-lm discards a weight: an output matrix that is tied to the embedding. Its scales
/// would be in the way.
fn is_ignored(weight: &Candidate<'_>, configs: &Configs<'_>) -> bool {
    let tied = configs.model().and_then(|model| model.get("tie_word_embeddings")?.as_bool());
    weight.name == "lm_head.weight" && tied == Some(true)
}

/// Whether a weight is a matrix that mlx-lm quantizes.
fn is_taken(weight: &Candidate<'_>) -> bool {
    let Some(module) = module_of(weight.name, "weight") else { return false };
    let module = module.trim_end_matches('.');
    let last = module.rsplit('.').next().unwrap_or(module);
    weight.shape.len() == 2 && weight.dtype.is_float() && !last.contains("norm")
}

/// Returns the config keys and metadata: mlx-lm's own key, and the one that others read.
fn additions(kind: Kind) -> Additions {
    let settings: Json =
        json!({"group_size": kind.group, "bits": kind.bits, "mode": kind.mode.name()});
    let keys = [KEY, "quantization_config"].map(|key| (key.to_owned(), settings.clone()));
    let metadata = vec![("format".to_owned(), "mlx".to_owned())];
    Additions { config_keys: keys.into(), metadata, ..Additions::default() }
}
