//! Repositories whose config, weights and tokenizer files do not agree, or that llama.cpp cannot run, as
//! GGUF files: what is better known is written, everything else is refused by name.
//! `oracles/check_gguf_cases.py` runs these cases.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, ConvertReport, Names, OutputType};
use weighbridge::{Model, OpenOptions, Select};

use crate::to_gguf::with_setting;
use crate::to_gguf::{changed, compare, config, folder, golden, open, refused, whole_of};

/// Converts a repository, and opens what is made of it.
fn converted(repository: &Path, dtype: OutputType) -> (Model, ConvertReport) {
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(dtype);
    let mut bytes = Vec::new();
    let report = ops::convert_to(&open(repository), &options, &mut bytes).unwrap();
    (OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap(), report)
}

fn entry(model: &Model, key: &str) -> Option<Value> {
    let source = &model.sources()[0];
    source.catalog().metadata.get(key).map(|value| whole_of(source, value))
}

fn names(model: &Model) -> Vec<String> {
    let tensors = model.sources()[0].catalog().tensors.iter();
    tensors.map(|tensor| tensor.name.to_string()).collect()
}

#[track_caller]
fn says(repository: &TempDir, words: &str) {
    let error = refused(repository.path());
    assert!(error.contains(words), "{error}");
}

/// A copy of a family's repository without a key of its config.
fn without(family: &str, key: &str) -> TempDir {
    let mut config = config(family);
    assert!(config.as_object_mut().unwrap().remove(key).is_some(), "{family} has no {key}");
    changed(family, "config.json", Some(&config.to_string()))
}

#[test]
fn deepseek_v3_chooses_experts_by_a_sigmoid() {
    let bare = without("deepseek_v3", "scoring_func");
    let (made, _) = converted(bare.path(), OutputType::Bf16);
    let key = "deepseek2.expert_gating_func";
    assert_eq!(entry(&made, key), Some(Value::Unsigned(32, 2)));
    let golden = open(&golden(&folder("deepseek_v3"), "bf16"));
    assert_eq!(entry(&made, key), entry(&golden, key));
    let softmax = with_setting("deepseek_v3", "scoring_func", json!("softmax"));
    let (made, _) = converted(softmax.path(), OutputType::Bf16);
    assert_eq!(entry(&made, key), Some(Value::Unsigned(32, 1)));
}

#[test]
fn next_token_layers_that_are_there_are_counted() {
    let families = [("glm4_moe", "num_nextn_predict_layers"), ("qwen3_5", "mtp_num_hidden_layers")];
    for (family, key) in families {
        let golden = open(&golden(&folder(family), "bf16"));
        for (wrong, stated) in [
            (with_setting(family, key, json!(0)), 0),
            (with_setting(family, key, json!(2)), 2),
            (without(family, key), 0),
        ] {
            let (made, report) = converted(wrong.path(), OutputType::Bf16);
            compare(&made, &golden, family);
            let note = format!("states {stated} next-token prediction layers (`{key}`)");
            assert!(report.notes.iter().any(|found| found.contains(&note)), "{:?}", report.notes);
        }
        let (_, report) = converted(&folder(family).join("hf"), OutputType::Bf16);
        assert!(!report.notes.iter().any(|found| found.contains("next-token")), "{family}");
    }
}

/// A repository without some of its weights.
fn weights_without(family: &str, is_dropped: fn(&str) -> bool) -> TempDir {
    let (place, hf) = (tempfile::tempdir().unwrap(), folder(family).join("hf"));
    let part = place.path().join("part");
    let options = ConvertOptions::new(&part).select(Select::new().exclude(is_dropped));
    ops::convert(&open(&hf), &options).unwrap();
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(hf.join(name), part.join(name)).unwrap();
    }
    place
}

