use serde_json::json;

use super::*;
use crate::catalog::{Metadata, Value};
use crate::config::Config;
use crate::framework::testing::{self, tensor};
use crate::framework::{SchemeChoice, Taker};

/// A weight of 128 x 64, whose scales have the same shape in any order, and its companions.
fn square() -> Vec<TensorInfo> {
    vec![
        tensor("m.weight", DType::U8, &[128, 32]),
        tensor("m.weight_scale", DType::F8_E4M3, &[128, 4]),
        tensor("m.weight_scale_2", DType::F32, &[]),
    ]
}

fn modelopt_config() -> Config {
    let quantization = json!({ "quant_method": "modelopt", "quant_algo": "NVFP4" });
    Config { name: "config.json".into(), json: json!({ "quantization_config": quantization }) }
}

fn text(key: &str, json: &serde_json::Value) -> Metadata {
    let mut metadata = Metadata::default();
    metadata.push(key, Value::text(json.to_string()));
    metadata
}

/// What the scheme says, where descriptions hold `note`.
fn bids(tensors: &[TensorInfo], metadata: &Metadata, configs: &[Config], note: &str) -> Bids {
    let read = |_: TensorId| Ok(note.as_bytes().to_vec());
    let evidence = Evidence::new(std::iter::once((tensors, metadata)), configs, testing::SCHEMES)
        .reading(&read);
    testing::bids(&Nvfp4, &evidence)
}

/// The variant, or the kind and message of the finding.
fn outcome(bids: &Bids) -> Result<&str, (&str, &str)> {
    match bids.findings.first() {
        None => Ok(&bids.weights[0].variant),
        Some(finding) => {
            assert!(bids.weights.iter().all(|bid| bid.recipe.is_err()));
            Err((finding.kind, &finding.message))
        }
    }
}

#[test]
fn codes_move_unless_activations_are_left_alone() {
    let config = |algorithm: &str| {
        let layers = json!({ "m": { "quant_algo": algorithm } });
        let settings = json!({ "quant_method": "modelopt", "quantized_layers": layers });
        Config { name: "config.json".into(), json: json!({ "quantization_config": settings }) }
    };
    let moves = |config: Config| {
        let found = bids(&square(), &Metadata::default(), &[config], "");
        let codes = found.weights[0].recipe.as_ref().unwrap().codes().ok().unwrap();
        codes.form(Taker::Blocks).is_ok()
    };
    assert!(moves(modelopt_config()));
    assert!(moves(config("NVFP4")));
    assert!(!moves(config("W4A16_NVFP4")));
}

