use serde_json::{Value as Json, json};

use super::Scale;
use crate::config::Config;
use crate::dtype::DType;
use crate::framework::testing::{self, SCHEMES, Stored as Made};
use crate::framework::{Entry, Ledger};

use DType::{BF16, F8_E4M3, F8_E8M0, F32, I8, I32, U8, U32};

fn ledger(tensors: &[Made<'_>], file: &str, config: &Json) -> Ledger {
    let configs = [Config { name: file.into(), json: config.clone() }];
    SCHEMES.settle(&testing::evidence(&testing::tensors(tensors), &configs))
}

fn fp8() -> Json {
    json!({ "quantization_config": { "quant_method": "fp8" } })
}

/// A projection in FP8, so that the model is a quantized one.
const UP: [Made<'_>; 2] = [("up.weight", F8_E4M3, &[8, 8]), ("up.weight_scale", F32, &[])];

fn kinds(ledger: &Ledger) -> Vec<(&str, &str)> {
    let kind = |f: &'_ crate::catalog::Finding| (f.kind, f.tensor.clone().unwrap_or_default());
    let found = ledger.findings.iter().map(kind);
    found.map(|(kind, tensor)| (kind, &*tensor.leak())).collect()
}

fn dropped(ledger: &Ledger) -> Vec<u32> {
    ledger.dropped.iter().map(|(id, _)| id.tensor).collect()
}

fn is_plain(ledger: &Ledger) -> bool {
    ledger.weights.iter().all(|entry| matches!(entry, Entry::Plain(_)))
}

/// No mixture of types and names passes for plain numbers.
#[test]
fn codes_with_a_scale_are_never_plain() {
    let names = [
        "a.weight_scale",
        "a.weight_scales",
        "a.weight.scale",
        "a.weight_zero_point",
        "a.scale",
        "a.scales",
        "a.scale_weight",
        "a.qscale_weight",
    ];
    for weight in [U8, I8, U32, I32, F8_E4M3, DType::I16, DType::F4] {
        for scale in [F32, BF16, F8_E4M3, F8_E8M0, U8] {
            for name in names {
                let tensors = [("a.weight", weight, &[128, 128][..]), (name, scale, &[128, 4])];
                let found = ledger(&tensors, "config.json", &json!({}));
                let says = format!("{weight} {scale} {name}: {:?}", found.findings);
                assert!(!is_plain(&found), "{says}");
                let Entry::Scheme(_, bid) = &found.weights[0] else { panic!("{says}") };
                assert!(bid.recipe.is_ok() || !found.findings.is_empty(), "{says}");
            }
        }
    }
    let experts = [("e.down_proj", I8, &[2, 8, 8][..]), ("e.down_proj_scale", F32, &[2, 8])];
    assert_eq!(kinds(&ledger(&experts, "", &json!({}))), [("unknown-scheme", "e.down_proj")]);
}

/// Parameters of models that are not quantized have such names too.
#[test]
fn numbers_with_a_scale_stay_what_they_are() {
    let cases: [&[Made<'_>]; 4] = [
        &[("norm.weight", F32, &[8]), ("norm.scale", F32, &[8])],
        &[("norm.scale", F32, &[8])],
        &[("a.weight", BF16, &[8, 8]), ("a.weight_scale", F32, &[8])],
        &[("attn.q_scale", F32, &[64]), ("attn.k_scale", F32, &[]), ("a.input_scale", F32, &[])],
    ];
    for tensors in cases {
        let found = ledger(tensors, "config.json", &json!({}));
        assert!(is_plain(&found) && found.findings.is_empty() && found.dropped.is_empty());
    }
}

#[test]
fn a_scale_without_its_weight_is_an_orphan() {
    let lone = ["a.weight_scale_inv", "a.scale_weight", "a.qscale_weight", "p_scale_inv"];
    for name in lone.into_iter().chain(["a.weight_scale_2", "a.weight_scale"]) {
        let found = ledger(&[UP[0], UP[1], (name, F32, &[4, 4])], "config.json", &fp8());
        assert_eq!(kinds(&found), [("orphan", name)]);
    }
    for name in lone {
        assert_eq!(kinds(&ledger(&[(name, F32, &[])], "", &json!({}))), [("orphan", name)]);
    }
    for (name, dtype) in [("a.scale", F8_E8M0), ("a.weight_scale", F8_E4M3), ("a.weight_scale", U8)]
    {
        assert_eq!(kinds(&ledger(&[(name, dtype, &[4])], "", &json!({}))), [("orphan", name)]);
    }
    // The weight is there under another name.
    let experts = [("e.down", F8_E4M3, &[8, 8][..]), ("e.down_weight_scale", F32, &[8, 1])];
    assert!(ledger(&experts, "", &json!({})).findings.is_empty());
}

#[test]
fn a_second_scale_is_not_left_aside() {
    let pair = [("a.weight", U8, &[8, 64][..]), ("a.weight_scale", U8, &[8, 4])];
    let two = [pair[0], pair[1], ("a.weight_scale_inv", U8, &[8, 4])];
    assert_eq!(kinds(&ledger(&two, "", &json!({}))), [("orphan", "a.weight_scale_inv")]);
    // What the layer's input is multiplied with is a part of what the weight does.
    let smoothed = [UP[0], UP[1], ("up.pre_quant_scale", BF16, &[8])];
    assert_eq!(kinds(&ledger(&smoothed, "", &json!({}))), [("orphan", "up.pre_quant_scale")]);
    // Two of one name are said to be so where names are compared.
    assert!(ledger(&[UP[0], UP[1], UP[1]], "", &json!({})).findings.is_empty());
    // ComfyUI multiplies weights of any type with it.
    let numbers = [UP[0], UP[1], ("a.weight", BF16, &[8, 8]), ("a.scale_weight", F32, &[])];
    assert_eq!(kinds(&ledger(&numbers, "", &json!({}))), [("orphan", "a.scale_weight")]);
}

#[test]
fn scales_of_activations_and_of_the_cache_are_dropped() {
    let beside = [
        ("up.input_scale", F32, &[][..]),
        ("down.weight", BF16, &[8, 8]),
        ("down.activation_scale", F32, &[]),
        ("e.gate_up_proj", F8_E4M3, &[2, 8, 8]),
        ("e.gate_up_proj_scale", F32, &[2, 1, 8]),
        ("e.gate_up_proj_input_scale", F32, &[2]),
        ("attn.kv_fake_quantizer.qscale_act", F32, &[]),
        ("attn.k_scale", F32, &[1]),
        ("attn.attn.prob_scale", F32, &[1]),
        ("attn.q_scale", F32, &[64]),
    ];
    let tensors: Vec<Made<'_>> = UP.into_iter().chain(beside).collect();
    let found = ledger(&tensors, "config.json", &fp8());
    assert!(found.findings.is_empty(), "{:?}", found.findings);
    // All but the last, which is as large as a parameter.
    assert_eq!(dropped(&found), [2, 4, 7, 8, 9, 10]);
}

/// A model in BF16 whose cache is quantized, as ModelOpt and llm-compressor write it.
#[test]
fn a_model_may_be_quantized_in_its_cache_alone() {
    let tensors: [Made<'_>; 4] = [
        ("attn.k_proj.weight", BF16, &[8, 8]),
        ("attn.k_proj.k_scale", F32, &[]),
        ("attn.v_scale", BF16, &[4, 1, 1]),
        ("attn.k_proj.k_bias", F32, &[8]),
    ];
    let cache = json!({ "num_bits": 8, "type": "float" });
    let inside = |json: Json| ("config.json", json!({ "quantization_config": json }));
    let configs = [
        inside(
            json!({ "quant_method": "compressed-tensors", "config_groups": {}, "kv_cache_scheme": cache }),
        ),
        inside(json!({ "quant_method": "modelopt", "kv_cache_scheme": cache })),
        (
            "hf_quant_config.json",
            json!({ "producer": { "name": "modelopt" },
                "quantization": { "quant_algo": null, "kv_cache_quant_algo": "FP8" } }),
        ),
    ];
    for (file, config) in configs {
        let found = ledger(&tensors, file, &config);
        assert!(found.findings.is_empty(), "{:?}", found.findings);
        assert_eq!(dropped(&found), [1, 2, 3], "{config}");
        assert!(is_plain(&found));
    }
    // Weights are said to be quantized too, and none is found.
    let weights = json!({ "quant_method": "fp8", "kv_cache_scheme": "static" });
    let found = ledger(&tensors, "config.json", &json!({ "quantization_config": weights }));
    assert_eq!(kinds(&found)[0].0, "unknown-scheme");
}

#[test]
fn names_are_taken_apart() {
    let weights = |name| -> Vec<String> { Scale::of(name).unwrap().weights().collect() };
    assert_eq!(weights("a.weight_scale"), ["a.weight", "a.weight_packed"]);
    assert_eq!(weights("a.weight_scale_2"), ["a.weight", "a.weight_packed"]);
    assert_eq!(weights("e.up_weight_scale"), ["e.up_weight", "e.up", "e.up_weight_packed"]);
    assert_eq!(weights("a.qscale_weight"), ["a.weight", "a", "a.qweight"]);
    assert_eq!(weights("weight_scale"), ["weight", "weight_packed"]);
    for name in ["a.weight", "scale", "a.scaled", ""] {
        assert_eq!(Scale::of(name), None, "{name}");
    }
}

/// GPTQ's names under a config that none of its readers follows.
#[test]
fn a_packed_weight_of_another_method_is_not_plain() {
    let quark = json!({ "quantization_config": { "quant_method": "quark" } });
    let tensors = [("a.qweight", I32, &[16, 64][..]), ("a.scales", BF16, &[4, 64])];
    let found = ledger(&[&UP[..], &tensors].concat(), "config.json", &quark);
    assert!(kinds(&found).contains(&("unknown-scheme", "a.qweight")), "{:?}", found.findings);
}
