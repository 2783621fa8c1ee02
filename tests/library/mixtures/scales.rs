//! NVFP4 with a scale beside each weight: only where llama.cpp applies it.

use std::collections::BTreeMap;

use weighbridge::Model;
use weighbridge::ops::{self, ConvertOptions, QuantizeOptions};

use super::models::{expected, repository};
use crate::to_gguf::open;

/// A model in NVFP4: the type of every stored tensor, and the notes.
fn quantized(model: &str, how: &QuantizeOptions) -> (BTreeMap<String, String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let model = open(&repository(model, &expected(model), folder.path()));
    let out = folder.path().join("out.gguf");
    let report = ops::quantize(&model, &ConvertOptions::new(&out).verify(true), how).unwrap();
    assert!(report.verified.unwrap().ok);
    let made = Model::open(&out).unwrap();
    let tensors = made.sources()[0].catalog().tensors.iter();
    let types = tensors.map(|info| (info.name.to_string(), info.stored.name().to_string()));
    (types.collect(), report.notes)
}

/// The type of a weight, and whether it has a scale.
fn stored<'a>(types: &'a BTreeMap<String, String>, module: &str) -> (&'a str, bool) {
    let scale = types.contains_key(&format!("{module}.scale"));
    (&types[&format!("{module}.weight")], scale)
}

#[test]
fn feed_forward_layers_get_another_type_where_their_scale_is_ignored() {
    let (types, notes) = quantized("gemma3", &QuantizeOptions::new("NVFP4"));
    for module in ["attn_q", "attn_output"] {
        assert_eq!(stored(&types, &format!("blk.0.{module}")), ("NVFP4", true), "{module}");
    }
    for module in ["ffn_gate", "ffn_up", "ffn_down"] {
        assert_eq!(stored(&types, &format!("blk.1.{module}")), ("Q8_0", false), "{module}");
    }
    let said = "stored as Q8_0: llama.cpp applies no NVFP4 scale to";
    assert!(notes.iter().any(|note| note.contains(said)), "{notes:?}");
    let (types, notes) = quantized("qwen3moe", &QuantizeOptions::new("NVFP4"));
    for module in ["attn_q", "ffn_gate_exps", "ffn_down_exps"] {
        assert_eq!(stored(&types, &format!("blk.0.{module}")), ("NVFP4", true), "{module}");
    }
    assert!(!notes.iter().any(|note| note.contains("ffn_")), "{notes:?}");
}

/// Then it is ggml's own type, which has no scale beside it.
#[test]
fn a_type_that_is_asked_for_is_taken() {
    let how = QuantizeOptions::new("NVFP4").tensor_type(|name| name.contains("ffn_up"), "NVFP4");
    let (types, _) = quantized("gemma3", &how);
    assert_eq!(stored(&types, "blk.0.ffn_up"), ("NVFP4", false));
    assert_eq!(stored(&types, "blk.0.ffn_down"), ("Q8_0", false));
}
