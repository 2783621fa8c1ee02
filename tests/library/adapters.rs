//! Adapters as GGUF files, against what llama.cpp's `convert_lora_to_gguf.py` makes of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weighbridge::OpenOptions;
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};

use crate::common::root;
use crate::to_gguf::{compare, folder, open};

fn samples(family: &str) -> PathBuf {
    root().join("tests/files/adapters").join(family)
}

#[test]
fn adapters() {
    for family in ["llama", "phi3", "gemma3"] {
        let home = samples(family);
        let model = open(&home.join("peft"));
        for (name, dtype) in [("f32", OutputType::Auto), ("f16", OutputType::F16)] {
            let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(dtype);
            let options = options.base(folder(family).join("hf"));
            let mut bytes = Vec::new();
            ops::convert_to(&model, &options, &mut bytes).unwrap();
            let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
            let golden = open(&home.join(format!("adapter-{name}.gguf")));
            compare(&made, &golden, &format!("adapter of {family} {name}"));
        }
    }
}

/// A copy of an adapter, with one of its settings changed.
fn adapter_with(key: &str, value: Json) -> tempfile::TempDir {
    let home = samples("llama").join("peft");
    let copy = tempfile::tempdir().unwrap();
    for name in ["adapter_config.json", "adapter_model.safetensors"] {
        fs::copy(home.join(name), copy.path().join(name)).unwrap();
    }
    let mut settings: Json =
        serde_json::from_slice(&fs::read(home.join("adapter_config.json")).unwrap()).unwrap();
    settings[key] = value;
    fs::write(copy.path().join("adapter_config.json"), settings.to_string()).unwrap();
    copy
}

fn adapter_refused(adapter: &Path, base: Option<PathBuf>) -> String {
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf);
    let options = match base {
        Some(base) => options.base(base),
        None => options,
    };
    ops::convert_to(&open(adapter), &options, Vec::new()).unwrap_err().to_string()
}

#[test]
fn adapters_that_would_act_otherwise_are_refused() {
    let (home, base) = (samples("llama").join("peft"), folder("llama").join("hf"));
    assert!(adapter_refused(&home, None).contains("weighbridge/Tiny-1B-v0.1"));
    assert!(adapter_refused(&home, Some(home.clone())).contains("config.json"));
    let unlike = [
        ("use_dora", json!(true)),
        ("alpha_pattern", json!({ "q_proj": 3 })),
        ("modules_to_save", json!(["lm_head"])),
        ("peft_type", json!("IA3")),
        ("bias", json!("all")),
        ("lora_alpha", json!(null)),
    ];
    for (key, value) in unlike {
        let adapter = adapter_with(key, value);
        let error = adapter_refused(adapter.path(), Some(base.clone()));
        assert!(error.contains(key), "{error}");
    }
    let other = folder("phi3").join("hf");
    let error = adapter_refused(&home, Some(other));
    assert!(error.contains("has no weight with this name"), "{error}");
}

/// The product is divided by the rank in llama.cpp, and by its root where the adapter says so.
#[test]
fn an_adapter_scaled_by_the_root_of_its_rank_is_scaled_so() {
    let adapter = adapter_with("use_rslora", json!(true));
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf);
    let mut bytes = Vec::new();
    let options = options.base(folder("llama").join("hf"));
    ops::convert_to(&open(adapter.path()), &options, &mut bytes).unwrap();
    let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
    let alpha = made.sources()[0].catalog().metadata.get("adapter.lora.alpha").cloned();
    assert_eq!(alpha, Some(Value::F32(8.660_254_5)));
}
