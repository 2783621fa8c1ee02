//! What the tensors and the config must agree on, and what is said when they do not.

use serde_json::{Value as Json, json};

use std::sync::Arc;

use super::Compressed;
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::{Bids, SchemeChoice, testing};
use crate::number::Out;
use crate::source::Staged;

const P: &str = "model.layers.0.mlp.up_proj";

fn tensor(name: &str, dtype: DType, shape: &[u64]) -> TensorInfo {
    testing::tensor(&format!("{P}.{name}"), dtype, shape)
}

/// What the scheme says about some tensors, whose `weight_shape` reads `sides`.
fn bids(tensors: &[TensorInfo], config: &Json, sides: [i64; 2]) -> Bids {
    let configs = [testing::config(config.clone())];
    let read = |_| Ok(sides.iter().flat_map(|side| side.to_le_bytes()).collect());
    testing::bids(&Compressed, &testing::evidence(tensors, &configs).reading(&read))
}

/// The variant of the only weight; the only finding where it cannot be decoded.
fn outcome(tensors: &[TensorInfo], config: &Json, sides: [i64; 2]) -> Result<String, String> {
    let bids = bids(tensors, config, sides);
    assert_eq!(bids.weights.len(), 1);
    let bid = &bids.weights[0];
    assert_eq!(bid.parts.len(), tensors.len(), "every tensor is accounted for");
    match &bid.recipe {
        Ok(_) => {
            assert!(bids.findings.is_empty());
            Ok(bid.variant.to_string())
        }
        Err(reason) => {
            assert_eq!(bids.findings.len(), 1);
            assert!(["undecodable", "ambiguous"].contains(&bids.findings[0].kind));
            assert_eq!(bids.findings[0].message, **reason);
            assert!(bids.findings[0].tensor.as_ref().unwrap().starts_with(P));
            Err(reason.to_string())
        }
    }
}

fn config(weights: &Json) -> Json {
    json!({ "quantization_config": { "quant_method": "compressed-tensors", "version": "0.19.0",
        "config_groups": { "group_0": { "targets": ["Linear"], "weights": weights } } } })
}

fn int4() -> Json {
    config(&json!({ "num_bits": 4, "type": "int", "strategy": "group", "group_size": 32 }))
}

fn packed() -> Vec<TensorInfo> {
    vec![
        tensor("weight_packed", DType::I32, &[8, 8]),
        tensor("weight_scale", DType::BF16, &[8, 2]),
        tensor("weight_shape", DType::I64, &[2]),
    ]
}

/// `outcome`, with one tensor replaced (or left out) by name.
fn with(name: &str, replacement: Option<TensorInfo>) -> Result<String, String> {
    let mut tensors = packed();
    tensors.retain(|tensor| !tensor.name.ends_with(name));
    tensors.extend(replacement);
    outcome(&tensors, &int4(), [8, 64])
}

fn says(outcome: Result<String, String>, words: &str) {
    let reason = outcome.unwrap_err();
    assert!(reason.contains(words), "{reason}");
}

#[test]
fn companions_must_be_there_and_fit() {
    assert_eq!(outcome(&packed(), &int4(), [8, 64]).unwrap(), "int4-g32");
    says(with("weight_scale", None), "`weight_scale` is missing");
    says(with("weight_shape", None), "`weight_shape` is missing");
    let scale =
        |dtype, shape: &[u64]| with("weight_scale", Some(tensor("weight_scale", dtype, shape)));
    says(scale(DType::BF16, &[8, 4]), "gives 128 columns in groups of 32");
    says(scale(DType::BF16, &[4, 2]), "does not fit");
    says(scale(DType::BF16, &[0, 1 << 60]), "too large");
    says(scale(DType::I8, &[8, 2]), "expected a float type");
    says(
        with("weight_shape", Some(tensor("weight_shape", DType::F32, &[2]))),
        "expected 2 integers",
    );
    says(
        with("weight_shape", Some(tensor("weight_shape", DType::I64, &[3]))),
        "expected 2 integers",
    );
    says(with("weight_packed", Some(tensor("weight_packed", DType::I64, &[8, 8]))), "I32 or U8");
    let zero = tensor("weight_zero_point", DType::I32, &[8, 2]);
    says(with("nothing", Some(zero)), "expected I32 [1, 2]");
    let order = tensor("weight_g_idx", DType::I32, &[32]);
    says(with("nothing", Some(order)), "expected I32 [64]");
}

