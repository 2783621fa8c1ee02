//! Whole models against what transformers saves with bitsandbytes (`oracles/bnb_encoded.py`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use weighbridge::internals::schemes::{Chosen, QuantizeWishes, SCHEMES, TypeAssignment};
use weighbridge::{DType, Model};

use super::quantizing::{
    Tensor, chosen, compare, compare_config, compare_cost, compare_decoded, file_of, made_up,
    nothing, numbers_of, quantized, samples, stored_tensors,
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
        if name.contains(".quant_state.") {
            bytes.truncate(bytes.trim_ascii_end().len());
            shape[0] = bytes.len() as u64;
        }
    }
}

fn choose(model: &Model, kind: &str, keeps: &dyn Fn(&str) -> bool) -> Chosen {
    let quantizer = SCHEMES.quantizer(&format!("bnb-{kind}")).unwrap();
    chosen(model, quantizer, &QuantizeWishes::default(), keeps).unwrap()
}

fn check(model: &str, kind: &str, kept: &[&str]) {
    let folder = samples("encoded-bnb").join(model);
    let source = Model::open(folder.join("source")).unwrap();
    let keeps = |name: &str| kept.contains(&name);
    let chosen = choose(&source, kind, &keeps);
    let golden = folder.join(kind);
    compare_config(&chosen, &golden, "quantization_config");
    let mut ours = quantized(&source, &chosen);
    without_spaces(&mut ours);
    compare(&ours, &stored_tensors(&Model::open(&golden).unwrap()), &format!("{model}/{kind}"));
    check_decoded(&source, &chosen.fates, &golden);
}

/// What we write is read back as what the library decodes its own to.
fn check_decoded(source: &Model, fates: &[TypeAssignment], golden: &Path) {
    compare_decoded(&Model::open(golden).unwrap(), golden);
    let golden = Model::open(golden).unwrap();
    compare_cost(source, fates, &golden);
    for (weight, fate) in source.weights().zip(fates) {
        if let TypeAssignment::Encode(encoder) = fate {
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

/// What bitsandbytes makes of NaN and infinity (`oracles/bnb_non_finite.py`), and what we do.
#[test]
fn what_is_not_finite_is_stored_as_the_library_stores_it() {
    let goldens = std::fs::read(samples("encoded-bnb").join("non-finite.json")).unwrap();
    let goldens: Vec<Json> = serde_json::from_slice(&goldens).unwrap();
    for golden in &goldens {
        let kind = golden["kind"].as_str().unwrap();
        let numbers = |key: &str| numbers_of(&golden[key]);
        let model = made_up(&numbers("values"), 64);
        let chosen = choose(&model, kind, &nothing);
        let ours = quantized(&model, &chosen);
        let codes = ours["model.proj.weight"].2.clone();
        let end = if kind == "int8" { "SCB" } else { "weight.absmax" };
        let scales = ours[&format!("model.proj.{end}")].2.as_chunks().0.to_vec();
        let theirs: Vec<u8> = serde_json::from_value(golden["codes"].clone()).unwrap();
        assert_eq!(codes, theirs, "{kind} {}", golden["bad"]);
        let pairs = scales.into_iter().map(f32::from_le_bytes).zip(numbers("scales"));
        let is_same = |(a, b): (f32, f32)| a == b || a.is_nan() && b.is_nan();
        assert!(pairs.into_iter().all(is_same), "{kind} {}", golden["bad"]);
    }
    assert_eq!(goldens.len(), 9);
}

fn cases() -> Vec<PathBuf> {
    let folder = samples("bnb");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let cases: Vec<_> = paths.filter(|path| path.is_dir()).collect();
    assert!(!cases.is_empty());
    cases
}

fn open(case: &Path) -> Model {
    let files = ["model.safetensors.index.json", "model.safetensors", "pytorch_model.bin"];
    let file = files.iter().map(|file| case.join(file)).find(|path| path.exists()).unwrap();
    let model = Model::open(file).unwrap();
    assert!(model.findings().is_empty(), "{}: {:?}", case.display(), model.findings());
    model
}

/// Nothing but weights and plain tensors is left; the rest is dropped with its reason.
#[test]
fn nothing_that_describes_a_weight_is_left_over() {
    for case in cases() {
        let model = open(&case);
        for weight in model.weights() {
            let plain = ["embed_tokens.weight", "layernorm.weight", ".bias"];
            let is_plain = plain.iter().any(|end| weight.name().ends_with(end));
            assert_eq!(weight.scheme() == "plain", is_plain, "{}", weight.name());
        }
        for (stored, reason) in model.dropped() {
            let kinds = [".quant_map", ".quant_state.bitsandbytes__", ".weight_format"];
            assert!(kinds.iter().any(|kind| stored.name.contains(kind)), "{}", stored.name);
            assert!(!reason.is_empty());
        }
    }
}

/// Damage in one block speaks against the rows that touch it, and names the block.
#[test]
fn a_scale_that_is_no_number_is_an_error() {
    let file = cases()[0].parent().unwrap().join("nf4-plain/model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let (weight, model) = ("model.layers.0.self_attn.q_proj.weight", Model::open(&file).unwrap());
    let absmax = format!("{weight}.absmax");
    let tensors = &model.sources()[0].catalog().tensors;
    let at = tensors.iter().find(|t| *t.name == *absmax).unwrap().file_offset().unwrap();
    let at = usize::try_from(at).unwrap() + 4 * 4;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let model = Model::open_bytes(bytes, "damaged.safetensors").unwrap();
    let weight = model.weight(weight).unwrap();
    // Seven rows of 48 in blocks of 64: the fifth block begins inside row 5.
    let mut out = [0.0f32; 5 * 48];
    weight.decode_rows(0..5, &mut out).unwrap();
    let error = weight.decode_rows(2..6, &mut out[..4 * 48]).unwrap_err().to_string();
    assert!(error.contains("the scale of block 4 is NaN"), "{error}");
}