#[test]
fn without_evidence_all_four_readings_are_named() {
    let found = bids(&square(), &Metadata::default(), &[], "");
    let (kind, message) = outcome(&found).unwrap_err();
    assert_eq!(kind, "ambiguous");
    for name in [
        "nvfp4/modelopt or nvfp4/modelopt-swizzled or nvfp4/comfy or nvfp4/comfy-linear",
        "choices: ",
    ] {
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(&found.weights[0].shape[..], [128, 64]);
}

#[test]
fn shapes_that_exclude_an_order_leave_nibbles_open() {
    let mut tensors = square();
    tensors[0].shape[0] = 40;
    let found = bids(&tensors, &Metadata::default(), &[], "");
    let (kind, message) = outcome(&found).unwrap_err();
    assert_eq!(kind, "ambiguous");
    assert!(message.contains("nvfp4/modelopt-swizzled or nvfp4/comfy"), "{message}");
    assert!(!message.contains("linear"), "{message}");
}

#[test]
fn each_kind_of_evidence_decides() {
    let none = Metadata::default();
    assert_eq!(outcome(&bids(&square(), &none, &[modelopt_config()], "")), Ok("modelopt"));
    let mut described = square();
    described.push(tensor("m.comfy_quant", DType::U8, &[19]));
    let found = bids(&described, &none, &[], r#"{"format": "nvfp4"}"#);
    assert_eq!(outcome(&found), Ok("comfy"));
    assert_eq!(found.dropped.len(), 1);
    let layers = json!({ "format_version": "1.0", "layers": { "m": { "format": "nvfp4" } } });
    let listed = text("_quantization_metadata", &layers);
    assert_eq!(outcome(&bids(&square(), &listed, &[], "")), Ok("comfy"));
}

/// ModelOpt's export for single files can write ComfyUI's metadata around its own nibbles.
#[test]
fn evidence_of_both_writers_is_no_evidence() {
    let by = json!({ "quant_method": "modelopt", "quant_algo": "NVFP4" });
    let mut both = text("quantization_config", &by);
    assert!(outcome(&bids(&square(), &both, &[], "")).is_err_and(|(kind, message)| {
        kind == "ambiguous" && message.contains("row by row") && !message.contains("nibble")
    }));
    let layers = json!({ "layers": { "m": { "format": "nvfp4" } } });
    both.push("_quantization_metadata", Value::text(layers.to_string()));
    assert!(
        outcome(&bids(&square(), &both, &[], ""))
            .is_err_and(|(kind, message)| { kind == "ambiguous" && message.contains("nibble") })
    );
}

#[test]
fn descriptions_that_contradict_are_refused() {
    let none = Metadata::default();
    let mut described = square();
    described.push(tensor("m.comfy_quant", DType::U8, &[19]));
    for (note, says) in [("{", "not JSON"), (r#"{"format": "mxfp8"}"#, "mxfp8")] {
        let found = bids(&described, &none, &[], note);
        let (kind, message) = outcome(&found).unwrap_err();
        assert!(kind == "undecodable" && message.contains(says), "{message}");
    }
    let wrong = r#"{"format": "nvfp4", "orig_shape": [100, 64]}"#;
    assert!(outcome(&bids(&described, &none, &[], wrong)).is_err());
    let quantization = json!({ "quant_method": "modelopt", "quant_algo": "FP8" });
    let json = json!({ "quantization_config": quantization });
    let config = Config { name: "config.json".into(), json };
    let found = bids(&square(), &none, &[config], "");
    assert!(outcome(&found).unwrap_err().1.contains("FP8"));
}

/// A damaged description is not taken for none.
#[test]
fn a_description_that_cannot_be_read_is_a_finding() {
    for damaged in ["{", r#"{"layers": 3}"#, "{}"] {
        let mut metadata = Metadata::default();
        metadata.push("_quantization_metadata", Value::text(damaged));
        let found = bids(&square(), &metadata, &[modelopt_config()], "");
        assert!(outcome(&found).unwrap_err().1.contains("cannot read"), "{damaged}");
    }
}

/// Sides that fit nowhere, in a tensor without elements.
#[test]
fn sides_without_bounds_are_refused() {
    let huge = [u64::MAX, u64::MAX - 14, 1 << 60];
    for side in huge {
        for shape in [&[0, side, 32][..], &[side, 0], &[0, side]] {
            let mut tensors = square();
            tensors[0].shape = shape.iter().copied().collect();
            for scales in [shape, &[0, side, 4]] {
                tensors[1].shape = scales.iter().copied().collect();
                bids(&tensors, &Metadata::default(), &[modelopt_config()], "");
            }
        }
        let mut described = square();
        described.push(tensor("m.comfy_quant", DType::U8, &[19]));
        let note = format!(r#"{{"format": "nvfp4", "orig_shape": [{side}, {side}]}}"#);
        assert!(outcome(&bids(&described, &Metadata::default(), &[], &note)).is_err());
    }
}

#[test]
fn companions_that_do_not_fit_are_named() {
    let none = Metadata::default();
    let cases: [(usize, TensorInfo, &str); 5] = [
        (1, tensor("m.weight_scale", DType::F8_E4M3, &[128, 3]), "[128, 3]"),
        (1, tensor("m.weight_scale", DType::U8, &[128, 4]), "U8"),
        (2, tensor("m.weight_scale_2", DType::F16, &[]), "F16"),
        (2, tensor("m.weight_scale_2", DType::F32, &[128]), "[128]"),
        (0, tensor("m.weight", DType::U8, &[4096]), "[4096]"),
    ];
    for (index, other, says) in cases {
        let mut tensors = square();
        tensors[index] = other;
        let found = bids(&tensors, &none, &[modelopt_config()], "");
        let (kind, message) = outcome(&found).unwrap_err();
        assert!(kind == "undecodable" && message.contains(says), "{message}");
    }
    for missing in [1, 2] {
        let mut tensors = square();
        let gone = tensors.remove(missing).name;
        let found = bids(&tensors, &none, &[modelopt_config()], "");
        let ending = gone.strip_prefix("m.").unwrap();
        assert!(outcome(&found).unwrap_err().1.contains(&format!("`{ending}` is missing")));
    }
}

#[test]
fn factors_beside_the_codes_are_refused_by_name() {
    let none = Metadata::default();
    for (beside, name) in [("pre_quant_scale", "NVFP4_AWQ"), ("svdquant_lora_a", "NVFP4_SVD")] {
        let mut tensors = square();
        tensors.push(tensor(&format!("m.{beside}"), DType::BF16, &[64]));
        let found = bids(&tensors, &none, &[modelopt_config()], "");
        assert!(outcome(&found).unwrap_err().1.contains(name));
        assert_eq!(found.weights[0].parts.len(), 4);
    }
}

/// ModelOpt's W4A8_AWQ has the same names.
#[test]
fn whole_numbers_of_modelopt_are_left_alone() {
    let mut tensors = square();
    tensors[1] = tensor("m.weight_scale", DType::F32, &[256, 1]);
    let found = bids(&tensors, &Metadata::default(), &[modelopt_config()], "");
    assert!(found.weights.is_empty() && found.findings.is_empty());
    let found = bids(&tensors, &Metadata::default(), &[], "");
    assert!(outcome(&found).unwrap_err().1.contains("F32, expected F8_E4M3"));
}

#[test]
fn foreign_methods_are_left_alone() {
    let quantization = json!({ "quant_method": "compressed-tensors" });
    let json = json!({ "quantization_config": quantization });
    let config = Config { name: "config.json".into(), json };
    let found = bids(&square(), &Metadata::default(), &[config], "");
    assert!(found.weights.is_empty() && found.findings.is_empty());
}

/// What the scheme makes of an answer, where nothing else tells and where a config does.
#[test]
fn an_answer_decides_what_is_open_and_nothing_else() {
    let (tensors, metadata) = (square(), Metadata::default());
    let decided = |says: &str, configs: &[Config]| {
        let choices = [SchemeChoice::new(Arc::new(|_: &str| true), says.into())];
        let evidence =
            Evidence::new(std::iter::once((&tensors[..], &metadata)), configs, testing::SCHEMES)
                .with_choices(&choices);
        let mut bids = Bids::default();
        Nvfp4.bid(&evidence, &mut bids);
        outcome(&bids).map(str::to_owned).map_err(|(kind, _)| kind.to_owned())
    };
    for variant in ["modelopt", "modelopt-swizzled", "comfy", "comfy-linear"] {
        assert_eq!(decided(&format!("nvfp4/{variant}"), &[]).as_deref(), Ok(variant));
    }
    assert_eq!(decided("nvfp4/other", &[]), Err("ambiguous".to_owned()));
    assert_eq!(decided("nvfp4/comfy", &[modelopt_config()]).as_deref(), Ok("modelopt"));
}
