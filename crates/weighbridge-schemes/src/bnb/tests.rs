//! What is said about files that do not fit together.

use serde_json::json;

use super::Bnb;
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::{Bids, TensorId, testing};

/// Stored tensors with their bytes.
type Tensors = Vec<(TensorInfo, Vec<u8>)>;

fn tensor(name: &str, dtype: DType, shape: &[u64], bytes: Vec<u8>) -> (TensorInfo, Vec<u8>) {
    let info = testing::tensor(name, dtype, shape);
    assert_eq!(bytes.len() as u64, info.bytes);
    (info, bytes)
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

const STATE: &str = "w.quant_state.bitsandbytes__nf4";

fn state_json() -> serde_json::Value {
    json!({
        "quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [3, 50],
        "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.25
    })
}

fn state_of(json: &serde_json::Value) -> (TensorInfo, Vec<u8>) {
    let bytes = json.to_string().into_bytes();
    tensor(STATE, DType::U8, &[bytes.len() as u64], bytes)
}

/// A sound weight of 150 elements in three blocks, with nested scales.
fn sound() -> Tensors {
    let map = super::four::table_of("nf4").unwrap();
    vec![
        tensor("w", DType::U8, &[75, 1], vec![0x7f; 75]),
        tensor("w.absmax", DType::U8, &[3], vec![1, 2, 3]),
        tensor("w.quant_map", DType::F32, &[16], floats(map)),
        tensor("w.nested_absmax", DType::F32, &[1], floats([2.0])),
        tensor("w.nested_quant_map", DType::F32, &[256], floats((0..=255u8).map(f32::from))),
        state_of(&state_json()),
    ]
}

/// A sound weight of signed bytes.
fn sound_bytes() -> Tensors {
    vec![
        tensor("p.weight", DType::I8, &[2, 3], vec![1; 6]),
        tensor("p.SCB", DType::F32, &[2], floats([1.0, 2.0])),
        tensor("p.weight_format", DType::U8, &[], vec![0]),
    ]
}

fn bids(tensors: &Tensors, config: Option<serde_json::Value>) -> Bids {
    let infos: Vec<_> = tensors.iter().map(|(info, _)| info.clone()).collect();
    let configs: Vec<_> = config.into_iter().map(testing::config).collect();
    let read = |id: TensorId| Ok(tensors[id.tensor as usize].1.clone());
    testing::bids(&Bnb, &testing::evidence(&infos, &configs).reading(&read))
}

/// One finding of that kind with those words, and no recipe.
#[track_caller]
fn found(tensors: &Tensors, config: Option<serde_json::Value>, words: &str) {
    let bids = bids(tensors, config);
    let messages: Vec<_> = bids.findings.iter().map(|f| (f.kind, &*f.message)).collect();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0].0, "undecodable");
    assert!(messages[0].1.contains(words), "{messages:?}");
    assert!(bids.weights.len() == 1 && bids.weights[0].recipe.is_err());
    // Every stored tensor has its place all the same.
    assert_eq!(bids.weights[0].parts.len() + bids.dropped.len(), tensors.len());
}

fn without(mut tensors: Tensors, name: &str) -> Tensors {
    tensors.retain(|(info, _)| &*info.name != name);
    tensors
}

fn with(tensors: Tensors, replaced: (TensorInfo, Vec<u8>)) -> Tensors {
    let mut tensors = tensors;
    let place = tensors.iter().position(|(info, _)| info.name == replaced.0.name).unwrap();
    tensors[place] = replaced;
    tensors
}

#[test]
fn sound_weights_have_no_findings() {
    for tensors in [sound(), without(sound(), "w.quant_map"), sound_bytes()] {
        let bids = bids(&tensors, None);
        assert!(bids.findings.is_empty(), "{:?}", bids.findings);
        assert!(bids.weights.len() == 1 && bids.weights[0].recipe.is_ok());
    }
    let four = bids(&sound(), None);
    assert_eq!(
        (&*four.weights[0].variant, &four.weights[0].shape[..]),
        ("nf4-g64-nested", &[3, 50][..])
    );
    let old = without(sound_bytes(), "p.weight_format");
    assert!(bids(&old, None).findings.is_empty());
}

#[test]
fn a_companion_that_is_missing_is_found() {
    found(&without(sound(), "w.absmax"), None, "`absmax` is missing");
    found(&without(sound(), "w.nested_absmax"), None, "`nested_absmax` is missing");
    found(&without(sound(), "w.nested_quant_map"), None, "`nested_quant_map` is missing");
    found(&without(sound(), STATE), None, "quant_state is missing");
    found(&without(sound_bytes(), "p.SCB"), None, "`SCB` are missing");
}

