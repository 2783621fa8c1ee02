//! GPTQ: integers packed along the input dimension, with a scale and a zero point per group.
//!
//! ```text
//! P.qweight  I32 [in * bits / 32, out]        codes of consecutive inputs, low bits first
//! P.qzeros   I32 [groups, out * bits / 32]    zero points of consecutive outputs
//! P.scales   F16 [groups, out]
//! P.g_idx    I32 [in]                 the group of each input; absent means input / group size
//! ```
//!
//! Two, four and eight bits fill words; three bits run on over them, 32 codes in three words.
//!
//! Recipe: `w[out][in] = scale[g][out] * (code - zero)`, see `columns`; canonical are
//! GPTQModel 7.7.0 (`dequantize_weight` of its torch layer) and AutoGPTQ 0.7.1. Files of the first
//! kind (`checkpoint_format` "gptq", AutoRound's "auto_round:auto_gptq") store `zero - 1`;
//! "gptq_v2" (AutoRound's "auto_round") stores `zero`. Their writer takes the one off each packed
//! word in a single subtraction, so that a zero point of 0 borrows from its neighbours; adding it
//! back to the whole word is what restores them. Three-bit fields wrap each by itself.

use crate::arithmetic::columns;
use crate::arithmetic::columns::config::{AUTO_ROUND, FILES};
use crate::framework::{
    Bids, ConfigFile, Evidence, Method, SHARED, Scheme, Summary, TargetLayout, Traces,
};

mod layout;
mod settings;
mod target;

/// The GPTQ scheme.
pub struct Gptq;

impl Scheme for Gptq {
    fn name(&self) -> &'static str {
        "gptq"
    }

    fn methods(&self) -> &'static [Method] {
        &[settings::METHOD, AUTO_ROUND]
    }

    fn config_files(&self) -> &'static [ConfigFile] {
        &FILES
    }

    fn layouts(&self) -> &'static [&'static dyn TargetLayout] {
        &[&target::GptqLayout]
    }

    fn traces(&self) -> Traces {
        Traces { files: &["quantize_config.json", "quant_log.csv"], ..SHARED }
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.may_end_with(&[".qweight", ".qzeros", ".g_idx", ".scales"])
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        let Ok(settings) = settings::of(evidence) else { return };
        for &(id, info) in evidence.tensors() {
            if let Some(prefix) = info.name.strip_suffix(".qweight") {
                layout::bid_for(prefix, (id, info), evidence, settings.as_ref(), bids);
            }
            let own = [".qzeros", ".g_idx"].iter().find_map(|s| info.name.strip_suffix(s));
            columns::check_orphan(own, info, settings.is_some(), evidence, bids);
        }
    }
}

#[cfg(test)]
mod tests;
