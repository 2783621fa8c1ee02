//! Settings that a GGUF file does not carry, or that keep llama.cpp from loading it: each is named, and no
//! other. What each of them does was run in llama.cpp and transformers (`oracles/settings`).

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType, Warning};
use weighbridge::{Model, OpenOptions};

use crate::to_gguf::{config, open, refused, whole_of, with_setting};

/// Converts a repository.
fn converted(repository: &TempDir) -> (Model, Vec<Warning>) {
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(OutputType::F32);
    let mut bytes = Vec::new();
    let source = open(repository.path());
    let report = ops::convert_to(&source, &options, &mut bytes).unwrap();
    (OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap(), report.warnings)
}

fn keys(warnings: &[Warning]) -> BTreeSet<String> {
    warnings.iter().map(|warning| warning.key.clone()).collect()
}

/// The keys that are named when a setting changes, beside those that the family's sample has named.
fn named(family: &str, key: &str, value: &Json) -> BTreeSet<String> {
    let same = config(family)[key].clone();
    let before = keys(&converted(&with_setting(family, key, same)).1);
    let after = converted(&with_setting(family, key, value.clone())).1;
    for warning in &after {
        assert_eq!(warning.kind, "setting-not-carried", "{family} {key}");
        assert!(warning.message.contains("llama.cpp"), "{}", warning.message);
    }
    keys(&after).difference(&before).cloned().collect()
}

fn rope(kind: &str, more: &[(&str, Json)]) -> Json {
    let mut rope = json!({ "rope_type": kind, "rope_theta": 10000.0, "factor": 4.0 });
    more.iter().for_each(|(key, value)| rope[*key] = value.clone());
    rope
}

fn base(theta: f64) -> Json {
    json!({ "rope_type": "default", "rope_theta": theta })
}

#[test]
fn settings_that_change_results_are_named() {
    let yarn = |key: &str, value: Json| rope("yarn", &[(key, value)]);
    let llama3 = [("low_freq_factor", json!(1.0)), ("high_freq_factor", json!(4.0))];
    let cases = [
        ("llama", "hidden_act", json!("gelu"), "hidden_act"),
        ("llama", "rope_parameters", rope("dynamic", &[]), "rope_scaling.rope_type"),
        ("llama", "rope_parameters", yarn("beta_fast", json!(8.0)), "rope_scaling.beta_fast"),
        ("llama", "rope_parameters", yarn("truncate", json!(false)), "rope_scaling.truncate"),
        ("qwen2", "rope_parameters", rope("llama3", &llama3), "rope_scaling.rope_type"),
        ("mistral", "sliding_window", json!(8), "sliding_window"),
        ("qwen2_moe", "norm_topk_prob", json!(true), "norm_topk_prob"),
        ("gemma2", "hidden_activation", json!("silu"), "hidden_activation"),
        ("gemma2", "tie_word_embeddings", json!(false), "tie_word_embeddings"),
        ("gemma3", "use_bidirectional_attention", json!(true), "use_bidirectional_attention"),
        ("smollm3", "no_rope_layers", json!([0, 0]), "no_rope_layers"),
        ("gpt_oss", "swiglu_limit", json!(1.0), "swiglu_limit"),
        ("deepseek_v3", "rms_norm_eps", json!(1e-5), "rms_norm_eps"),
        ("llama4", "attention_chunk_size", json!(16), "attention_chunk_size"),
        ("bert", "hidden_act", json!("relu"), "hidden_act"),
        ("gpt2", "scale_attn_by_inverse_layer_idx", json!(true), "scale_attn_by_inverse_layer_idx"),
    ];
    for (family, key, value, expected) in cases {
        // One key may be accounted for under several names.
        let named = named(family, key, &value);
        assert!(named.contains(expected), "{family} {key} {value}: {named:?}");
    }
}

#[test]
fn settings_that_change_nothing_are_not_named() {
    for (family, key, value) in [
        ("llama", "attention_dropout", json!(0.5)),
        ("llama", "pretraining_tp", json!(2)),
        ("llama", "rope_parameters", base(500.0)),
        ("llama", "rope_parameters", rope("linear", &[])),
        ("llama", "rope_parameters", rope("yarn", &[("attention_factor", json!(1.5))])),
        ("mistral", "sliding_window", json!(4096)),
        ("qwen2", "sliding_window", json!(8)),
        ("gemma", "rope_parameters", base(500.0)),
        ("gemma2", "use_bidirectional_attention", json!(true)),
        ("gemma3", "attn_logit_softcapping", json!(2.0)),
        ("cohere", "logit_scale", json!(1.0)),
        ("gpt_oss", "hidden_act", json!("relu")),
        ("bert", "hidden_act", json!("gelu_new")),
    ] {
        assert_eq!(named(family, key, &value), BTreeSet::new(), "{family} {key} {value}");
    }
}

#[test]
fn unknown_settings_are_named() {
    let unknown = with_setting("llama", "flux_capacitor", json!(1.21));
    let (_, warnings) = converted(&unknown);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!((&*warning.key, &warning.value), ("flux_capacitor", &json!(1.21)));
    assert!(converted(&with_setting("llama", "flux_capacitor", json!(false))).1.is_empty());
}

#[test]
fn what_keeps_a_file_from_loading_is_refused() {
    for (family, key, value) in [
        ("qwen3_moe", "decoder_sparse_step", json!(2)),
        ("qwen2_moe", "mlp_only_layers", json!([0])),
        ("deepseek_v2", "attention_bias", json!(true)),
    ] {
        let wrong = with_setting(family, key, value);
        let error = refused(wrong.path());
        assert!(error.contains("llama.cpp will not load it"), "{family} {key}: {error}");
    }
    let wrong = with_setting("qwen3_moe", "decoder_sparse_step", json!(2));
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).allow_lossy_config(true);
    let report = ops::convert_to(&open(wrong.path()), &options, Vec::new()).unwrap();
    let is_it = |warning: &Warning| warning.kind == "will-not-load";
    assert!(report.warnings.iter().any(is_it), "{:?}", report.warnings);
}

#[test]
fn what_llama_cpp_reads_is_written_though_the_converter_does_not() {
    let entry = |repository: &TempDir, key: &str| {
        let (model, _) = converted(repository);
        let source = &model.sources()[0];
        source.catalog().metadata.get(key).map(|value| whole_of(source, value))
    };
    let theta = with_setting("gemma2", "rope_parameters", base(500.0));
    assert_eq!(entry(&theta, "gemma2.rope.freq_base"), Some(Value::F32(500.0)));
    let kinds =
        with_setting("gemma3", "layer_types", json!(["full_attention", "sliding_attention"]));
    let pattern = Value::List(vec![Value::Bool(false), Value::Bool(true)]);
    assert_eq!(entry(&kinds, "gemma3.attention.sliding_window_pattern"), Some(pattern));
    let yarn = rope("yarn", &[("attention_factor", json!(1.5))]);
    let factor =
        entry(&with_setting("llama", "rope_parameters", yarn), "llama.rope.scaling.attn_factor");
    let Some(Value::F32(factor)) = factor else { panic!("{factor:?}") };
    assert!((f64::from(factor) * (1.0 + 0.1 * 4_f64.ln()) - 1.5).abs() < 1e-6, "{factor}");
}