#[test]
fn next_token_layers_that_are_missing_are_not_counted() {
    let glm = weights_without("glm4_moe", |name| name.contains("layers.2."));
    let qwen = weights_without("qwen3_5", |name| name.starts_with("mtp."));
    for (family, architecture, place) in [("glm4_moe", "glm4moe", glm), ("qwen3_5", "qwen35", qwen)]
    {
        let (made, report) = converted(&place.path().join("part"), OutputType::Bf16);
        let own = |key: &str| entry(&made, &format!("{architecture}.{key}"));
        assert_eq!(own("block_count"), Some(Value::Unsigned(32, 2)), "{family}");
        let next = own("nextn_predict_layers");
        assert!(matches!(next, None | Some(Value::Unsigned(32, 0))), "{family} {next:?}");
        let mut kept = names(&open(&golden(&folder(family), "bf16")));
        kept.retain(|name| !name.starts_with("blk.2."));
        assert_eq!(names(&made), kept, "{family}");
        let note = "but the weights have 0; the output states 0";
        assert!(report.notes.iter().any(|found| found.contains(note)), "{:?}", report.notes);
        if let Some(Value::List(layers)) = own("attention.recurrent_layers") {
            assert_eq!(layers.len(), 2, "{family}");
        }
        // Whoever compares the two finds no other settings.
        let model = open(&place.path().join("part"));
        let report = ops::diff(&model, &made, &ops::DiffOptions::default()).unwrap();
        assert!(report.ok, "{family} {:?}", report.summary);
    }
}

#[test]
fn a_stated_width_of_heads_is_written() {
    let stated = with_setting("cohere2", "head_dim", json!(8));
    let (made, _) = converted(stated.path(), OutputType::Bf16);
    assert_eq!(entry(&made, "cohere2.attention.key_length"), Some(Value::Unsigned(32, 8)));
}

#[test]
fn rows_that_are_no_heads_are_refused() {
    let odd = "does not match config.json: expected";
    says(&with_setting("llama", "num_attention_heads", json!(3)), odd);
    says(&with_setting("llama", "num_attention_heads", json!(8)), "expected 8 heads of 16 rows");
    says(&with_setting("llama", "num_key_value_heads", json!(3)), "3 heads of 16 rows");
    says(&with_setting("llama", "num_key_value_heads", json!(3)), "k_proj");
    // The class takes eight key heads for granted.
    for family in ["mixtral", "mistral"] {
        says(&without(family, "num_key_value_heads"), "expected 8 heads");
        says(&without(family, "num_key_value_heads"), "`num_key_value_heads`");
    }
}

