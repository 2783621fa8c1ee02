//! bitsandbytes: four-bit codes in blocks (NF4, FP4), and signed bytes with a scale a row (INT8).
//!
//! ```text
//! W                                  U8 [bytes, 1]   two codes a byte, the high nibble first, flat
//!                                                    over all elements; or the same bytes typed as
//!                                                    I8, F16, BF16, F32, F64 (`quant_storage`)
//! W.absmax                           F32 [blocks]    what the largest code of each block stands for,
//!                                    U8 [blocks]     or codes for that (nested)
//! W.nested_absmax                    F32 [blocks / 256]
//! W.nested_quant_map                 F32 [256]       what the codes in absmax stand for
//! W.quant_map                        F32 [16]        never used: the library has its own tables
//! W.quant_state.bitsandbytes__nf4    U8              JSON: quant_type, blocksize, dtype, shape, and
//!                                                    nested_blocksize, nested_dtype, nested_offset
//!
//! P.weight         I8 [out, in]
//! P.SCB            F32 [out]         the largest absolute value of each row
//! P.weight_format  U8                0 (or absent): rows; the tiled layouts 1 to 3 are refused
//! ```
//!
//! Recipes, each step rounded to f32; a 16-bit output is that f32 rounded once:
//!
//! - four bits: `table[code] * absmax[element / blocksize]`, where nested absmax is
//!   `map[absmax] * nested_absmax[block / nested_blocksize]`, then `+ nested_offset`: two
//!   roundings. The native type is the state's `dtype`. FP4's code 8 is -0, as in the compiled
//!   kernels; the torch fallback for odd rows has +0 there. (bitsandbytes 0.50.2,
//!   `functional.dequantize_4bit` with its CPU kernels.)
//! - INT8: `(code * SCB) * 0.007874016`, in that order; the native type is f32.
//!   (`functional.int8_vectorwise_dequant`.)
//!
//! The encoding arithmetic is documented where it is implemented: `nearest` (four bits), `scales`
//! (nested ones), `eight_encoder`.

use std::collections::{HashMap, HashSet};

use crate::catalog::{Finding, TensorInfo};
use crate::dtype::DType;
use crate::framework::{Bids, Evidence, Method, Scheme, StoredTensor, Summary};

mod absmax;
mod eight;
mod eight_encoder;
mod four;
mod four_encoder;
mod mean;
mod nearest;
mod quantizers;
#[cfg(test)]
mod round_trips;
mod scales;
mod state;
mod state_text;
#[cfg(test)]
mod tests;

/// The bitsandbytes scheme.
pub struct Bnb;

/// Prefix of a state's kind in its tensor name.
const STATE: &str = ".quant_state.bitsandbytes__";

impl Scheme for Bnb {
    facts! {
        name: "bnb",
        methods: const { &[Method::named(METHOD)] },
        #[cfg(feature = "encoders")]
        quantizers: quantizers::ALL,
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        // A state's name goes on after its last dot.
        summary.has_other_names() || summary.configs_mention_quantization()
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        let is_ours = evidence.method() == Some(METHOD);
        let groups = groups(evidence, is_ours);
        for group in &groups {
            four::bid_for(group, evidence, bids);
        }
        let codes: HashSet<&str> = groups.iter().map(|group| group.weight).collect();
        for &(id, info) in evidence.tensors() {
            if let Some(prefix) = info.name.strip_suffix(".SCB") {
                eight::bid_for(prefix, Some((id, info)), evidence, bids);
            } else if let Some(prefix) = info.name.strip_suffix(".weight_format")
                && evidence.find(&format!("{prefix}.SCB")).is_none()
            {
                eight::bid_for(prefix, None, evidence, bids);
            } else if is_ours
                && !codes.contains(&*info.name)
                && let Some(prefix) = bare_bytes(info, evidence)
            {
                eight::bid_for(prefix, None, evidence, bids);
            }
        }
    }
}

/// A four-bit weight, found by its companions.
struct Group<'a> {
    /// The weight's name.
    weight: &'a str,
    /// Its states, each with the kind in its name. A valid file has one.
    states: Vec<(&'a str, StoredTensor<'a>)>,
}

/// Returns the module of signed bytes without companions. In a model of this library, no other
/// weights look like that.
fn bare_bytes<'a>(info: &'a TensorInfo, evidence: &Evidence<'_>) -> Option<&'a str> {
    let prefix = info.name.strip_suffix(".weight")?;
    let there = |end: &str| evidence.find(&format!("{prefix}.{end}")).is_some();
    let bare = info.stored == DType::I8.into() && info.shape.len() == 2;
    (bare && !there("SCB") && !there("weight_format")).then_some(prefix)
}

/// Whether a tensor may hold the codes of such a weight: bytes in one column.
fn is_bare_codes(info: &TensorInfo) -> bool {
    info.name.ends_with(".weight")
        && info.stored == DType::U8.into()
        && matches!(info.shape[..], [_, 1])
}

/// Returns the four-bit weights, in file order.
fn groups<'a>(evidence: &Evidence<'a>, is_ours: bool) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places = HashMap::new();
    for &(id, info) in evidence.tensors() {
        let name: &'a str = &info.name;
        let state = name.split_once(STATE);
        // Other libraries may use the name `absmax`; the other names are unique to this one.
        let absmax = || name.strip_suffix(".absmax").filter(|_| is_ours);
        let of_map = || COMPANIONS.iter().find_map(|suffix| name.strip_suffix(*suffix));
        let bare = || (is_ours && is_bare_codes(info)).then_some(name);
        let weight = state.map(|(weight, _)| weight).or_else(of_map).or_else(absmax);
        let Some(weight) = weight.or_else(bare) else { continue };
        let place = *places.entry(weight).or_insert_with(|| {
            groups.push(Group { weight, states: Vec::new() });
            groups.len() - 1
        });
        groups[place].states.extend(state.map(|(_, kind)| (kind, (id, info))));
    }
    groups
}

const COMPANIONS: [&str; 3] = [".quant_map", ".nested_absmax", ".nested_quant_map"];

/// The method's name in configs.
const METHOD: &str = "bitsandbytes";

/// A config that names another method.
fn other_method(evidence: &Evidence<'_>) -> Result<(), String> {
    match evidence.method() {
        Some(method) if method != METHOD => Err(format!(
            "it is stored as a bitsandbytes weight, but the config names the method `{method}`; \
             use the config of this model"
        )),
        _ => Ok(()),
    }
}

/// A finding for a companion whose weight is missing.
fn orphan(tensor: &TensorInfo, weight: &str, bids: &mut Bids) {
    let message =
        format!("its quantized weight {weight} is not in the model; add the file that contains it");
    bids.findings.push(Finding::of(&tensor.name, "orphan", message));
}
