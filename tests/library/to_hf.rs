//! GGUF files as repositories: what llama.cpp's converter made of a model becomes that model again,
//! and its file again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};
use weighbridge::{DType, Model, OpenOptions, Source, Stores, Weight};

use crate::common::root;

fn folder(family: &str) -> PathBuf {
    root().join("tests/files/to-gguf").join(family)
}

fn open(path: &Path) -> Model {
    OpenOptions::new().stores(Stores::none()).open(path).unwrap()
}

/// The repository that a GGUF file becomes.
fn repository(
    gguf: &Path,
    options: impl Fn(ConvertOptions) -> ConvertOptions,
) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let chosen = options(ConvertOptions::new(place.path().join("out")).names(Names::Hf));
    let report = ops::convert(&open(gguf), &chosen.verify(true)).unwrap();
    assert!(report.verified.unwrap().ok, "{}", gguf.display());
    place
}

/// Weights that a repository has, and its file does not: heads that are the embedding.
fn is_tied(name: &str, family: &str) -> bool {
    name == "lm_head.weight" && family.starts_with("gemma")
}

/// Every weight of the source, in its own type, to the bit.
fn check_weights(family: &str, made: &Model, source: &Model) {
    let wanted: BTreeMap<String, Weight> =
        source.weights().map(|weight| (weight.name().to_owned(), weight)).collect();
    let mut count = 0;
    for weight in made.weights() {
        let what = format!("{family} {}", weight.name());
        let original = wanted.get(weight.name()).unwrap_or_else(|| panic!("{what} is new"));
        assert_eq!(weight.shape(), original.shape(), "{what}");
        assert_eq!(weight.native(), original.native(), "{what}");
        let dtype = original.native().unwrap();
        let (a, b) = (weight.read_to_vec(dtype).unwrap(), original.read_to_vec(dtype).unwrap());
        // Of a norm that had one added to it, smaller numbers are lost.
        let is_norm = family.starts_with("gemma") && what.contains("norm");
        let same = a == b || is_norm && differs_below(&weight, original, (-16.0_f32).exp2());
        assert!(same, "{what}: other numbers");
        count += 1;
    }
    let carried = wanted.keys().filter(|name| !is_tied(name, family)).count();
    assert_eq!(count, carried, "{family}");
}

fn differs_below(a: &Weight, b: &Weight, least: f32) -> bool {
    let (a, b) = (a.decode_to_vec::<f32>().unwrap(), b.decode_to_vec::<f32>().unwrap());
    a.iter().zip(&b).all(|(a, b)| a == b || (a.abs() < least && b.abs() < least))
}

/// Entries that do not come back, and why.
const LOST: &[(&str, &str)] = &[("general.", "names, licences and cards are for people")];

/// The file of the repository is the file that the repository was made of.
fn check_again(family: &str, made: &Model, golden: &Model, dtype: OutputType) {
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(dtype);
    let mut bytes = Vec::new();
    ops::convert_to(made, &options, &mut bytes).unwrap();
    let again = OpenOptions::new().open_bytes(bytes, "again.gguf").unwrap();
    let (ours, theirs) = (&again.sources()[0], &golden.sources()[0]);
    let tensors = |source: &Source| -> BTreeMap<String, (Vec<u64>, Vec<u8>)> {
        let of = |tensor: &weighbridge::catalog::TensorInfo| {
            let bytes = crate::common::tensor_bytes(source, tensor).unwrap();
            (tensor.name.to_string(), (tensor.shape.to_vec(), bytes))
        };
        source.catalog().tensors.iter().map(of).collect()
    };
    let (ours_by_name, theirs_by_name) = (tensors(ours), tensors(theirs));
    let names = |all: &BTreeMap<String, _>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours_by_name), names(&theirs_by_name), "{family}");
    for (name, tensor) in &ours_by_name {
        assert!(*tensor == theirs_by_name[name], "{family} {name}: other numbers");
    }
    let entries = |source: &Source| -> BTreeMap<String, Value> {
        let wanted = source.catalog().metadata.iter();
        let wanted =
            wanted.filter(|(key, _)| !LOST.iter().any(|(start, _)| key.starts_with(start)));
        wanted.map(|(key, value)| (key.to_owned(), whole(source, value))).collect()
    };
    let (ours, theirs) = (entries(ours), entries(theirs));
    for key in ours.keys().chain(theirs.keys()) {
        assert_eq!(ours.get(key), theirs.get(key), "{family} {key}");
    }
}

fn whole(source: &Source, value: &Value) -> Value {
    match value {
        Value::Array(array) => Value::List(source.array(array).unwrap()),
        other => other.clone(),
    }
}

/// Every file of the converter's that keeps all numbers of a family's model becomes that model
/// again.
fn check(family: &str) {
    let home = folder(family);
    let source = open(&home.join("hf"));
    let stored =
        source.weights().find(|weight| weight.shape().len() > 1).unwrap().native().unwrap();
    let own = match stored {
        DType::BF16 => OutputType::Bf16,
        DType::F16 => OutputType::F16,
        _ => OutputType::F32,
    };
    let mut checked = 0;
    for (name, dtype) in [
        ("f32", OutputType::F32),
        ("bf16", OutputType::Bf16),
        ("f16", OutputType::F16),
        ("auto", if own == OutputType::Bf16 { own } else { OutputType::F16 }),
    ] {
        let golden = home.join(format!("model-{name}.gguf"));
        if !golden.exists() || name != "f32" && dtype != own {
            continue;
        }
        // What is stored in the model's type becomes that by itself.
        let asked = if dtype == own { OutputType::Auto } else { own };
        let place = repository(&golden, |options| options.dtype(asked));
        let made = open(&place.path().join("out"));
        check_weights(family, &made, &source);
        for entry in fs::read_dir(home.join("hf")).unwrap() {
            let entry = entry.unwrap();
            let to = place.path().join("out").join(entry.file_name());
            if !to.exists() {
                fs::copy(entry.path(), to).unwrap();
            }
        }
        check_again(family, &made, &open(&golden), dtype);
        checked += 1;
    }
    assert!(checked > 0, "there is nothing to check {family} with");
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
    phi3: "phi3",
    granite: "granite",
    smollm3: "smollm3",
    olmo2: "olmo2",
    starcoder2: "starcoder2",
    cohere2: "cohere2",
    qwen2_moe: "qwen2_moe",
    glm4: "glm4",
}
