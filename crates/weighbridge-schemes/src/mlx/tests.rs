//! What does not fit together, and what only looks like MLX.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::Mlx;
use crate::dtype::DType;
use crate::framework::testing::{self, Stored as Tensor};
use crate::framework::{Entry, Ledger, Registry, SchemeChoice};

fn ledger(tensors: &[Tensor<'_>], config: Json, choices: &[SchemeChoice]) -> Ledger {
    let (tensors, configs) = (testing::tensors(tensors), [testing::config(config)]);
    Registry::new(&[&Mlx]).settle(&testing::evidence(&tensors, &configs).with_choices(choices))
}

/// Variant and shape of the first weight, if it can be decoded.
fn first(ledger: &Ledger) -> Option<(String, Vec<u64>)> {
    match ledger.weights.first() {
        Some(Entry::Scheme(_, bid)) if bid.recipe.is_ok() => {
            Some((bid.variant.to_string(), bid.shape.to_vec()))
        }
        _ => None,
    }
}

const fn tensor<'a>(name: &'a str, dtype: DType, shape: &'a [u64]) -> Tensor<'a> {
    (name, dtype, shape)
}

fn scales(dtype: DType, shape: &[u64]) -> Tensor<'_> {
    ("a.scales", dtype, shape)
}

fn four_bits() -> Json {
    json!({ "quantization": { "group_size": 64, "bits": 4 } })
}

const WEIGHT: Tensor<'_> = tensor("a.weight", DType::U32, &[3, 16]);
const SCALES: Tensor<'_> = tensor("a.scales", DType::BF16, &[3, 2]);
const BIASES: Tensor<'_> = tensor("a.biases", DType::BF16, &[3, 2]);

