//! Configs of files that say less than the converter's, and what is said of settings that none has.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{Described, Told, describe};
use crate::catalog::Value;
use crate::error::Result;
use crate::families::FAMILIES;
use crate::testing;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/to-gguf")
}

/// The config of a family's file without some entries, and with others.
fn described(family: &str, without: &[&str], with: &[(&str, Value)]) -> Result<Described> {
    let folder = root().join(family);
    let files = ["f32", "bf16", "f16", "auto", "q8_0"]
        .map(|dtype| folder.join(format!("model-{dtype}.gguf")));
    let source = testing::open(files.iter().find(|path| path.exists()).unwrap());
    let mut entries = testing::metadata(&source);
    let is_left_out = |key: &str| without.iter().any(|end| key.ends_with(end));
    entries.retain(|(key, _)| !is_left_out(key) && with.iter().all(|(new, _)| new != key));
    entries.extend(with.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let told = Told {
        metadata: &|key| Some(entries.iter().find(|(known, _)| known == key)?.1.clone()),
        keys: entries.iter().map(|(key, _)| &**key).collect(),
        tensors: source.catalog().tensors.iter().map(|one| (&*one.name, &one.shape[..])).collect(),
        numbers: &|name| Ok(testing::numbers(&source, name)),
    };
    describe(&told, "float32")
}

fn config(family: &str, without: &[&str]) -> Json {
    described(family, without, &[]).unwrap().config
}

/// The entry of a family's file, as the whole file has it.
fn listed(family: &str, without: &[&str], key: &str) -> Option<String> {
    let all = described(family, without, &[]).unwrap().not_carried;
    all.into_iter().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(": ")?.to_owned()))
}

const WIDTHS: &[&str] = &["attention.key_length", "attention.value_length"];

#[test]
fn a_head_is_as_wide_as_llama_cpp_takes_it() {
    // The class of these takes a number of its own.
    for family in ["qwen3", "gemma", "gemma2", "gemma3", "glm4", "gpt_oss"] {
        let whole = config(family, &[]);
        let without = config(family, WIDTHS);
        assert_eq!(without["head_dim"], whole["head_dim"], "{family}");
        assert!(without["head_dim"].is_u64(), "{family}");
        let width = without["head_dim"].to_string();
        assert_eq!(listed(family, WIDTHS, "head_dim"), Some(width), "{family}");
        assert_eq!(listed(family, &[], "head_dim"), None, "{family}");
    }
    // That of others divides, as llama.cpp does.
    assert_eq!(config("mixtral", WIDTHS).get("head_dim"), None);
}

#[test]
fn all_of_a_head_is_rotated_where_the_file_does_not_say() {
    for (family, key) in [
        ("glm4", "partial_rotary_factor"),
        ("glm4_moe", "partial_rotary_factor"),
        ("stablelm", "partial_rotary_factor"),
        ("nemotron", "partial_rotary_factor"),
        ("cohere2", "rotary_pct"),
    ] {
        assert_eq!(config(family, &["rope.dimension_count"])[key], json!(1.0), "{family}");
    }
}

#[test]
fn both_bases_of_olmo_3_are_stated() {
    let bases = |described: Described| {
        let rope = &described.config["rope_parameters"];
        ["full_attention", "sliding_attention"].map(|kind| rope[kind]["rope_theta"].clone())
    };
    const LOCAL: &str = "olmo2.rope.freq_base_swa";
    let theta = |theta: f32| Value::F32(theta);
    let full = ("olmo2.rope.freq_base", theta(1e6));
    let made = described("olmo3", &[], &[full.clone(), (LOCAL, theta(2e4))]).unwrap();
    assert_eq!(bases(made), [json!(1e6), json!(2e4)]);
    // One base, where nothing is said of the other: the class would take half a million.
    let made = described("olmo3", &["freq_base_swa"], &[full]).unwrap();
    assert_eq!(bases(made), [json!(1e6), json!(1e6)]);
}

