//! Handles configs that declare quantization where no scheme has claimed anything.
//!
//! Either the tensors are packed in an unknown format. Their element counts would silently be those
//! of packed tensors, so that is a finding. Or the config does not describe these tensors: it
//! remains from before an adapter was merged, it asks for quantization on load, or it belongs to
//! the base model of an adapter. Then all tensors are plain numbers, and a note is enough.

use crate::catalog::{Finding, TensorInfo};
use crate::dtype::DType;
use crate::framework::unclaimed;
use crate::framework::{Evidence, Ledger};
use crate::text::shortened;

/// Decides between the two cases, if the configs declare quantized weights.
pub(crate) fn judge(evidence: &Evidence<'_>, ledger: &mut Ledger) {
    let says = |json: &serde_json::Value| json.as_object().is_some_and(|keys| !keys.is_empty());
    let Some((file, json)) = evidence.quantization().filter(|(_, json)| says(json)) else {
        return;
    };
    let named = json.get("quant_method").and_then(|method| method.as_str());
    let method = evidence.method().or(named).unwrap_or("unnamed");
    let shown = shortened(method, 40);
    // Scales of any kind suggest that something is quantized after all.
    if ledger.findings.is_empty() && ledger.dropped.is_empty() && is_plain(evidence) {
        ledger.notes.push(format!(
            "{file} says that the model is quantized (method {shown}), but no tensor is; values \
             are used unchanged"
        ));
        ledger.stale = Some(method.to_owned());
        return;
    }
    let message = format!(
        "{file} says that the model is quantized (method {shown}), but no supported scheme matches \
         its tensors; they are listed and counted as stored"
    );
    ledger.findings.push(Finding::general("unknown-scheme", message));
}

/// Whether no tensor can be packed. For an unknown method, only tensors called weights and biases
/// are certain.
fn is_plain(evidence: &Evidence<'_>) -> bool {
    let is_known = evidence.method().and_then(|name| evidence.schemes().method(name)).is_some();
    (is_known || !evidence.summary().has_other_names())
        && evidence.tensors().iter().all(|(_, info)| is_number(info))
}

/// Whether a tensor holds plain numbers: a type of 16 bits or more, and not a scale. A single row
/// of integers may be positions or a count.
fn is_number(info: &TensorInfo) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I64};
    let is_row = || info.shape.iter().filter(|&&side| side > 1).count() < 2;
    let fits = match info.stored.element() {
        Some(BF16 | F16 | F32 | F64) => true,
        Some(I64 | Bool) => is_row(),
        _ => false,
    };
    fits && !unclaimed::is_scale_of_weight(&info.name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::framework::testing::{SCHEMES, config, evidence, tensors};

    /// Whether tensors pass for plain numbers beside a config.
    fn passes(stored: &[(&str, DType, &[u64])], config_json: Json) -> bool {
        let (stored, configs) = (tensors(stored), [config(config_json)]);
        let ledger = SCHEMES.settle(&evidence(&stored, &configs));
        assert_ne!(ledger.findings.is_empty(), ledger.stale.is_none(), "{:?}", ledger.findings);
        assert_eq!(ledger.stale.is_some(), ledger.notes.len() == 1);
        ledger.stale.is_some()
    }

    fn of(method: &str) -> Json {
        json!({ "quantization_config": { "quant_method": method, "bits": 4 } })
    }

    #[test]
    fn plain_numbers_beside_an_old_config_are_taken_as_they_are() {
        let plain: &[(&str, DType, &[u64])] = &[
            ("model.layers.0.self_attn.q_proj.weight", DType::BF16, &[64, 64]),
            ("model.layers.0.self_attn.q_proj.bias", DType::F32, &[64]),
        ];
        for method in ["gptq", "awq", "bitsandbytes", "fp8", "compressed-tensors", "new-one"] {
            assert!(passes(plain, of(method)), "{method}");
        }
        let on_the_fly = json!({ "load_in_4bit": true, "quant_method": "bitsandbytes" });
        assert!(passes(plain, json!({ "quantization_config": on_the_fly })));
        let adapter = [("base_model.model.a.q_proj.lora_A.weight", DType::F32, &[8, 64][..])];
        assert!(passes(&adapter, of("gptq")));
        let positions = [("a.weight", DType::F16, &[8, 8][..]), ("a.ids", DType::I64, &[1, 77])];
        assert!(passes(&positions, of("gptq")));
    }

    #[test]
    fn what_may_be_packed_stays_refused() {
        let weight = ("a.q_proj.weight", DType::BF16, &[64, 64][..]);
        for other in [
            ("a.k_proj.packed", DType::I32, &[8, 64][..]),
            ("a.k_proj.weight", DType::U8, &[2048, 1]),
            ("a.k_proj.ids", DType::I64, &[8, 64]),
            ("a.q_proj.weight_scale", DType::BF16, &[64, 1]),
        ] {
            assert!(!passes(&[weight, other], of("gptq")), "{}", other.0);
        }
        let odd = [weight, ("a.q_proj.codebook", DType::F16, &[16, 8])];
        assert!(!passes(&odd, of("new-one")));
    }
}