#[track_caller]
fn reads(tensors: &[Tensor<'_>], config: Json, variant: &str, shape: &[u64]) {
    let ledger = ledger(tensors, config, &[]);
    assert_eq!(first(&ledger), Some((variant.to_owned(), shape.to_vec())));
    assert!(ledger.findings.is_empty(), "{:?}", ledger.findings);
}

/// Nothing is decoded, and one finding about `a.weight` says why.
#[track_caller]
fn refuses(tensors: &[Tensor<'_>], config: Json, words: &[&str]) {
    let ledger = ledger(tensors, config, &[]);
    assert_eq!(first(&ledger), None);
    assert_eq!(ledger.findings.len(), 1, "{:?}", ledger.findings);
    let finding = &ledger.findings[0];
    assert_eq!((finding.kind, finding.tensor.as_deref()), ("undecodable", Some("a.weight")));
    for word in words {
        assert!(finding.message.contains(word), "`{word}` is missing in: {}", finding.message);
    }
}

#[test]
fn the_config_decides_what_shapes_cannot() {
    let all = [WEIGHT, SCALES, BIASES];
    reads(&all, four_bits(), "4bit-g64", &[3, 128]);
    let with = |own: Json| json!({ "quantization": { "group_size": 64, "bits": 4, "a": own } });
    reads(&all, with(json!({ "group_size": 32, "bits": 8 })), "8bit-g32", &[3, 64]);
    reads(&all, with(json!(true)), "4bit-g64", &[3, 128]);
    reads(&all, json!({ "quantization": { "bits": 2 } }), "2bit-g128", &[3, 256]);
    reads(
        &all,
        json!({ "quantization_config": { "bits": 8, "group_size": 32 } }),
        "8bit-g32",
        &[3, 64],
    );
    reads(&all, json!({ "text_config": four_bits() }), "4bit-g64", &[3, 128]);
    // An entry of its own that leaves something out has MLX's default for it, not that at the top.
    let top = |own: Json| json!({ "quantization": { "group_size": 32, "bits": 4, "mode": "mxfp4", "a": own } });
    reads(&all, top(json!({ "group_size": 64, "bits": 4 })), "4bit-g64", &[3, 128]);
    reads(&all, top(json!({})), "4bit-g64", &[3, 128]);
}

#[test]
fn widths_that_contradict_the_config_are_found() {
    let all = [WEIGHT, SCALES, BIASES];
    let with = |own: Json| json!({ "quantization": { "group_size": 64, "bits": 4, "a": own } });
    let readings = ["2bit-g128 [3, 256] or 4bit-g64 [3, 128] or 8bit-g32 [3, 64]", "mlx/2bit-g128"];
    refuses(&all, with(json!({ "bits": 8 })), &["bits 8, group size 64", readings[0]]);
    refuses(&all, with(json!({ "bits": 7, "group_size": 64 })), &["bits 7"]);
    refuses(&all, with(json!({ "mode": "nvfp4" })), &["mode nvfp4"]);
    refuses(&all, with(json!({ "mode": "turbo" })), &["mode \"turbo\" is unknown"]);
    refuses(&all, with(json!({ "bits": "4" })), &["bits is \"4\""]);
    refuses(&all, with(json!({ "bits": 4, "group_size": 0 })), &["group_size is 0"]);
    refuses(&all, with(json!(4)), &["its entry is 4"]);
    refuses(&all, with(json!(false)), &["says that it is not quantized"]);
    refuses(&all, json!({}), &["no config states", readings[0], readings[1]]);
    refuses(&all, with(json!({ "bits": 8, "group_size": u64::MAX })), &["group size 18446"]);
}

#[test]
fn companions_must_fit() {
    fn biases(dtype: DType, shape: &[u64]) -> Tensor<'_> {
        ("a.biases", dtype, shape)
    }
    let qbiases = tensor("a.qbiases", DType::BF16, &[3, 2]);
    refuses(&[WEIGHT], four_bits(), &["`scales` are missing"]);
    refuses(&[WEIGHT, BIASES], json!({}), &["`scales` are missing"]);
    refuses(&[WEIGHT, SCALES], four_bits(), &["`biases` are missing"]);
    refuses(
        &[WEIGHT, SCALES, biases(DType::F16, &[3, 2])],
        four_bits(),
        &["F16", "same type and shape"],
    );
    refuses(&[WEIGHT, SCALES, biases(DType::BF16, &[3, 1])], four_bits(), &["[3, 1]"]);
    refuses(&[WEIGHT, SCALES, BIASES, qbiases], four_bits(), &["both"]);
    refuses(&[WEIGHT, scales(DType::I8, &[3, 2]), BIASES], four_bits(), &["I8"]);
    refuses(&[WEIGHT, scales(DType::BF16, &[4, 2]), BIASES], four_bits(), &["[4, 2]"]);
    refuses(&[WEIGHT, scales(DType::BF16, &[3]), BIASES], four_bits(), &["[3]"]);
    refuses(&[WEIGHT, scales(DType::U8, &[3, 4]), BIASES], four_bits(), &["biases too"]);
    refuses(
        &[tensor("a.weight", DType::I32, &[3, 16]), SCALES, BIASES],
        four_bits(),
        &["expected U32"],
    );
    refuses(
        &[tensor("a.weight", DType::U32, &[16]), SCALES, BIASES],
        four_bits(),
        &["two or more"],
    );
    let empty = [tensor("a.weight", DType::U32, &[0, 16]), scales(DType::U8, &[0, 4])];
    refuses(&empty, four_bits(), &["empty"]);
}

#[test]
fn bytes_as_scales_tell_the_mode_by_their_width() {
    reads(&[WEIGHT, scales(DType::U8, &[3, 8])], json!({}), "nvfp4", &[3, 128]);
    reads(&[WEIGHT, scales(DType::U8, &[3, 4])], json!({}), "mxfp4", &[3, 128]);
    reads(&[WEIGHT, scales(DType::U8, &[3, 2])], json!({}), "mxfp8", &[3, 64]);
    refuses(&[WEIGHT, scales(DType::U8, &[3, 2])], four_bits(), &["mode affine", "mxfp8 [3, 64]"]);
    refuses(&[WEIGHT, scales(DType::U8, &[3, 16])], json!({}), &["no kind that MLX writes"]);
}

#[test]
fn a_global_scale_is_one_for_each_matrix() {
    fn with<'a>(
        weight: &'a [u64],
        scales: &'a [u64],
        dtype: DType,
        global: &'a [u64],
    ) -> [Tensor<'a>; 3] {
        let all = [("a.weight", DType::U32, weight), ("a.scales", DType::U8, scales)];
        [all[0], all[1], ("a.global_scale", dtype, global)]
    }
    let stacked = |dtype, global| with(&[2, 3, 16], &[2, 3, 8], dtype, global);
    reads(&stacked(DType::F32, &[2]), json!({}), "nvfp4-global", &[2, 3, 128]);
    refuses(&stacked(DType::F32, &[]), json!({}), &["expected F32 [2]"]);
    refuses(&stacked(DType::BF16, &[2]), json!({}), &["BF16"]);
    let flat = |global| with(&[3, 16], &[3, 8], DType::F32, global);
    reads(&flat(&[]), json!({}), "nvfp4-global", &[3, 128]);
    reads(&flat(&[1]), json!({}), "nvfp4-global", &[3, 128]);
    refuses(&flat(&[3]), json!({}), &["[3]"]);
    let other = with(&[3, 16], &[3, 4], DType::F32, &[]);
    refuses(&other, json!({}), &["mxfp4 does not use"]);
}

