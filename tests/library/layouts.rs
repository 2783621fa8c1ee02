//! Codes that are moved into another layout: the same numbers, bit for bit, in other tensors.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use weighbridge::ops::{self, ConvertOptions};
use weighbridge::{DType, Error, Model};

use crate::common::root;

/// A sample with the layouts that hold its codes as they are.
const MOVED: [(&str, &[&str]); 11] = [
    ("tests/files/gptq/asym-v1", &["compressed-tensors", "awq"]),
    ("tests/files/gptq/asym-v1-zero", &["compressed-tensors", "awq"]),
    ("tests/files/gptq/bits8", &["compressed-tensors"]),
    ("tests/files/gptq/group-all", &["compressed-tensors", "awq"]),
    ("tests/files/gptq/v2", &["compressed-tensors", "awq"]),
    ("samples/tiny-llama-gptq", &["compressed-tensors", "awq"]),
    ("tests/files/awq/gemm-g32", &["compressed-tensors", "gptq"]),
    ("tests/files/awq/gemm-channel", &["compressed-tensors", "gptq"]),
    ("tests/files/compressed/int4-g16-asym", &["gptq", "awq"]),
    ("tests/files/compressed/int4-g32-f16", &["gptq", "awq"]),
    ("tests/files/compressed/int8-channel-asym-f32", &["gptq"]),
];

/// A folder with a copy of a sample as `in`.
struct Place(TempDir);

impl Place {
    fn with(sample: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.at("in")).unwrap();
        for entry in fs::read_dir(root().join(sample)).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name().into_string().unwrap();
            if !name.starts_with("expected") && entry.path().is_file() {
                fs::copy(entry.path(), place.at("in").join(name)).unwrap();
            }
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn options(&self, to: &str, layout: &str) -> ConvertOptions {
        ConvertOptions::new(self.at(to)).layout(layout)
    }

    /// Moves the codes of one folder into another; the output is verified.
    fn moved(&self, from: &str, to: &str, layout: &str) {
        let model = Model::open(self.at(from)).unwrap();
        let report = ops::convert(&model, &self.options(to, layout).verify(true)).unwrap();
        assert!(report.verified.as_ref().unwrap().ok, "{layout}: {:?}", report.verified);
    }

    fn refused(&self, layout: &str) -> Error {
        let model = Model::open(self.at("in")).unwrap();
        let error = ops::convert(&model, &self.options("out", layout)).unwrap_err();
        assert!(!self.at("out").exists(), "{error}");
        error
    }

    fn config(&self, folder: &str) -> Value {
        config_of(&self.at(folder))
    }
}

fn config_of(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap()
}

/// A weight's name, its native type, and its numbers in f32 and in that type.
type Numbers = (String, DType, Vec<u8>, Vec<u8>);

/// Every weight of a folder.
fn numbers(folder: &Path) -> Vec<Numbers> {
    let model = Model::open(folder).unwrap();
    assert!(model.findings().is_empty(), "{:?}", model.findings());
    let of = |weight: weighbridge::Weight| {
        let native = weight.native().unwrap();
        let [single, own] = [DType::F32, native].map(|dtype| weight.read_to_vec(dtype).unwrap());
        (weight.name().to_owned(), native, single, own)
    };
    let mut all: Vec<Numbers> = model.weights().map(of).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn numbers_stay_the_same_there_and_back() {
    for (sample, layouts) in MOVED {
        let place = Place::with(sample);
        let own = place.config("in")["quantization_config"]["quant_method"].clone();
        for layout in layouts {
            place.moved("in", layout, layout);
            assert!(numbers(&place.at("in")) == numbers(&place.at(layout)), "{sample} {layout}");
            let config = place.config(layout);
            assert_eq!(config["quantization_config"]["quant_method"], *layout);
            let back = format!("{layout}-back");
            place.moved(layout, &back, own.as_str().unwrap());
            assert!(numbers(&place.at("in")) == numbers(&place.at(&back)), "{sample} {back}");
        }
    }
}

/// What is refused is named, with the reason, and nothing is written.
#[test]
fn what_a_layout_cannot_hold_is_refused() {
    for (sample, layout, reason) in [
        ("gptq/desc-act", "compressed-tensors", "act order"),
        ("gptq/bits2", "compressed-tensors", "its codes have 2 bits"),
        ("gptq/bits3", "compressed-tensors", "its codes have 3 bits"),
        ("gptq/bits8", "awq", "its codes have 8 bits, AWQ has 4"),
        ("gptq/dynamic", "compressed-tensors", "its codes have 2 bits"),
        ("gptq/v2", "gptq", "is laid out as gptq already"),
        ("gptq/v2", "other", "there is no layout `other`"),
        ("compressed/old-actorder", "gptq", "act order"),
        ("compressed/experts", "gptq", "stack of matrices"),
        ("compressed/mixed", "gptq", "no whole numbers"),
        ("compressed/w8a8", "gptq", "activations"),
        ("mx/gpt-oss", "compressed-tensors", "no other layout holds"),
        ("fp8/hf-block", "compressed-tensors", "no other layout holds"),
    ] {
        let error = Place::with(&format!("tests/files/{sample}")).refused(layout);
        assert!(error.to_string().contains(reason), "{sample}: {error}");
    }
}
