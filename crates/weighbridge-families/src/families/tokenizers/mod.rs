//! Every sample under `tests/files/tokenizers` against what the converter made of it.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::families::called;
use crate::tokenizer::{Repository, TokenizerKind, entries, known_vocabulary};

mod back;
mod unnamed;

/// Files that may be damaged.
const FILES: [&str; 8] = [
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer_config.json",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "tekken.json",
];

pub(super) fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/tokenizers");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

pub(super) fn kind(name: &str) -> TokenizerKind {
    match name {
        "llama-like" => TokenizerKind::LlamaLike,
        "qwen-like" => TokenizerKind::PiecesOrPairs,
        "byte-pairs" => TokenizerKind::BytePairs(&[]),
        "glm" => kind("glm4"),
        family => called(family).unwrap_or_else(|| panic!("{family}")).tokenizer,
    }
}

pub(super) fn document(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub(super) fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    match std::fs::read(folder.join(name)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(error, "cannot read")),
    }
}

fn names(folder: &Path, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join(name)).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn found(folder: &Path, expected: &Json) -> Result<Vec<(String, Value)>> {
    let config = document(&folder.join("config.json"));
    let inner = config.get("text_config").unwrap_or(&config);
    let repository = Repository {
        files: &|name| read(folder, name),
        names: &|name| names(folder, name),
        config: &config,
        vocabulary: inner["vocab_size"].as_u64().unwrap(),
    };
    let stated = expected["stated"].as_str();
    entries(&repository, kind(expected["kind"].as_str().unwrap()), stated)
}

pub(super) fn as_json(value: &Value) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::Unsigned(_, value) => json!(value),
        Value::Signed(_, value) => json!(value),
        Value::F32(value) => json!(f64::from(*value)),
        Value::Text(text) => json!(text),
        list => list.as_list().unwrap().iter().map(as_json).collect(),
    }
}

fn compare(folder: &Path) {
    let expected = document(&folder.join("expected.json"));
    let name = folder.file_name().unwrap().to_string_lossy();
    let found = found(folder, &expected).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let wanted = expected["entries"].as_array().unwrap();
    let keys: Vec<&str> = found.iter().map(|(key, _)| &**key).collect();
    let wanted_keys: Vec<&str> = wanted.iter().map(|one| one["key"].as_str().unwrap()).collect();
    assert_eq!(keys, wanted_keys, "{name}");
    for ((key, value), wanted) in found.iter().zip(wanted) {
        assert_eq!(value.type_name(), wanted["type"].as_str().unwrap(), "{name}: {key}");
        let value = as_json(value);
        if let (Json::Array(a), Json::Array(b)) = (&value, &wanted["value"]) {
            assert_eq!(a.len(), b.len(), "{name}: {key}");
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                assert_eq!(a, b, "{name}: {key}[{index}]");
            }
        }
        assert_eq!(value, wanted["value"], "{name}: {key}");
    }
}

#[test]
fn samples_are_what_the_converter_writes() {
    let samples = samples();
    assert!(samples.len() > 10);
    samples.iter().for_each(|sample| compare(sample));
}

/// A folder of whole vocabularies that are too large to be kept here, where somebody has one.
#[test]
fn whole_vocabularies_are_what_the_converter_writes() {
    let Some(folder) = std::env::var_os("WHOLE_TOKENIZERS") else { return };
    let mut wrong = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let outcome = std::panic::catch_unwind(|| {
            compare(&path);
            compare_hash(&path);
        });
        println!("{} {}", path.display(), if outcome.is_ok() { "agrees" } else { "differs" });
        wrong += usize::from(outcome.is_err());
    }
    assert_eq!(wrong, 0);
}