#[test]
fn transformers_kind_needs_its_config() {
    let all = [WEIGHT, SCALES, tensor("a.qbiases", DType::BF16, &[3, 2])];
    let metal = |bits| json!({ "quantization_config": { "quant_method": "metal", "bits": bits, "group_size": 64 } });
    reads(&all, metal(4), "metal-4bit-g64", &[3, 128]);
    refuses(&all, json!({}), &["no config"]);
    // One kind of MLX has 24 words in a group, but transformers takes groups of any size.
    let wide = [tensor("a.weight", DType::U32, &[3, 48]), all[1], all[2]];
    refuses(&wide, json!({}), &["no config"]);
    refuses(&wide, metal(6), &["bits 6"]);
}

#[test]
fn an_answer_decides_among_readings() {
    let all = [WEIGHT, SCALES, BIASES];
    let answer =
        |says: &str| [SchemeChoice::new(Arc::new(|name: &str| name == "a.weight"), says.into())];
    let with = |says: &str| first(&ledger(&all, json!({}), &answer(says)));
    assert_eq!(with("mlx/8bit-g32"), Some(("8bit-g32".to_owned(), vec![3, 64])));
    assert_eq!(with("mlx/4bit-g64"), Some(("4bit-g64".to_owned(), vec![3, 128])));
    for wrong in ["mlx/8bit-g64", "mlx/nvfp4", "gptq/4bit-g64", "mlx/x"] {
        assert_eq!(with(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_left_over_is_found() {
    let kinds = |tensors: &[Tensor<'_>], config| -> Vec<(&'static str, Option<String>)> {
        let found = ledger(tensors, config, &[]).findings;
        found.into_iter().map(|finding| (finding.kind, finding.tensor)).collect()
    };
    let orphan = |name: &str| ("orphan", Some(name.to_owned()));
    assert_eq!(kinds(&[SCALES, BIASES], json!({})), [orphan("a.scales"), orphan("a.biases")]);
    assert_eq!(kinds(&[SCALES], four_bits())[..1], [orphan("a.scales")]);
    assert_eq!(kinds(&[SCALES], json!({})), []);
    let gptq = [SCALES, tensor("a.qweight", DType::I32, &[3, 2])];
    let found = kinds(&gptq, json!({ "quantization_config": { "quant_method": "gptq" } }));
    assert!(found.iter().all(|(kind, _)| *kind == "unknown-scheme"), "{found:?}");
}

#[test]
fn what_only_looks_like_it_is_left_alone() {
    let plain = |tensors: &[Tensor<'_>], config| {
        let ledger = ledger(tensors, config, &[]);
        ledger.weights.iter().all(|entry| !matches!(entry, Entry::Scheme("mlx", _)))
    };
    // Whole numbers without anything beside them; a model of another kind; another scheme's.
    assert!(plain(&[WEIGHT], json!({})));
    assert!(plain(&[tensor("a.weight", DType::BF16, &[3, 16]), SCALES, BIASES], json!({})));
    assert!(plain(&[tensor("aweight", DType::U32, &[3, 16]), SCALES, BIASES], four_bits()));
    let compressed = json!({ "quantization_config": { "quant_method": "compressed-tensors" } });
    assert!(plain(&[WEIGHT, SCALES, BIASES], compressed));
    // The layers of a quantized model that are not.
    assert!(plain(
        &[tensor("a.weight", DType::BF16, &[3, 16]), tensor("a.bias", DType::BF16, &[3])],
        four_bits()
    ));
}