/// One scale a row does not tell how many columns there are, so `weight_shape` is read.
#[test]
fn a_shape_that_the_words_cannot_hold_is_a_finding() {
    let mut tensors = packed();
    tensors[1] = tensor("weight_scale", DType::BF16, &[8, 1]);
    let channel = config(&json!({ "num_bits": 4, "strategy": "channel" }));
    assert_eq!(outcome(&tensors, &channel, [8, 63]).unwrap(), "int4-channel");
    for sides in [[8, 72], [9, 64], [8, -64], [0, 64], [8, i64::MAX], [8, 33]] {
        assert!(outcome(&tensors, &channel, sides).is_err(), "{sides:?}");
    }
}

/// Groups tell the columns, so `weight_shape` is not read when a model is opened; what it says
/// is compared before a single value is given out.
#[test]
fn a_shape_that_contradicts_the_groups_is_an_error_of_every_row() {
    let bids = bids(&packed(), &int4(), [0, 0]);
    assert_eq!(bids.weights[0].shape[..], [8, 64]);
    let decode = |sides: [i64; 2]| {
        let recipe = bids.weights[0].recipe.as_ref().unwrap();
        let mut slabs = Vec::new();
        recipe.needs(64..128, &mut slabs);
        let mut bytes: Vec<Vec<u8>> =
            slabs.iter().map(|slab| vec![0; usize::try_from(slab.row_bytes).unwrap()]).collect();
        *bytes.last_mut().unwrap() = sides.iter().flat_map(|side| side.to_le_bytes()).collect();
        let staged: Vec<Staged<'_>> = bytes.iter().map(|bytes| Staged::over(bytes)).collect();
        recipe.decode(&staged, 64..128, Out::F32(&mut [1.0; 64])).map_err(|error| error.to_string())
    };
    decode([8, 64]).unwrap();
    assert!(decode([8, 60]).unwrap_err().contains("weight_shape is [8, 60]"));
    assert!(decode([8, -1]).unwrap_err().contains("weight_shape is [8, -1]"));
}

/// The config speaks of an order that is nowhere: the same codes in another order.
#[test]
fn an_order_that_is_lost_is_asked_for() {
    let weights = json!({ "num_bits": 4, "group_size": 32, "actorder": "group" });
    says(
        outcome(&packed(), &config(&weights), [8, 64]),
        "its group index `weight_g_idx` is missing",
    );
    let mut tensors = packed();
    tensors.push(tensor("weight_g_idx", DType::I32, &[64]));
    assert_eq!(outcome(&tensors, &config(&weights), [8, 64]).unwrap(), "int4-g32-actorder");
    let weight = json!({ "num_bits": 4, "group_size": 32, "actorder": "weight" });
    assert_eq!(outcome(&packed(), &config(&weight), [8, 64]).unwrap(), "int4-g32");
}

/// Transforms of weights are done once and for all; those of activations make another model of it.
#[test]
fn a_module_between_transforms_is_asked_for() {
    let of = |location: &str, target: &str, ignore: &str| {
        let mut config = int4();
        config["quantization_config"]["transform_config"] = json!({ "config_groups": { "R4": {
            "type": "hadamard",
            "apply": [{ "targets": [target], "location": location, "ignore": ignore }] } } });
        outcome(&packed(), &config, [8, 64])
    };
    says(of("input", "re:.*up_proj$", ""), "transforms its activations at run time");
    says(of("output", "Linear", "lm_head"), "transforms its activations at run time");
    for (location, target, ignore) in [
        ("weight_input", "re:.*up_proj$", ""),
        ("k_cache", "re:.*up_proj$", ""),
        ("input", "re:.*down_proj$", ""),
        ("input", "Linear", "re:.*up_proj$"),
    ] {
        assert_eq!(of(location, target, ignore).unwrap(), "int4-g32");
    }
}

