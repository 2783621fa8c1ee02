//! Configs that would take forever to match are refused.
#![allow(clippy::cast_possible_truncation)]

use weighbridge::{ErrorKind, OpenOptions};

/// A safetensors file of many small matrices of one type.
fn many(count: u64, dtype: &str, suffix: &str) -> Vec<u8> {
    let tensors: Vec<String> = (0..count)
        .map(|i| {
            let offsets = [i * 64, (i + 1) * 64];
            let shape = if dtype == "I32" { [2, 8] } else { [8, 8] };
            format!(
                r#""layers.{i}.{suffix}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":{offsets:?}}}"#
            )
        })
        .collect();
    let header = format!("{{{}}}", tensors.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.resize(file.len() + 64 * count as usize, 0);
    file
}

/// A hundred thousand patterns for ten thousand weights are a thousand million comparisons: they
/// end in an error, whichever scheme has them. As many plain names are no trouble.
#[test]
fn configs_with_endless_lists_are_refused() {
    let open = |weights: (&str, &str), quantization: serde_json::Value| {
        let folder = tempfile::tempdir().unwrap();
        let config = serde_json::json!({ "quantization_config": quantization });
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let file = many(10_000, weights.0, weights.1);
        std::fs::write(folder.path().join("model.safetensors"), file).unwrap();
        OpenOptions::new().open(folder.path())
    };
    let list = |prefix: &str| -> Vec<String> {
        (0..100_000).map(|i| format!("{prefix}nothing.{i}")).collect()
    };
    let map = |prefix: &str| -> serde_json::Value {
        list(prefix).into_iter().map(|name| (name, serde_json::json!({ "bits": 8 }))).collect()
    };
    let compressed = |ignore: Vec<String>| serde_json::json!({ "quant_method": "compressed-tensors", "ignore": ignore });
    let groups: serde_json::Value = list("")
        .into_iter()
        .map(|name| (name.clone(), serde_json::json!({ "targets": [name], "weights": {} })))
        .collect();
    let cases = [
        (("I8", "weight"), compressed(list("re:"))),
        (
            ("I8", "weight"),
            serde_json::json!({ "quant_method": "compressed-tensors", "config_groups": groups }),
        ),
        (
            ("F8_E4M3", "weight"),
            serde_json::json!({ "quant_method": "fp8", "modules_to_not_convert": list("") }),
        ),
        (
            ("I32", "qweight"),
            serde_json::json!({ "quant_method": "gptq", "bits": 4, "dynamic": map("+:") }),
        ),
        (
            ("I32", "qweight"),
            serde_json::json!({ "quant_method": "auto-round", "bits": 4, "extra_config": map("") }),
        ),
    ];
    for (weights, quantization) in cases {
        let method = quantization["quant_method"].clone();
        let error = open(weights, quantization).err().unwrap_or_else(|| panic!("{method}"));
        assert_eq!(error.kind(), ErrorKind::Limit, "{method}: {error}");
        assert!(error.hint_text().unwrap().contains("lists"), "{method}: {error}");
    }
    let model = open(("I8", "weight"), compressed(list(""))).unwrap();
    assert_eq!(model.weights().len(), 10_000);
}
