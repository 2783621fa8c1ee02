//! Whole models against what mlx-lm makes of them (`oracles/mlx_encoded.py`).

use serde_json::{Value as Json, json};

use weighbridge::Model;
use weighbridge::internals::schemes::{Chosen, QuantizeWishes, SCHEMES, TypeAssignment};

use super::quantizing::{
    chosen, compare, compare_config, compare_cost, compare_decoded, grouped, made_up, nothing,
    numbers_of, quantized, samples, stored_tensors,
};

/// Each model, what was made of it, and which of its weights stayed.
const CASES: [(&str, &[&str], &[&str]); 3] = [
    ("bf16", &["2bit", "3bit", "4bit", "5bit", "6bit", "8bit", "mxfp4", "mxfp8", "nvfp4"], &[]),
    (
        "f16",
        &[
            "2bit-g32",
            "5bit-g32",
            "4bit-g32",
            "8bit-g128",
            "3bit-g128",
            "6bit-g128",
            "mxfp4",
            "mxfp8",
            "nvfp4",
        ],
        &[],
    ),
    (
        "f32",
        &["4bit", "6bit-g32", "mxfp4", "mxfp8", "nvfp4"],
        &["model.layers.0.mlp.gate_proj.weight", "model.embed_tokens.weight"],
    ),
];

fn check(model: &str, kind: &str, kept: &[&str]) {
    let folder = samples("encoded-mlx").join(model);
    let source = Model::open(folder.join("source")).unwrap();
    let (name, group) = kind.split_once("-g").unwrap_or((kind, ""));
    let wishes = grouped(group.parse().ok());
    let keeps = |name: &str| kept.contains(&name);
    let quantizer = SCHEMES.quantizer(&format!("mlx-{name}")).unwrap();
    let chosen = chosen(&source, quantizer, &wishes, &keeps).unwrap();
    let golden = folder.join(kind);
    for key in ["quantization", "quantization_config"] {
        compare_config(&chosen, &golden, key);
    }
    let read = Model::open(&golden).unwrap();
    compare(&quantized(&source, &chosen), &stored_tensors(&read), &format!("{model}/{kind}"));
    // The same bytes, so that this is what ours are read back as.
    compare_decoded(&read, &golden);
    compare_cost(&source, &chosen.fates, &read);
}

#[test]
fn models_are_those_that_mlx_lm_saves() {
    for (model, kinds, kept) in CASES {
        kinds.iter().for_each(|kind| check(model, kind, kept));
    }
}

#[test]
fn groups_that_mlx_does_not_have_are_refused() {
    let source = Model::open(samples("encoded-mlx").join("bf16/source")).unwrap();
    let asked = |name, group| {
        let wishes = grouped(Some(group));
        chosen(&source, SCHEMES.quantizer(name).unwrap(), &wishes, &nothing)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert!(asked("mlx-4bit", 128).is_ok() && asked("mlx-nvfp4", 16).is_ok());
    assert!(asked("mlx-4bit", 16).unwrap_err().contains("mlx-4bit does not support group size 16"));
    assert!(
        asked("mlx-mxfp4", 64).unwrap_err().contains("mlx-mxfp4 does not support group size 64")
    );
}

#[test]
fn families_that_mlx_lm_rearranges_are_refused() {
    let asked = |config: serde_json::Value| {
        let folder = tempfile::tempdir().unwrap();
        let source = samples("encoded-mlx").join("bf16/source/model.safetensors");
        std::fs::copy(source, folder.path().join("model.safetensors")).unwrap();
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let model = Model::open(folder.path()).unwrap();
        chosen(&model, SCHEMES.quantizer("mlx-4bit").unwrap(), &QuantizeWishes::default(), &nothing)
    };
    for family in ["qwen3_moe", "gpt2"] {
        let error = asked(json!({ "model_type": family })).err().unwrap().to_string();
        assert!(error.contains(&format!("model type {family}")), "{error}");
    }
    assert!(asked(json!({})).err().unwrap().to_string().contains("model_type"));
    let encoded = |tied: bool| {
        let config = json!({ "model_type": "llama", "tie_word_embeddings": tied });
        let fates = asked(config).unwrap().fates;
        fates.iter().filter(|fate| matches!(fate, TypeAssignment::Encode(_))).count()
    };
    // The output matrix is one of them, unless mlx-lm throws it away.
    assert_eq!(encoded(false), encoded(true) + 1);
}

/// One row of mxfp8 without a config: 32 codes and their scale.
fn mxfp8(codes: [u8; 32], scale: u8) -> Model {
    let header = br#"{"a.weight":{"dtype":"U32","shape":[1,8],"data_offsets":[0,32]},"a.scales":{"dtype":"U8","shape":[1,1],"data_offsets":[32,33]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(codes);
    bytes.push(scale);
    Model::open_bytes(bytes, "x.safetensors").unwrap()
}

#[test]
fn a_scale_that_is_no_number_is_an_error_but_a_code_may_be_one() {
    let mut codes = [0; 32];
    codes.iter_mut().zip(0x60..).for_each(|(code, value)| *code = value);
    let mut out = [0.0f32; 32];
    let model = mxfp8(codes, 127);
    model.weight("a.weight").unwrap().decode_into(&mut out).unwrap();
    assert_eq!((out[0], out[30]), (32.0, 448.0));
    assert!(out[31].is_nan());
    let model = mxfp8(codes, 255);
    let error = model.weight("a.weight").unwrap().decode_into(&mut out).unwrap_err();
    assert!(error.to_string().contains("row 0, group 0"), "{error}");
}

/// What MLX makes of NaN and infinity (`oracles/mlx_non_finite.py`), and what we do.
#[test]
fn what_is_not_finite_is_stored_as_mlx_stores_it() {
    let goldens = std::fs::read(samples("encoded-mlx").join("non-finite.json")).unwrap();
    let goldens: Vec<Json> = serde_json::from_slice(&goldens).unwrap();
    let source = Model::open(samples("encoded-mlx").join("f32/source")).unwrap();
    for golden in &goldens {
        let (bits, bad) = (&golden["bits"], &golden["bad"]);
        let quantizer = SCHEMES.quantizer(&format!("mlx-{bits}bit")).unwrap();
        let model = made_up(&numbers_of(&golden["values"]), 64);
        let others = chosen(&source, quantizer, &QuantizeWishes::default(), &nothing).unwrap();
        let is_encoded = |fate: &TypeAssignment| matches!(fate, TypeAssignment::Encode(_));
        let fates = others.fates.into_iter().find(is_encoded).into_iter().collect();
        let ours = quantized(&model, &Chosen { fates, ..Chosen::default() });
        let theirs: Vec<u8> = serde_json::from_value(golden["codes"].clone()).unwrap();
        assert_eq!(ours["model.proj.weight"].2, theirs, "{bits} bits, {bad}");
        for end in ["scales", "biases"] {
            let bytes = ours[&format!("model.proj.{end}")].2.as_chunks().0.to_vec();
            let numbers = bytes.into_iter().map(f32::from_le_bytes);
            let mut pairs = numbers.zip(numbers_of(&golden[end]));
            let is_same = |(a, b): (f32, f32)| a == b || a.is_nan() && b.is_nan();
            assert!(pairs.all(is_same), "{bits} bits, {bad}: {end}");
        }
    }
    assert_eq!(goldens.len(), 18);
}