#[test]
fn what_is_left_of_a_lost_weight_is_an_orphan() {
    for (tensors, name, count) in [(sound(), "w", 5), (sound_bytes(), "p.weight", 1)] {
        let bids = bids(&without(tensors, name), None);
        let kinds: Vec<_> = bids.findings.iter().map(|f| f.kind).collect();
        assert_eq!(kinds, vec!["orphan"; count]);
        assert!(bids.weights.is_empty() && bids.dropped.is_empty());
    }
}

#[test]
fn a_companion_of_another_shape_or_type_is_found() {
    let absmax = |dtype, shape, bytes| with(sound(), tensor("w.absmax", dtype, &[shape], bytes));
    found(&absmax(DType::U8, 4, vec![0; 4]), None, "U8 [4], expected U8 [3]");
    found(&absmax(DType::F32, 3, vec![0; 12]), None, "absmax is F32 [3], expected U8 [3]");
    let outer = tensor("w.nested_absmax", DType::F32, &[2], vec![0; 8]);
    found(&with(sound(), outer), None, "expected F32 [1]");
    let outer = tensor("w.nested_absmax", DType::F16, &[1], vec![0; 2]);
    found(&with(sound(), outer), None, "nested_absmax is F16");
    let map = tensor("w.nested_quant_map", DType::F32, &[16], vec![0; 64]);
    found(&with(sound(), map), None, "expected F32 [256]");
    let codes = tensor("w", DType::I32, &[75], vec![0; 300]);
    found(&with(sound(), codes), None, "its dtype is I32");
    let scales = tensor("p.SCB", DType::F16, &[2], vec![0; 4]);
    found(&with(sound_bytes(), scales), None, "SCB is F16 [2], expected F32 [2]");
    let scales = tensor("p.SCB", DType::F32, &[3], vec![0; 12]);
    found(&with(sound_bytes(), scales), None, "expected F32 [2]");
    let codes = tensor("p.weight", DType::U8, &[2, 3], vec![0; 6]);
    found(&with(sound_bytes(), codes), None, "dtype is U8, expected I8");
    let codes = tensor("p.weight", DType::I8, &[6], vec![0; 6]);
    found(&with(sound_bytes(), codes), None, "expected two dimensions");
}

#[test]
fn a_state_that_cannot_be_is_found() {
    let changed = |key: &str, value: serde_json::Value| {
        let mut json = state_json();
        json[key] = value;
        with(sound(), state_of(&json))
    };
    let cut = |key: &str| {
        let mut json = state_json();
        json.as_object_mut().unwrap().remove(key);
        with(sound(), state_of(&json))
    };
    let text = b"shape: 3 x 50".to_vec();
    found(&with(sound(), tensor(STATE, DType::U8, &[13], text)), None, "not JSON");
    for key in ["quant_type", "blocksize", "dtype", "shape", "nested_offset", "nested_dtype"] {
        found(&cut(key), None, &format!("lacks `{key}`"));
    }
    found(&changed("shape", json!(null)), None, "`shape` null");
    found(&changed("shape", json!([3, -50])), None, "expected a list of sizes");
    found(&changed("shape", json!([3, 52])), None, "needs 78 bytes of codes, but there are 75");
    found(&changed("shape", json!([u64::MAX, 3])), None, "too large");
    found(&changed("blocksize", json!(48)), None, "blocksize 48");
    found(&changed("blocksize", json!(0)), None, "blocksize 0");
    found(&changed("blocksize", json!(32)), None, "expected U8 [5]");
    found(&changed("nested_blocksize", json!(2)), None, "expected F32 [2]");
    found(&changed("nested_blocksize", json!(0)), None, "a positive number");
    found(&changed("nested_dtype", json!("float16")), None, "`nested_dtype` F16, expected float32");
    found(&changed("nested_offset", json!(1e300)), None, "a finite number");
    found(&changed("dtype", json!("float64")), None, "expected bfloat16");
    found(&changed("quant_type", json!("fp4")), None, "named nf4, but says quant_type fp4");
    let wide = tensor(STATE, DType::I32, &[1], vec![b' '; 4]);
    found(&with(sound(), wide), None, "quant_state is I32");
}