#[test]
fn what_is_asked_can_be_answered() {
    let decided = |says: &str| {
        let choices =
            [SchemeChoice::new(Arc::new(|name: &str| name.contains("up_proj")), says.into())];
        let weights = json!({ "num_bits": 4, "group_size": 32, "actorder": true });
        let (tensors, configs) = (packed(), [testing::config(config(&weights))]);
        let evidence = testing::evidence(&tensors, &configs).with_choices(&choices);
        testing::bids(&Compressed, &evidence).weights.remove(0).recipe.is_ok()
    };
    assert!(decided("compressed/int4-g32"));
    assert!(!decided("compressed/int8-g32") && !decided("gptq/4bit-g32"));
}

/// AutoRound's NVFP4 with scales of another type looks like MXFP4 in groups of 16.
#[test]
fn a_format_that_is_not_known_is_refused_by_name() {
    let tensors =
        [tensor("weight_packed", DType::U8, &[8, 32]), tensor("weight_scale", DType::U8, &[8, 4])];
    let mut config = config(&json!({ "num_bits": 4, "type": "float", "strategy": "tensor_group",
        "group_size": 16 }));
    says(outcome(&tensors, &config, [0, 0]), "groups of 16");
    config["quantization_config"]["format"] = "nvfp4-e5m3-pack-quantized".into();
    says(outcome(&tensors, &config, [0, 0]), "`nvfp4-e5m3-pack-quantized` is not supported");
    config["quantization_config"]["config_groups"]["group_0"]["format"] = "new".into();
    says(outcome(&tensors, &config, [0, 0]), "`new` is not supported");
}

#[test]
fn bits_that_contradict_the_widths_are_a_finding() {
    let three = config(&json!({ "num_bits": 3, "strategy": "group", "group_size": 32 }));
    says(outcome(&packed(), &three, [8, 64]), "at 3 bits these need 6 words (before 0.18: 7)");
    let float =
        config(&json!({ "num_bits": 4, "type": "float", "strategy": "group", "group_size": 32 }));
    says(outcome(&packed(), &float, [8, 64]), "the config says floats");
    let wide = config(&json!({ "num_bits": 16, "strategy": "group", "group_size": 32 }));
    says(outcome(&packed(), &wide, [8, 64]), "16 bits");
    let asym = config(
        &json!({ "num_bits": 4, "strategy": "group", "group_size": 32, "symmetric": false }),
    );
    says(outcome(&packed(), &asym, [8, 64]), "`weight_zero_point` is missing");
}

/// Forty columns of three bits take four words in either packing, but the codes lie elsewhere.
#[test]
fn the_version_decides_where_the_width_cannot() {
    let tensors = [
        tensor("weight_packed", DType::I32, &[8, 4]),
        tensor("weight_scale", DType::BF16, &[8, 1]),
        tensor("weight_shape", DType::I64, &[2]),
    ];
    let of = |version: &str| {
        let mut config = config(&json!({ "num_bits": 3, "strategy": "channel" }));
        config["quantization_config"]["version"] = version.into();
        outcome(&tensors, &config, [8, 40])
    };
    assert_eq!(of("0.17.0").unwrap(), "int3-words-channel");
    assert_eq!(of("0.18.0").unwrap(), "int3-channel");
    says(of("0.17.1.a20260601"), "no version to choose by");
    says(of("new"), "no version to choose by");
}

/// Seven bits in whole words and eight bits take the same width; the module's name decides.
#[test]
fn names_decide_between_groups_that_fit() {
    let tensors = [
        tensor("weight_packed", DType::I32, &[8, 10]),
        tensor("weight_scale", DType::BF16, &[8, 1]),
        tensor("weight_shape", DType::I64, &[2]),
    ];
    let of = |seven: &str, eight: &str| {
        let group = |target: &str, bits: u32| json!({ "targets": [target], "weights": { "num_bits": bits, "strategy": "channel" } });
        let config = json!({ "quantization_config": { "quant_method": "compressed-tensors",
            "version": "0.9.0",
            "config_groups": { "a": group(seven, 7), "b": group(eight, 8) } } });
        outcome(&tensors, &config, [8, 40])
    };
    assert_eq!(of("re:.*up_proj", "Linear").unwrap(), "int7-words-channel");
    assert_eq!(of("Linear", "re:.*up_proj").unwrap(), "int8-channel");
    assert_eq!(of("re:.*down_proj", P).unwrap(), "int8-channel");
    says(of("Linear", "Embedding"), "compressed/int7-words-channel or compressed/int8-channel");
}