#[test]
fn ids_beyond_the_embedding_are_none() {
    let id = |id: u64| Value::Unsigned(32, id);
    let beyond = ("tokenizer.ggml.eos_token_id", id(u64::from(u32::MAX)));
    let made = described("llama", &[], &[beyond, ("tokenizer.ggml.bos_token_id", id(2))]).unwrap();
    assert_eq!(made.config["eos_token_id"], Json::Null);
    assert_eq!(made.config["bos_token_id"], json!(2));
}

#[test]
fn settings_that_no_file_says_are_listed_with_what_is_taken() {
    for (family, key, taken) in [
        ("gemma", "rope_theta", "10000.0"),
        ("gemma2", "rope_theta", "10000.0"),
        ("gemma2", "rope_scaling", "null"),
        ("gemma2", "hidden_activation", "gelu_pytorch_tanh"),
        ("qwen3_moe", "norm_topk_prob", "true"),
        ("qwen2_moe", "norm_topk_prob", "false"),
        ("stablelm", "rope_theta", "10000.0"),
    ] {
        assert_eq!(listed(family, &[], key).as_deref(), Some(taken), "{family} {key}");
    }
    let scale = config("gemma3", &[])["query_pre_attn_scalar"].to_string();
    assert_eq!(listed("gemma3", &[], "query_pre_attn_scalar"), Some(scale));
    // What the file does say is not listed.
    assert_eq!(listed("gemma3", &[], "rope_theta"), None);
    assert_eq!(listed("olmo3", &[], "layer_types"), None);
    let pattern = listed("olmo3", &["sliding_window_pattern"], "layer_types").unwrap();
    assert!(pattern.starts_with("full_attention in every 4th layer"), "{pattern}");
}

/// The text of a value that a class takes: of layers, which are of the other kind.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(layers) if !layers.is_empty() => {
            let other = layers.iter().position(|kind| kind != &layers[0]);
            let every = ["", "2nd", "3rd", "4th", "5th", "6th"];
            other.map_or("in every layer".to_owned(), |at| format!("in every {} layer", every[at]))
        }
        other => other.to_string(),
    }
}

/// Everything that a model of transformers' reads is stated by the config that is made, or listed with
/// the value that its class takes.
#[test]
fn nothing_that_a_class_reads_is_left_unsaid() {
    let all = |name: &str| -> Json {
        let text = std::fs::read(root().join(format!("../defaults/{name}.json"))).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let mut unsaid = Vec::new();
    for family in FAMILIES.iter().filter(|family| family.goes_back()) {
        let name = family.types[0];
        let folder = match name {
            "hunyuan_v1_dense" => "hunyuan_dense",
            "ministral3" => "mistral3",
            "modernbert" => "modern_bert",
            // The encoder alone goes back.
            "t5" => "t5_encoder",
            _ => name.trim_end_matches("_text"),
        };
        // A file is one of Mistral's by its name.
        let named = [("general.name", Value::text(name))];
        let Described { config, not_carried, .. } = described(folder, &[], &named).unwrap();
        assert_eq!(config["model_type"], name);
        for (key, taken) in all(name).as_object().unwrap() {
            let line = format!("{key}: ");
            let line = not_carried.iter().find_map(|one| one.strip_prefix(&line));
            let is_listed = line.is_some_and(|line| line.contains(&shown(taken)));
            let is_stated = match key.as_str() {
                "rope_parameters" => config.get("rope_theta").is_some(),
                // By the size of the tensors, and no file has another one.
                "n_inner" => ["gpt2", "gpt_bigcode"].contains(&name),
                // Where the context before scaling is no other one, no file has it.
                "original_max_position_embeddings" => name == "phi3",
                // Files that have one say so.
                "final_logit_softcapping" if taken.is_null() => true,
                // Files say of none that it has a window, so that llama.cpp sees none.
                "sliding_window" if name == "mistral" => line == Some("null"),
                // Half of what the config says.
                "sliding_window" if name == "modernbert" => config.get("local_attention").is_some(),
                "num_decoder_layers" | "scale_decoder_outputs" if name == "t5" => true,
                key => config.get(key).is_some(),
            };
            if !is_listed && !is_stated {
                unsaid.push(format!("{name} {key}: {}, listed {line:?}", shown(taken)));
            }
        }
    }
    assert!(unsaid.is_empty(), "{}", unsaid.join("\n"));
}
