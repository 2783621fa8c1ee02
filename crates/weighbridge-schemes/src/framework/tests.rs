//! What the configs of a model are taken to say, and what all schemes together state.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::config::Config;
use crate::dtype::DType;
use crate::framework::testing::{SCHEMES, config, evidence, tensors};
use crate::framework::{Configs, Evidence, Registry, SchemeChoice};

/// Method, and the file that speaks of quantization.
fn says(files: &[(&str, Json)]) -> (Option<String>, Option<&'static str>) {
    let config = |(name, json): &(&str, Json)| Config { name: (*name).into(), json: json.clone() };
    let configs: Vec<Config> = files.iter().map(config).collect();
    let evidence = Evidence::new(std::iter::empty(), &configs, SCHEMES);
    (evidence.method().map(str::to_owned), evidence.quantization().map(|(file, _)| file))
}

#[track_caller]
fn named(files: &[(&str, Json)], method: &str, file: &'static str) {
    assert_eq!(says(files), (Some(method.to_owned()), Some(file)));
}

#[test]
fn mistrals_own_config_speaks_where_no_other_does() {
    let params = |quantization: Json| ("params.json", json!({ "quantization": quantization }));
    let groups = || params(json!({ "quant_method": "compressed-tensors", "config_groups": {} }));
    named(&[groups()], "compressed-tensors", "params.json");
    named(
        &[params(json!({ "quant_method": "compressed_tensors" }))],
        "compressed-tensors",
        "params.json",
    );
    named(&[params(json!({ "qformat_weight": "fp8_e4m3" }))], "fp8", "params.json");
    // llm-compressor writes its own key into it.
    let extended = json!({ "quantization_config": { "quant_method": "compressed-tensors" } });
    named(&[("params.json", extended)], "compressed-tensors", "params.json");
    let config = json!({ "quantization_config": { "quant_method": "fp8" } });
    named(&[groups(), ("config.json", config)], "fp8", "config.json");
    assert_eq!(says(&[params(Json::Null)]), (None, None));
    assert_eq!(says(&[("params.json", json!({ "dim": 8 }))]), (None, None));
}

#[test]
fn nothing_at_the_top_does_not_hide_what_is_nested() {
    let inner = json!({ "quantization_config": { "quant_method": "fp8" } });
    let config = json!({ "quantization_config": null, "text_config": inner });
    named(&[("config.json", config)], "fp8", "config.json");
    for key in ["llm_config", "language_config", "thinker_config", "any_config"] {
        let inner = json!({ "quantization_config": { "quant_method": "fp8" } });
        named(&[("config.json", json!({ key: inner, "model_type": "x" }))], "fp8", "config.json");
        named(&[("config.json", json!({ "a_config": { key: inner } }))], "fp8", "config.json");
    }
    let config = json!({ "quantization_config": null, "compression_config": { "format": "x" } });
    named(&[("config.json", config)], "compressed-tensors", "config.json");
}

#[test]
fn groups_without_a_method_are_those_of_compressed_tensors() {
    let config = json!({ "quantization_config": { "config_groups": {} } });
    named(&[("config.json", config)], "compressed-tensors", "config.json");
    // ModelOpt writes such groups too, and its name.
    let config = json!({ "quantization_config":
        { "config_groups": {}, "producer": { "name": "modelopt" } } });
    named(&[("config.json", config)], "modelopt", "config.json");
}

#[test]
fn modelopts_own_file_need_not_name_it() {
    let file = ("hf_quant_config.json", json!({ "quantization": { "quant_algo": "NVFP4" } }));
    assert_eq!(says(&[file]).0.as_deref(), Some("modelopt"));
}

#[test]
fn every_config_file_is_listed_once() {
    let mut files: Vec<_> = SCHEMES.config_files().iter().map(|file| file.name).collect();
    let all = files.len();
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), all);
    assert!(files.contains(&"quantize_config.json") && files.contains(&"hf_quant_config.json"));
}

/// The order of the table decides nothing.
#[test]
fn the_surest_sign_implies_the_method() {
    let file = ("hf_quant_config.json", json!({ "quantization": {} }));
    let groups = ("config.json", json!({ "quantization_config": { "config_groups": {} } }));
    let configs: Vec<Config> =
        [file, groups].map(|(name, json)| Config { name: name.into(), json }).into();
    let reversed: Vec<_> = SCHEMES.iter().rev().collect();
    for schemes in [SCHEMES, Registry::new(&reversed)] {
        let method = schemes.method_of(&configs);
        assert_eq!(method.as_deref(), Some("modelopt"));
    }
}

#[test]
fn settings_inside_that_differ_contradict_each_other() {
    let contradict = |json: Json| {
        let configs = [Config { name: "config.json".into(), json }];
        Configs::new(&configs, SCHEMES).contradict()
    };
    let [four, eight] = [4, 8].map(|bits| json!({ "quantization_config": { "bits": bits } }));
    assert!(contradict(json!({ "text_config": four, "talker_config": eight })));
    assert!(!contradict(json!({ "text_config": four, "talker_config": four })));
    assert!(!contradict(
        json!({ "text_config": four, "quantization_config": {}, "b_config": eight })
    ));
}

#[test]
fn configs_mention_quantization_at_any_depth() {
    let mentions =
        |config: Config| evidence(&[], &[config]).summary().configs_mention_quantization();
    assert!(mentions(config(json!({ "a": [{ "b": { "quantization_config": 1 } }] }))));
    assert!(!mentions(config(json!({ "a": ["quantization"], "b": { "c": "fp8" } }))));
    for file in SCHEMES.config_files() {
        assert!(mentions(Config { name: file.name.into(), json: Json::Null }), "{}", file.name);
    }
}

#[test]
fn types_and_names_are_those_of_the_tensors() {
    let stored = tensors(&[("a.weight", DType::F16, &[2]), ("a.scales", DType::U8, &[2])]);
    let evidence = evidence(&stored, &[]);
    let summary = evidence.summary();
    assert!(summary.has_type(&[DType::I8, DType::U8]) && !summary.has_type(&[DType::F32]));
    assert!(summary.may_end_with(&[".scales"]) && !summary.may_end_with(&[".bias"]));
    assert!(summary.has_other_names() && !summary.has_blocks());
    assert!(!summary.configs_mention_quantization() && !summary.metadata_mentions_quantization());
}

#[test]
fn a_choice_names_a_scheme_and_a_variant() {
    let check =
        |says: &str| SchemeChoice::new(Arc::new(|_: &str| true), says.into()).check(SCHEMES);
    assert!(check("gptq/v2").is_ok());
    for wrong in ["gptq", "gptq/", "nonsense/v1", "", "/"] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_encoder_is_found_by_its_name() {
    let mut seen = HashSet::new();
    for one in SCHEMES.encoders() {
        assert!(seen.insert(one.name().to_lowercase()), "{} names two encoders", one.name());
        assert!(SCHEMES.encoder(&one.name().to_uppercase()).is_some(), "{}", one.name());
    }
    assert!(SCHEMES.encoder("").is_none());
}