/// Without a config, tensors of these names still say what they are, if only one width fits.
#[test]
fn packed_tensors_speak_for_themselves() {
    assert_eq!(outcome(&packed(), &json!({}), [8, 64]).unwrap(), "int4-g32");
    let eight = [
        tensor("weight_packed", DType::I32, &[8, 16]),
        tensor("weight_scale", DType::BF16, &[8, 1]),
        tensor("weight_shape", DType::I64, &[2]),
    ];
    says(outcome(&eight, &json!({}), [8, 64]), "; choices: ");
    assert_eq!(outcome(&nvfp4(), &json!({}), [0, 0]).unwrap(), "nvfp4");
}

fn nvfp4() -> Vec<TensorInfo> {
    vec![
        tensor("weight_packed", DType::U8, &[8, 16]),
        tensor("weight_scale", DType::F8_E4M3, &[8, 2]),
        tensor("weight_global_scale", DType::F32, &[1]),
    ]
}

#[test]
fn packed_floats_need_their_global_scale_unless_scales_are_exponents() {
    let mut tensors = nvfp4();
    assert_eq!(outcome(&tensors, &json!({}), [0, 0]).unwrap(), "nvfp4");
    says(outcome(&tensors[..2], &json!({}), [0, 0]), "`weight_global_scale` is missing");
    tensors[2].stored = DType::BF16.into();
    says(outcome(&tensors, &json!({}), [0, 0]), "expected F32 [1]");
    let exponents =
        [tensor("weight_packed", DType::U8, &[8, 32]), tensor("weight_scale", DType::U8, &[8, 2])];
    assert_eq!(outcome(&exponents, &json!({}), [0, 0]).unwrap(), "mxfp4");
    let six =
        [tensor("weight_packed", DType::U8, &[8, 48]), tensor("weight_scale", DType::U8, &[8, 2])];
    assert_eq!(outcome(&six, &json!({}), [0, 0]).unwrap(), "mxfp6");
    says(outcome(&six, &int4(), [0, 0]), "the config says integers");
}

#[test]
fn bytes_without_scales_are_a_finding_unless_ignored() {
    let mut config = config(&json!({ "num_bits": 8, "strategy": "channel" }));
    let alone = [tensor("weight", DType::I8, &[8, 16])];
    says(outcome(&alone, &config, [0, 0]), "`weight_scale` is missing");
    config["quantization_config"]["ignore"] = json!(["re:.*up_proj"]);
    assert!(bids(&alone, &config, [0, 0]).weights.is_empty());
}

/// Bytes that are integers are not floats, and the other way round.
#[test]
fn types_must_be_those_of_the_config() {
    let bytes =
        |dtype| [tensor("weight", dtype, &[8, 16]), tensor("weight_scale", DType::F32, &[8, 1])];
    let int = config(&json!({ "num_bits": 8, "type": "int", "strategy": "channel" }));
    let float = config(&json!({ "num_bits": 8, "type": "float", "strategy": "channel" }));
    assert_eq!(outcome(&bytes(DType::I8), &int, [0, 0]).unwrap(), "int8-bytes-channel");
    assert_eq!(outcome(&bytes(DType::F8_E4M3), &float, [0, 0]).unwrap(), "fp8-channel");
    assert_eq!(outcome(&bytes(DType::F8_E5M2), &float, [0, 0]).unwrap(), "f8-e5m2-channel");
    says(outcome(&bytes(DType::I8), &float, [0, 0]), "the config says floats");
    says(outcome(&bytes(DType::F8_E4M3), &int, [0, 0]), "the config says integers");
    says(outcome(&bytes(DType::I16), &int, [0, 0]), "I8 or an FP8 type");
}

