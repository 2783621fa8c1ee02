//! compressed-tensors: what llm-compressor writes, every module in the format of its group.
//!
//! ```text
//! pack-quantized          P.weight_packed      I32 [.., out, words]   integers of 1 to 8 bits, low bits first, plus half their range
//!                         P.weight_scale       F  tensor [1], channel [out, 1], group [out, in / G]
//!                         P.weight_shape       I64 [2] or [3]         the weight's true sides
//!                         P.weight_zero_point  I32 [.., words, groups] packed DOWN the rows, plus half; or I8, not packed (early versions)
//!                         P.weight_g_idx       I32 [in]               the group of each column; -1 anywhere: as if absent
//! int-, naive-quantized   P.weight I8          P.weight_scale, P.weight_zero_point I8 in the shape of the scale
//! float-quantized         P.weight F8_E4M3     P.weight_scale; also block [out / a, in / b], rounded up
//! mxfp8-quantized         P.weight F8_E4M3     P.weight_scale U8 [out, in / 32], exponents
//! nvfp4-pack-quantized    P.weight_packed U8 [out, in / 2], low nibble first; P.weight_scale F8_E4M3 [out, in / 16];
//!                         P.weight_global_scale F32 [1], which DIVIDES the scales
//! mxfp4-, mxfp6-pack-quantized  P.weight_packed U8 [out, in / 2 or in * 3 / 4]; P.weight_scale U8 [out, in / 32]
//! sparse-bitmask, sparse-24-bitmask, marlin-24   recognised, not decoded
//! ```
//!
//! Widths that do not divide 32 lie in whole codes a word before version 0.18, and in one stream
//! of bits since. The packed width tells which; where it does not, the config's `version`.
//!
//! Recipe (`compressed_tensors` 0.19.0, `quantization/lifecycle/forward_helpers.py:_dequantize`):
//! `w = (T(code) - T(zero)) * scale`, all in T, the scales' type, which is the native one.
//! Differences of codes are exact in every T, so this is the product in f32, rounded once.
//! Packed floats and exponents as scales decode to bf16: `bf16(code * r32(scale / global))`,
//! `bf16(code * 2^(exponent - 127))`. In f32: the same without the last rounding.
//!
//! The tensors are the first evidence: name, type and companions say which format it is, and a
//! group of the config whose arguments do not fit them is out. Names (`targets`) decide only
//! between groups that fit.

use crate::catalog::{Finding, TensorInfo};
use crate::dtype::{DType, StoredType};
use crate::framework::activation_scales::{ACTIVATIONS, CACHE, OF_ACTIVATIONS, OF_CACHE};
use crate::framework::{Bids, Configs, Evidence, SHARED, Scheme, Sign, Summary, TensorId, Traces};

mod attempt;
mod beside;
mod config;
mod encode;
mod factors;
mod grouped;
mod layout;
mod loader_faults;
mod module;
mod reading;
mod recipe;
mod sparse;
mod stated;
mod target;
#[cfg(test)]
mod tests;

use config::Settings;
use module::Module;

/// The scheme.
pub struct Compressed;

/// Tensors that mean nothing without their weight.
const COMPANIONS: [&str; 5] =
    ["weight_scale", "weight_global_scale", "weight_zero_point", "weight_g_idx", "weight_shape"];

impl Scheme for Compressed {
    facts! {
        name: "compressed",
        methods: &[config::METHOD],
        config_keys: &[config::EARLY_KEY],
        layouts: &[&target::PackedLayout],
        traces: Traces {
            config_keys: &["quantization_config", config::EARLY_KEY, "quantization"],
            ..SHARED
        },
        #[cfg(feature = "encoders")]
        quantizers: encode::QUANTIZERS,
    }

    fn implied_method(&self, configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        Some((config::sign(configs)?, config::METHOD.name))
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.may_end_with(&[".weight_packed", ".bitmask"])
            || summary.configs_mention_quantization()
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        let (settings, nothing) = (Settings::of(evidence), Settings::default());
        for &(id, info) in evidence.tensors() {
            let Some((name, role)) = info.name.rsplit_once('.') else { continue };
            match (role, &settings) {
                // No other scheme has tensors of this name, so no config is needed.
                ("weight_packed", settings) => {
                    let settings = settings.as_ref().unwrap_or(&nothing);
                    packed(&Module::new(name, (id, info), evidence), settings, evidence, bids);
                }
                ("bitmask", _) => sparse::bid_for(name, (id, info), evidence, bids),
                ("weight", Some(settings)) => {
                    let module = Module::new(name, (id, info), evidence);
                    unpacked(&module, settings, bids);
                }
                (role, Some(_)) => companion(name, role, (id, info), evidence, bids),
                _ => {}
            }
        }
    }
}

fn packed(module: &Module<'_, '_>, settings: &Settings, evidence: &Evidence<'_>, bids: &mut Bids) {
    let beside = |suffix: &str| evidence.find(&format!("{}.{suffix}", module.name));
    match (beside("scale_packed"), beside("meta")) {
        (Some(scale), Some(meta)) => sparse::refuse_marlin(module, scale.0, meta.0, bids),
        _ => module.bid(settings, bids),
    }
}

/// A `weight`: quantized if its type says so, otherwise plain.
fn unpacked(module: &Module<'_, '_>, settings: &Settings, bids: &mut Bids) {
    let quantized = match module.codes.1.stored {
        StoredType::Element(dtype) => match dtype {
            DType::F32 | DType::F16 | DType::BF16 | DType::F64 => false,
            // Alone, bytes are quantized unless the config leaves them out.
            _ if module.scale.is_none() => {
                let small = dtype.bits() == 8 && dtype != DType::Bool && dtype != DType::U8;
                small && module.codes.1.shape.len() > 1 && !settings.ignores(module.name)
            }
            _ => true,
        },
        _ => false,
    };
    if quantized {
        module.bid(settings, bids);
    }
}

/// A tensor that goes with a weight, an activation or the cache.
fn companion(
    name: &str,
    role: &str,
    (id, info): (TensorId, &TensorInfo),
    evidence: &Evidence<'_>,
    bids: &mut Bids,
) {
    let mut drop = |reason: &str| bids.dropped.push((id, reason.to_owned()));
    if ACTIVATIONS.contains(&role) {
        return drop(OF_ACTIVATIONS);
    }
    if CACHE.contains(&role) {
        return drop(OF_CACHE);
    }
    let find = |suffix: &str| evidence.find(&format!("{name}.{suffix}"));
    if role == "compressed" && find("bitmask").is_none() && find("shape").is_some() {
        let message = "values of a sparse weight without its mask, `bitmask`; a shard may be \
                       missing";
        bids.findings.push(Finding::of(&info.name, "undecodable", message));
    }
    if !COMPANIONS.contains(&role) {
        return;
    }
    if find("weight_packed").or_else(|| find("bitmask")).is_some() {
        return;
    }
    let float = |info: &TensorInfo| {
        [DType::F32, DType::F16, DType::BF16, DType::F64].map(Into::into).contains(&info.stored)
    };
    match find("weight") {
        Some((_, weight)) if float(weight) => {
            drop("its weight is not quantized; only needed for quantizing it again");
        }
        Some((_, weight)) if matches!(weight.stored, StoredType::Element(_)) => {}
        _ => {
            let message = format!(
                "neither {name}.weight nor {name}.weight_packed exists; a shard may be missing"
            );
            bids.findings.push(Finding::of(&info.name, "orphan", message));
        }
    }
}