#[test]
fn a_state_of_another_kind_is_found() {
    let named = |name: &str| {
        let (mut info, bytes) = state_of(&state_json());
        info.name = name.into();
        (info, bytes)
    };
    let other = "w.quant_state.bitsandbytes__int4";
    let mut tensors = without(sound(), STATE);
    tensors.push(named(other));
    found(&tensors, None, "kind `int4` is unknown");
    let mut tensors = sound();
    tensors.push(named("w.quant_state.bitsandbytes__fp4"));
    found(&tensors, None, "several quant_states (nf4, fp4)");
}

#[test]
fn scales_that_are_nested_and_not_are_found() {
    let mut json = state_json();
    for key in ["nested_blocksize", "nested_dtype", "nested_offset"] {
        json.as_object_mut().unwrap().remove(key);
    }
    let stored = tensor("w.absmax", DType::F32, &[3], floats([1.0; 3]));
    let plain = with(with(sound(), state_of(&json)), stored);
    found(&plain, None, "it has nested scales");
    let plain = without(without(plain, "w.nested_absmax"), "w.nested_quant_map");
    assert!(bids(&plain, None).findings.is_empty());
}

#[test]
fn another_table_than_the_built_in_one_is_found() {
    let mut map = super::four::table_of("nf4").unwrap();
    map[3] = -0.4;
    let other = tensor("w.quant_map", DType::F32, &[16], floats(map));
    found(&with(sound(), other), None, "-0.4 for code 3, but nf4 has -0.3949175");
}

#[test]
fn tiled_bytes_are_refused_by_name() {
    let format = |value| tensor("p.weight_format", DType::U8, &[], vec![value]);
    found(&with(sound_bytes(), format(1)), None, "1 (col32)");
    found(&with(sound_bytes(), format(2)), None, "2 (col_turing)");
    found(&with(sound_bytes(), format(3)), None, "3 (col_ampere)");
    found(&with(sound_bytes(), format(4)), None, "weight_format is 4, which is unknown");
    let wide = tensor("p.weight_format", DType::I64, &[], vec![0; 8]);
    found(&with(sound_bytes(), wide), None, "expected one U8");
}

#[test]
fn a_config_that_says_otherwise_is_found() {
    let config = |json| Some(json!({ "quantization_config": json }));
    let other = config(json!({ "quant_method": "gptq", "bits": 4 }));
    found(&sound(), other.clone(), "method `gptq`");
    found(&sound_bytes(), other, "method `gptq`");
    let four = |kind| {
        config(json!({
            "quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": kind
        }))
    };
    found(&sound(), four("fp4"), "says nf4, but config.json says bnb_4bit_quant_type fp4");
    assert!(bids(&sound(), four("nf4")).findings.is_empty());
}

/// `absmax` alone is anybody's, unless the config says whose.
#[test]
fn absmax_alone_is_only_ours_by_config() {
    let alone = || sound().into_iter().take(2).collect::<Tensors>();
    let ours = json!({ "quantization_config": { "quant_method": "bitsandbytes" } });
    assert!(bids(&alone(), None).weights.is_empty());
    found(&alone(), Some(ours), "quant_state is missing");
}

/// Codes that have lost everything would pass for plain bytes, were it not for the config.
#[test]
fn codes_alone_are_ours_by_config() {
    let ours = || Some(json!({ "quantization_config": { "quant_method": "bitsandbytes" } }));
    let codes = vec![tensor("p.weight", DType::U8, &[75, 1], vec![0; 75])];
    let bytes = vec![tensor("p.weight", DType::I8, &[2, 3], vec![0; 6])];
    found(&codes, ours(), "quant_state is missing");
    found(&bytes, ours(), "`SCB` are missing");
    let others = [
        vec![tensor("p.weight", DType::U8, &[75, 2], vec![0; 150])],
        vec![tensor("p.mask", DType::I8, &[2, 3], vec![0; 6])],
    ];
    assert!(others.iter().all(|tensors| bids(tensors, ours()).weights.is_empty()));
    assert!([codes, bytes].iter().all(|tensors| bids(tensors, None).weights.is_empty()));
}

#[test]
fn what_transformers_would_take_for_a_kept_layer_is_known() {
    use super::quantizers::is_taken_for;
    assert!(is_taken_for("model.layers.1.x", "model.layers.1"));
    assert!(is_taken_for("lm_head", "lm_head") && is_taken_for("model.my_lm_head", "lm_head"));
    assert!(!is_taken_for("model.layers.11.x", "model.layers.1"));
    assert!(!is_taken_for("model.mlp.gate_proj", "model.mlp.gate"));
}