/// Blocks are those of the config: a grid for 128 x 128 does not fit 64 x 64.
#[test]
fn blocks_must_be_those_of_the_config() {
    let of = |side: u64| {
        let weights = json!({ "num_bits": 8, "type": "float", "strategy": "block",
            "block_structure": [side, side] });
        let tensors = [
            tensor("weight", DType::F8_E4M3, &[192, 256]),
            tensor("weight_scale", DType::BF16, &[2, 2]),
        ];
        outcome(&tensors, &config(&weights), [0, 0])
    };
    assert_eq!(of(128).unwrap(), "fp8-block128x128");
    says(of(64), "does not fit one scale per 64 x 64 block");
}

#[test]
fn a_scale_whose_weight_is_gone_is_an_orphan() {
    let found = bids(&[tensor("weight_scale", DType::BF16, &[8, 2])], &int4(), [0, 0]);
    assert_eq!(found.findings[0].kind, "orphan");
    // Nothing is dropped, so that the finding speaks against the whole conversion.
    assert!(found.weights.is_empty() && found.dropped.is_empty());
    // Beside a plain weight it is of no use, which is not wrong.
    let dense = [
        tensor("weight", DType::BF16, &[8, 64]),
        tensor("weight_scale", DType::BF16, &[8, 2]),
        tensor("input_scale", DType::F32, &[1]),
        tensor("k_scale", DType::F32, &[1]),
    ];
    let found = bids(&dense, &int4(), [0, 0]);
    assert!(found.findings.is_empty() && found.weights.is_empty());
    assert_eq!(found.dropped.len(), 3);
}

#[test]
fn a_weight_that_is_stored_twice_is_a_finding() {
    let mut tensors = packed();
    tensors.push(tensor("weight", DType::BF16, &[8, 64]));
    let found = bids(&tensors, &int4(), [8, 64]);
    assert!(found.findings[0].message.contains(".weight is also stored"));
    assert!(found.weights[0].recipe.is_err());
}

#[test]
fn other_configs_keep_their_bytes() {
    let fp8 = json!({ "quantization_config": { "quant_method": "fp8" } });
    let tensors =
        [tensor("weight", DType::F8_E4M3, &[8, 64]), tensor("weight_scale", DType::F32, &[1])];
    let found = bids(&tensors, &fp8, [0, 0]);
    assert!(found.weights.is_empty() && found.findings.is_empty() && found.dropped.is_empty());
}

#[test]
fn sparse_formats_are_refused_by_name() {
    let mut sparse = vec![
        tensor("shape", DType::I64, &[2, 1]),
        tensor("compressed", DType::BF16, &[8, 32]),
        tensor("bitmask", DType::U8, &[8, 8]),
    ];
    says(outcome(&sparse, &json!({}), [0, 0]), "sparse-24-bitmask");
    sparse.push(tensor("row_offsets", DType::I64, &[8, 1]));
    sparse.push(tensor("weight_scale", DType::F32, &[1]));
    says(outcome(&sparse, &int4(), [0, 0]), "sparse-bitmask");
    let marlin = [
        tensor("weight_packed", DType::I32, &[4, 64]),
        tensor("scale_packed", DType::F16, &[2, 8]),
        tensor("meta", DType::I16, &[8, 4]),
    ];
    says(outcome(&marlin, &int4(), [0, 0]), "marlin-24");
    // Half of a sparse weight is none.
    let kinds = |tensors: &[TensorInfo]| -> Vec<_> {
        bids(tensors, &int4(), [0, 0]).findings.iter().map(|found| found.kind).collect()
    };
    assert_eq!(kinds(&sparse[..2]), ["undecodable"]);
    assert_eq!(kinds(&[sparse[0].clone(), sparse[2].clone()]), ["orphan"]);
}

/// The key of early versions, which did not always name the method.
#[test]
fn the_old_key_is_understood() {
    let mut config = int4();
    let inner = config["quantization_config"].take();
    for inner in [json!({ "quantization_config": inner }), inner] {
        let mut inner = inner;
        inner.as_object_mut().unwrap().remove("quant_method");
        let old = json!({ "compression_config": inner });
        let asked = outcome(&packed(), &old, [8, 64]);
        assert_eq!(asked.unwrap(), "int4-g32");
        let bytes =
            [tensor("weight", DType::I8, &[8, 64]), tensor("weight_scale", DType::BF16, &[8, 2])];
        assert_eq!(outcome(&bytes, &old, [0, 0]).unwrap(), "int8-bytes-g32");
    }
}