/// The converter knows byte pairs and word pieces by a hash, and so they must be known here.
fn compare_hash(folder: &Path) {
    let expected = document(&folder.join("expected.json"));
    let value = |key: &str| {
        let entries = expected["entries"].as_array().unwrap();
        entries.iter().find(|one| one["key"] == key).unwrap()["value"].clone()
    };
    if !["gpt2", "bert"].contains(&value("tokenizer.ggml.model").as_str().unwrap()) {
        return;
    }
    let config = document(&folder.join("config.json"));
    let (read, names) = (|name: &str| read(folder, name), |name: &str| names(folder, name));
    let repository = Repository { files: &read, names: &names, config: &config, vocabulary: 0 };
    let known = known_vocabulary(&repository);
    assert_eq!(known, value("tokenizer.ggml.pre").as_str(), "{}", folder.display());
}

/// Files are cut at many places: an error, or whatever is left of them, and no panic.
#[test]
fn damaged_files_are_refused() {
    for folder in samples() {
        let expected = document(&folder.join("expected.json"));
        let config = document(&folder.join("config.json"));
        let kind = kind(expected["kind"].as_str().unwrap());
        for name in FILES {
            let Some(whole) = read(&folder, name).unwrap() else { continue };
            for step in 0..7 {
                let end = whole.len() * step / 7;
                let cut = |file: &str| {
                    if file == name { Ok(Some(whole[..end].to_vec())) } else { read(&folder, file) }
                };
                let none = |_: &str| Vec::new();
                let repository =
                    Repository { files: &cut, names: &none, config: &config, vocabulary: 1 << 10 };
                let _ = entries(&repository, kind, None);
            }
        }
    }
}

#[test]
fn what_has_no_place_is_refused_by_name() {
    let refused = |tokenizer: &Json, vocabulary: u64| {
        let text = tokenizer.to_string().into_bytes();
        let files = |name: &str| Ok((name == "tokenizer.json").then(|| text.clone()));
        let none = |_: &str| Vec::new();
        let repository = Repository { files: &files, names: &none, config: &json!({}), vocabulary };
        let error = entries(&repository, TokenizerKind::BytePairs(&[]), Some("gpt-2")).unwrap_err();
        error.message().to_owned()
    };
    let model = json!({ "vocab": { "a": 0, "b": 1 }, "merges": [] });
    let far = json!({ "model": { "vocab": { "a": 0, "far": 9 }, "merges": [] } });
    assert_eq!(refused(&far, 2), "token `far` has ID 9, but the model has 2 tokens");
    let same = json!({ "model": { "vocab": { "a": 1, "b": 1 }, "merges": [] } });
    assert_eq!(refused(&same, 2), "tokens `a` and `b` have the same ID 1");
    let gap = json!({ "model": model, "added_tokens": [{ "id": 7, "content": "<x>" }] });
    let message = "added token `<x>` has ID 7, but its position is 2";
    assert_eq!(refused(&gap, 9), message);
    let merge = json!({ "model": { "vocab": {}, "merges": [["a", "b"], "c d"] } });
    assert_eq!(refused(&merge, 2), "merge `\"c d\"` does not have two parts");
    let unknown = json!({ "model": { "vocab": { "a": 0 }, "merges": [["a", "c"]] } });
    assert_eq!(refused(&unknown, 2), "merge `a c`: `c` is not in the vocabulary");
    let none = json!({ "model": model, "added_tokens": [{ "id": -1, "content": "<x>" }] });
    assert_eq!(refused(&none, 9), "added token `<x>` has the invalid ID -1");
    let other = json!({ "model": { "type": "WordPiece", "vocab": {}, "merges": [] } });
    assert_eq!(refused(&other, 2), "tokenizer.json has type `WordPiece`, expected `BPE`");
    let bare = json!({ "model": { "type": "BPE", "vocab": {} } });
    assert_eq!(refused(&bare, 2), "its model has type `BPE`, but no list of merges");
    assert_eq!(refused(&gap, 1 << 40), "implausible vocabulary size: 1099511627776 tokens");
    assert_eq!(refused(&json!([]), 2), "it is not a JSON object");
}
