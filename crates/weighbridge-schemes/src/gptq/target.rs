//! Stores codes of other schemes in GPTQ's layout.
//!
//! Zero points are stored minus one, as most readers expect. If one of them is 0, they are stored
//! unchanged (`gptq_v2`), since readers disagree on how borrowing affects its neighbours. Groups
//! are in order, and `g_idx` says so. Unquantized linear layers are listed under `dynamic`.

use serde_json::{Map, Value as Json, json};

use crate::arithmetic::columns::{Alike, ColumnPacker, WordLayout, Zeros};
use crate::framework::{LaidOut, LayoutMismatch, TargetLayout, ToLayOut};

/// GPTQ's layout.
pub(super) struct GptqLayout;

impl TargetLayout for GptqLayout {
    fn name(&self) -> Option<&'static str> {
        Some("gptq")
    }

    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<LayoutMismatch>> {
        let alike = Alike::of(model.weights)?;
        let less_one = model.weights.iter().all(|weight| weight.zeros[0] > 0);
        let weights = model.each(|weight| {
            let form = weight.form;
            let zeros = Zeros::Stream { bits: form.bits(), less_one };
            let word_layout = WordLayout::Inputs;
            ColumnPacker { form, word_layout, zeros, indexed: true }.packed(weight)
        })?;
        Ok(LaidOut::described(weights, settings(model, alike, less_one)))
    }
}

fn settings(model: &ToLayOut<'_>, alike: Alike, less_one: bool) -> Json {
    const LAST: &str = "lm_head";
    let plain = model.plain_modules().filter(|module| *module != LAST);
    let rules: Map<String, Json> =
        plain.map(|module| (format!("-:^{}$", regex::escape(module)), json!({}))).collect();
    let mut settings = json!({
        "bits": alike.bits,
        "checkpoint_format": if less_one { "gptq" } else { "gptq_v2" },
        "desc_act": false,
        "group_size": alike.group_size(),
        "lm_head": model.coded_modules().any(|module| module == LAST),
        "pack_dtype": "int32",
        "quant_method": "gptq",
        "sym": model.is_symmetric(),
    });
    if !rules.is_empty() {
        settings["dynamic"] = rules.into();
    }
    settings
}
