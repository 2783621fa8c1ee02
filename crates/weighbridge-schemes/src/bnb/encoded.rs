//! Whole models against what transformers saves with bitsandbytes (`oracles/bnb_encoded.py`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::STATE;
use crate::dtype::DType;
use crate::framework::{EncodedTensor, Fate, QuantizeWishes};
use crate::model::Model;
use crate::quantizing::{
    Tensor, choose, compare, compare_config, compare_cost, compare_decoded, file_of, quantized,
    samples, tensors,
};

/// Each model, what was made of it, and which of its layers stayed.
const CASES: [(&str, &[&str], &[&str]); 5] = [
    ("odd-bf16", &["nf4", "fp4", "nf4-nested", "fp4-nested", "int8"], &[]),
    ("even-f16", &["nf4", "fp4", "nf4-nested", "fp4-nested", "int8"], &[]),
    ("odd-f32", &["nf4-nested", "fp4", "int8"], &["model.layers.0.self_attn.k_proj.weight"]),
    ("many-bf16", &["nf4-nested"], &[]),
    ("experts-bf16", &["nf4"], &[]),
];

/// States of nested scales end with spaces, which the library does not write.
fn without_spaces(tensors: &mut BTreeMap<String, Tensor>) {
    for (name, (_, shape, bytes)) in tensors {
        if name.contains(STATE) {
            bytes.truncate(bytes.trim_ascii_end().len());
            shape[0] = bytes.len() as u64;
        }
    }
}

fn check(model: &str, kind: &str, kept: &[&str]) {
    let folder = samples("bnb").join(model);
    let source = Model::open(folder.join("source")).unwrap();
    let keeps = |name: &str| kept.contains(&name);
    let name = format!("bnb-{kind}");
    let chosen = choose(&source, &name, &QuantizeWishes::default(), &keeps).unwrap();
    let golden = folder.join(kind);
    compare_config(&chosen, &golden, "quantization_config");
    let mut ours = quantized(&source, &chosen);
    without_spaces(&mut ours);
    compare(&ours, &tensors(&Model::open(&golden).unwrap()), &format!("{model}/{kind}"));
    check_decoded(&source, &chosen.fates, &golden);
}

/// What we write is read back as what the library decodes its own to.
fn check_decoded(source: &Model, fates: &[Fate], golden: &Path) {
    compare_decoded(&Model::open(golden).unwrap(), golden);
    let golden = Model::open(golden).unwrap();
    compare_cost(source, fates, &golden);
    for (weight, fate) in source.weights().zip(fates) {
        if let Fate::Encode(encoder) = fate {
            let file = file_of(source, weight.name(), encoder);
            let read = Model::open_bytes(file, "out.safetensors").unwrap();
            assert!(read.findings().is_empty(), "{:?}", read.findings());
            let [ours, theirs] = [&read, &golden]
                .map(|model| model.weight(weight.name()).unwrap().read_to_vec(DType::F32).unwrap());
            assert!(ours == theirs, "{}", weight.name());
        }
    }
}

#[test]
fn models_are_those_that_transformers_saves() {
    for (model, kinds, kept) in CASES {
        kinds.iter().for_each(|kind| check(model, kind, kept));
    }
}

/// A model of one matrix, with a config.
fn made_up(values: &[f32], columns: usize) -> Model {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let header = json!({"model.proj.weight": {
        "dtype": "F32", "shape": [values.len() / columns, columns], "data_offsets": [0, bytes.len()]
    }})
    .to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(bytes);
    Model::open_bytes(file, "model.safetensors").unwrap()
}

/// What an encoder says about four rows of 32 numbers.
fn encode(kind: &str, values: &[f32]) -> Result<(), String> {
    let wishes = QuantizeWishes::default();
    let chosen = choose(&made_up(values, 32), &format!("bnb-{kind}"), &wishes, &|_| false).unwrap();
    let [Fate::Encode(encoder)] = &chosen.fates[..] else { panic!("one weight") };
    let tensors = encoder.outputs("w.weight", &[4, 32]).unwrap();
    let room = |tensor: &EncodedTensor| vec![0; tensor.bytes.try_into().unwrap()];
    let mut buffers: Vec<Vec<u8>> = tensors.iter().map(room).collect();
    let mut out: Vec<&mut [u8]> = buffers.iter_mut().map(|buffer| &mut buffer[..]).collect();
    let done = encoder.begin(&[4, 32]).encode(0..128, values, &mut out);
    done.map_err(|error| error.to_string())
}

#[test]
fn what_is_not_finite_is_refused() {
    let with = |bad: f32| {
        let mut values = vec![0.5; 128];
        values[100] = bad;
        values
    };
    for (kind, words) in [("nf4", "the 64 from element 64 on"), ("int8", "row 3 has a number")] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = encode(kind, &with(bad)).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
    // A million is a number, but not in half precision.
    assert!(encode("fp4", &with(-1e6)).is_ok());
    assert!(encode("int8", &with(-1e6)).unwrap_err().contains("half precision"));
}

#[test]
fn what_transformers_would_take_for_a_kept_layer_is_known() {
    use super::quantizers::is_taken_for;
    assert!(is_taken_for("model.layers.1.x", "model.layers.1"));
    assert!(is_taken_for("lm_head", "lm_head") && is_taken_for("model.my_lm_head", "lm_head"));
    assert!(!is_taken_for("model.layers.11.x", "model.layers.1"));
    assert!(!is_taken_for("model.mlp.gate_proj", "model.mlp.gate"));
}
