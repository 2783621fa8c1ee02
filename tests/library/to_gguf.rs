//! Hugging Face models as GGUF files, against what llama.cpp's own converter makes of them: the same
//! tensors in the same order, to the byte, and the same metadata in type and value.

use std::path::{Path, PathBuf};

use crate::common::root;
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};
use weighbridge::{Model, OpenOptions, Source, Stores};

/// Keys that the converter takes from the name of the folder that a model lies in.
const BY_FOLDER: [&str; 5] =
    ["general.name", "general.basename", "general.finetune", "general.version", "general.size_label"];

fn folder(family: &str) -> PathBuf {
    root().join("tests/files/to-gguf").join(family)
}

fn open(path: &Path) -> Model {
    OpenOptions::new().stores(Stores::none()).open(path).unwrap()
}

/// Converts a family's model into every type that there is a file of the converter's for.
fn check(family: &str) {
    let home = folder(family);
    let model = open(&home.join("hf"));
    let types = [
        ("auto", OutputType::Auto),
        ("f32", OutputType::F32),
        ("f16", OutputType::F16),
        ("bf16", OutputType::Bf16),
    ];
    let mut checked = 0;
    for (name, dtype) in types {
        let golden = home.join(format!("model-{name}.gguf"));
        if golden.exists() {
            let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(dtype);
            let mut bytes = Vec::new();
            ops::convert_to(&model, &options, &mut bytes).unwrap();
            let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
            compare(&made, &open(&golden), &format!("{family} {name}"));
            checked += 1;
        }
    }
    assert!(checked > 0, "there is nothing to compare {family} with");
}

fn compare(made: &Model, golden: &Model, what: &str) {
    let (ours, theirs) = (&made.sources()[0], &golden.sources()[0]);
    let names = |source: &Source| -> Vec<String> {
        source.catalog().tensors.iter().map(|tensor| tensor.name.to_string()).collect()
    };
    assert_eq!(names(ours), names(theirs), "{what}");
    for (a, b) in ours.catalog().tensors.iter().zip(&theirs.catalog().tensors) {
        let what = format!("{what} {}", a.name);
        assert_eq!((&a.shape, &a.stored), (&b.shape, &b.stored), "{what}");
        assert!(bytes(ours, a) == bytes(theirs, b), "{what}: other bytes");
    }
    let entries = |source: &Source| -> Vec<(String, Value)> {
        let all = source.catalog().metadata.iter();
        let wanted = all.filter(|(key, _)| !BY_FOLDER.contains(key));
        wanted.map(|(key, value)| (key.to_owned(), whole(source, value))).collect()
    };
    let (ours, theirs) = (entries(ours), entries(theirs));
    let keys = |all: &[(String, Value)]| all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&theirs), "{what}");
    for ((key, a), (_, b)) in ours.iter().zip(&theirs) {
        assert_eq!(a, b, "{what} {key}");
    }
}

fn whole(source: &Source, value: &Value) -> Value {
    match value {
        Value::Array(array) => Value::List(source.array(array).unwrap()),
        other => other.clone(),
    }
}

fn bytes(source: &Source, tensor: &weighbridge::catalog::TensorInfo) -> Vec<u8> {
    crate::common::tensor_bytes(source, tensor).unwrap()
}

macro_rules! families {
    ($($test:ident: $family:literal,)*) => {
        $(#[test]
        fn $test() {
            check($family);
        })*
    };
}

families! {
    llama: "llama",
    llama_with_sentencepiece: "llama-sentencepiece",
    mistral: "mistral",
    mixtral: "mixtral",
    qwen2: "qwen2",
    qwen3: "qwen3",
    qwen3_moe: "qwen3_moe",
    gemma: "gemma",
    gemma2: "gemma2",
    gemma3: "gemma3",
}
