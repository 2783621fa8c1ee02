//! Quantized Hugging Face models as GGUF files, where llama.cpp's converter has nothing to compare
//! with: the numbers of the file are those that the model's own scheme decodes.

use std::path::{Path, PathBuf};

use weighbridge::ops::{self, ConvertOptions, DiffOptions, Names, OutputType};
use weighbridge::{Model, OpenOptions, Stores};

use crate::common::root;

fn model(name: &str) -> Model {
    let path = root().join("tests/files/to-gguf").join(name).join("hf");
    OpenOptions::new().stores(Stores::none()).open(path).unwrap()
}

/// Converts a model, has the file verified, and gives it.
fn converted(model: &Model, dtype: OutputType, place: &Path) -> PathBuf {
    let out = place.join("out.gguf");
    let options = ConvertOptions::new(&out).names(Names::Gguf).dtype(dtype).verify(true);
    let report = ops::convert(model, &options).unwrap();
    assert!(report.verified.unwrap().ok);
    out
}

/// Every weight of both, by their names.
fn check(name: &str, dtype: OutputType, scheme: &str) {
    let place = tempfile::tempdir().unwrap();
    let model = model(name);
    assert!(model.weights().any(|weight| weight.scheme() == scheme), "{name}");
    let made = OpenOptions::new().open(converted(&model, dtype, place.path())).unwrap();
    let report = ops::diff(&model, &made, &DiffOptions::default()).unwrap();
    let found = &report.summary;
    assert!(report.ok && found.compared > 5, "{name}: {found:?}");
    let equal = found.identical + found.equal_after_rounding;
    // Where codes are moved, a factor beside them is multiplied with in another order.
    let moved = if dtype == OutputType::Auto { found.within_precision } else { 0 };
    assert_eq!(equal + moved, found.compared, "{name}: {found:?}");
}

macro_rules! stored {
    ($($test:ident: $name:literal $scheme:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name, OutputType::F32, $scheme);
            check($name, OutputType::Auto, $scheme);
        })*
    };
}

stored! {
    awq: "llama-awq" "awq",
    four_bits: "llama-nf4" "bnb",
    eight_bits: "llama-int8" "bnb",
    mlx: "llama-mlx" "mlx",
    one_scale: "llama-fp8-tensor" "fp8",
    a_scale_for_each_row: "llama-fp8-channel" "compressed",
    blocks: "qwen3-fp8" "fp8",
    gptq: "llama-gptq" "gptq",
    gptq_experts: "mixtral-gptq" "gptq",
    small_floats: "llama-nvfp4" "nvfp4",
    packed_small_floats: "llama-nvfp4-packed" "compressed",
    experts_of_small_floats: "qwen3_moe-nvfp4" "nvfp4",
    transposed_experts: "gpt_oss-mxfp4" "mx",
}