#[test]
fn scaling_without_its_parameters_is_refused() {
    let llama = |rope: Json| with_setting("llama", "rope_parameters", rope);
    for kind in ["yarn", "linear", "dynamic", "llama3"] {
        let rope = json!({ "rope_type": kind, "rope_theta": 10000.0 });
        says(&llama(rope), &format!("scaling of type `{kind}`: `factor` is missing"));
    }
    let odd = json!({ "rope_type": "yarn", "rope_theta": 10000.0, "factor": "4" });
    says(&llama(odd), "`factor` is not a positive number");
    let llama3 = json!({ "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0 });
    says(&llama(llama3), "`low_freq_factor` is missing");
    let phi3 = |key: &str, value: Json| {
        let mut rope = config("phi3")["rope_parameters"].clone();
        rope[key] = value;
        with_setting("phi3", "rope_parameters", rope)
    };
    says(&phi3("long_factor", json!(null)), "`longrope`: `long_factor` is missing");
    says(&phi3("short_factor", json!(null)), "`short_factor` is missing");
    says(&phi3("long_factor", json!("x")), "`long_factor` is not a list of numbers");
    let three = json!([1.0, 2.0, 3.0]);
    says(&phi3("short_factor", three), "`short_factor` has 3 factors, but 2 pairs");
    says(&phi3("long_factor", json!([])), "`long_factor` has 0 factors, but 2 pairs");
}

#[test]
fn gemma3_caps_logits_where_its_class_does() {
    let golden = open(&golden(&folder("gemma3"), "bf16"));
    let capped = with_setting("gemma3", "attn_logit_softcapping", json!(2.0));
    compare(&converted(capped.path(), OutputType::Bf16).0, &golden, "attention");
    let capped = with_setting("gemma3", "final_logit_softcapping", json!(30.0));
    let (made, _) = converted(capped.path(), OutputType::Bf16);
    assert_eq!(entry(&made, "gemma3.final_logit_softcapping"), Some(Value::F32(30.0)));
    let mut text = config("gemma3-vision")["text_config"].clone();
    text["final_logit_softcapping"] = json!(30.0);
    says(&with_setting("gemma3-vision", "text_config", text), "`final_logit_softcapping` is 30.0");
}

#[test]
fn layers_that_llama_cpp_does_not_expect_are_refused() {
    for family in ["qwen2_moe", "qwen3_moe"] {
        says(&with_setting(family, "mlp_only_layers", json!([0])), "layer 0 has no experts");
        says(&with_setting(family, "decoder_sparse_step", json!(2)), "`decoder_sparse_step`");
        // No such layer.
        let beyond = with_setting(family, "mlp_only_layers", json!([70]));
        let golden = open(&golden(&folder(family), "bf16"));
        compare(&converted(beyond.path(), OutputType::Bf16).0, &golden, family);
    }
    let layers =
        |family: &str, layers: u64| with_setting(family, "num_hidden_layers", json!(layers));
    says(&layers("deepseek_v2-lite", 5), "5 layers without q_lora_rank");
    says(&layers("deepseek_v2-lite", 48), "48 layers without q_lora_rank");
    says(&layers("deepseek_v2", 26), "26 layers with q_lora_rank");
    says(&layers("deepseek_v3", 27), "27 layers with q_lora_rank");
}

/// A family's repository with another `tokenizer.json`.
fn with_tokenizer(family: &str, change: impl Fn(&mut Json)) -> TempDir {
    let file = fs::read(folder(family).join("hf/tokenizer.json")).unwrap();
    let mut tokenizer = serde_json::from_slice(&file).unwrap();
    change(&mut tokenizer);
    changed(family, "tokenizer.json", Some(&tokenizer.to_string()))
}

#[test]
fn tokenizers_that_their_library_refuses_are_refused() {
    for family in ["llama", "qwen2"] {
        for id in [json!(-1), json!(1.5), json!("5"), json!(1_u64 << 32)] {
            let added = |tokenizer: &mut Json| tokenizer["added_tokens"][0]["id"] = id.clone();
            says(&with_tokenizer(family, added), &format!("has the invalid ID {id}"));
        }
        let merge = |a: &'static str, b: &'static str| {
            with_tokenizer(family, move |tokenizer| {
                let merges = tokenizer["model"]["merges"].as_array_mut().unwrap();
                let text = merges[0].is_string();
                merges.push(if text { json!(format!("{a} {b}")) } else { json!([a, b]) });
            })
        };
        says(&merge("qqq", "t"), "merge `qqq t`: `qqq` is not in the vocabulary");
        says(&merge("t", "qqq"), "`qqq` is not in the vocabulary");
        says(&merge("q", "q"), "`qq` is not in the vocabulary");
        for kind in ["WordPiece", "Unigram", "WordLevel", "Nonsense"] {
            let typed = |tokenizer: &mut Json| tokenizer["model"]["type"] = json!(kind);
            says(&with_tokenizer(family, typed), &format!("has type `{kind}`, expected `BPE`"));
        }
        let bare = |tokenizer: &mut Json| tokenizer["model"]["merges"] = Json::Null;
        says(&with_tokenizer(family, bare), "type `BPE`, but no list of merges");
    }
}

#[test]
fn a_chat_template_that_is_not_utf_8_is_refused() {
    // An older one stands in `tokenizer_config.json`.
    let copy = changed("llama", "chat_template.jinja", Some(""));
    fs::write(copy.path().join("chat_template.jinja"), b"{{ 'gr\xfc\xdf' }}").unwrap();
    says(&copy, "chat_template.jinja");
    says(&copy, "it is not UTF-8");
}
