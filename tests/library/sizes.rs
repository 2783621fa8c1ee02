//! What a report says a model would take in other types.

use weighbridge::ops::{InspectOptions, inspect};
use weighbridge::{Model, Weight};

use crate::common::root;

/// llama.cpp's converter wrote the model with `--outtype q8_0`. It stores rows that are not made of whole
/// blocks in F16, where the rule here says F32.
#[test]
fn q8_0_is_what_the_converter_of_llama_cpp_stores() {
    let folder = root().join("tests/files/names/qwen3-q8");
    let source = Model::open(folder.join("hf")).unwrap();
    let written = Model::open(folder.join("model.gguf")).unwrap();
    let bytes = |weight: Weight| match weight.variant() {
        "F16" => weight.elements() * 4,
        _ => weight.stored_bytes(),
    };
    let stored: u64 = written.weights().map(bytes).sum();
    let report = inspect(&source, &InspectOptions::default()).unwrap();
    assert_eq!(report.decoded_bytes.q8_0, stored);
    assert!(written.weights().any(|weight| weight.variant() == "Q8_0"));
}

/// Integers stay as they are stored, and so they are counted.
#[test]
fn integers_are_not_quantized() {
    let model = Model::open(root().join("tests/files/gguf/tensor-types.gguf")).unwrap();
    let options = InspectOptions {
        select: weighbridge::Select::new().include(|name| name.starts_with("plain.int")),
        ..InspectOptions::default()
    };
    let report = inspect(&model, &options).unwrap();
    assert_eq!(report.decoded_bytes.q8_0, 36 + 72 + 144 + 288);
    assert_eq!(report.metadata_types["general.architecture"], "string");
}
