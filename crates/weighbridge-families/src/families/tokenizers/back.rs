//! Metadata to files and back: every sample, and every file of the converter's, gives the entries that
//! it was made from.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{as_json, document, kind, samples};
use crate::catalog::Value;
use crate::error::Result;
use crate::families::of_config;
use crate::testing;
use crate::tokenizer::back::{Written, files};
use crate::tokenizer::{Repository, TokenizerKind, entries};

/// Entries by key.
pub(super) type Entries = BTreeMap<String, Value>;

/// Keys of a sample that differ afterwards, and why.
const DIFFERENT: &[(&str, &[&str], &str)] = &[
    ("arctic", &[BOS, EOS, TYPES], ASSUMED),
    ("arctic-more", &[BOS, EOS, TYPES], ASSUMED),
    ("grok", &[BOS, EOS], ASSUMED),
    ("hunyuan_dense", &[EOS, EOT], NAMED),
    ("hunyuan_dense-plain", &[EOS, EOT], NAMED),
    ("hunyuan_moe", &[BOS, SEPARATOR], NAMED),
    ("hunyuan_moe-tied", &[BOS, SEPARATOR], NAMED),
    ("hunyuan_vl", &[EOT], NAMED),
    ("hunyuan_vl-head", &[EOT], NAMED),
    ("laguna", &[EOT], NAMED),
    ("laguna-open", &[EOT], NAMED),
    ("deepseek-coder", &[TYPES, TEXTS], LOST),
    ("deepseek-llm", &[TYPES, TEXTS], LOST),
    ("deepseek-v3", &[TYPES, TEXTS], LOST),
    ("falcon", &[BOS, EOS], NAMED),
    ("internlm2", &[SCORES, TYPES], REPLACED),
    ("internlm2-base", &[SCORES, TYPES], REPLACED),
    ("internlm2-one", &[SCORES, TYPES], REPLACED),
    ("gemma4", &[TYPES], VISIBLE),
    ("gemma4-experts", &[TYPES], VISIBLE),
    ("gemma4_unified", &["tokenizer.ggml.suppress_tokens", TYPES], VISIBLE),
    ("gemma4_unified-shared", &[TYPES], VISIBLE),
    ("gemma4_assistant", &[TYPES], VISIBLE),
    ("gemma4_assistant-ordered", &[TYPES], VISIBLE),
    ("llama-spm-prefix", &[BOS, EOS], ASSUMED),
    ("llama-spm-short", &[BOS, EOS], ASSUMED),
    (
        "no-config",
        &[ADD_BOS, ADD_EOS, "tokenizer.ggml.add_sep_token"],
        "tokens are added and none is named, so that nobody can know which",
    ),
    ("llada_moe", &[MASK], NAMED),
    ("llada_moe-grouped", &[MASK], NAMED),
    ("phi3", &[SCORES, TYPES, TEXTS], LOST),
    ("qwen-spm", &[BOS, EOS], ASSUMED),
    ("qwen2", &[BOS], NAMED),
    ("rnd1", &[MASK], NAMED),
    ("sarashina2_vision", &[BOS, EOS], ASSUMED),
    ("t5-gated", &[ADD_EOS, UNKNOWN], ASSUMED),
    ("t5-umt5-bare", &[ADD_EOS, UNKNOWN], ASSUMED),
    ("t5_encoder-relu", &[ADD_EOS, UNKNOWN], ASSUMED),
    (
        "xlm-roberta",
        &[TYPES, TEXTS],
        "the mask has its text again, and fillers count from one more where no file of pieces is",
    ),
    ("tekken-file", &[SCORES], UNUSED),
    ("tekken-listed", &[SCORES], UNUSED),
    (
        "template-ends",
        &["tokenizer.ggml.eot_token_id"],
        "no file of a tokenizer has a place for it",
    ),
];

pub(super) const TEXTS: &str = "tokenizer.ggml.tokens";
pub(super) const TYPES: &str = "tokenizer.ggml.token_type";
const SCORES: &str = "tokenizer.ggml.scores";
const BOS: &str = "tokenizer.ggml.bos_token_id";
const EOS: &str = "tokenizer.ggml.eos_token_id";
const SEPARATOR: &str = "tokenizer.ggml.seperator_token_id";
const EOT: &str = "tokenizer.ggml.eot_token_id";
const MASK: &str = "tokenizer.ggml.mask_token_id";
const ADD_EOS: &str = "tokenizer.ggml.add_eos_token";
const UNKNOWN: &str = "tokenizer.ggml.unknown_token_id";
const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";

const LOST: &str = "several tokens have one text, and a vocabulary can hold one of them";
const NAMED: &str = "an ordinary token is named by the config of the model alone";
const VISIBLE: &str = "files of a tokenizer mark an ordinary token that reads as a special one";
const UNUSED: &str = "scores that are all zero, which byte pairs do not have";
const REPLACED: &str = "a special token that two files name has the marks of the second one";
const ASSUMED: &str = "what readers assume is stated";

pub(super) fn written(entries: &Entries) -> Result<Written> {
    files(&|key| entries.get(key).cloned(), None)
}

/// The entries that are made of a repository with these files. Its config has no ids of tokens: they
/// have to be found in the files.
fn read_back(
    written: &Written,
    (kind, pre): (TokenizerKind, Option<&str>),
    config: &Json,
    count: usize,
) -> Result<Entries> {
    let by_name: HashMap<&str, &Vec<u8>> =
        written.files.iter().map(|(name, bytes)| (&**name, bytes)).collect();
    let files = |name: &str| Ok(by_name.get(name).map(|bytes| (*bytes).clone()));
    let mut config = config.clone();
    let map = config.as_object_mut().unwrap();
    map.retain(|key, _| !key.ends_with("_token_id"));
    let names = |folder: &str| {
        let inside = |(name, _): &(String, Vec<u8>)| {
            Some(name.strip_prefix(folder)?.strip_prefix('/')?.to_owned())
        };
        written.files.iter().filter_map(inside).collect()
    };
    let vocabulary = count as u64;
    let repository = Repository { files: &files, names: &names, config: &config, vocabulary };
    Ok(entries(&repository, kind, pre)?.into_iter().collect())
}

fn check(
    name: &str,
    before: &Entries,
    kind: (TokenizerKind, Option<&str>),
    config: &Json,
) -> Vec<String> {
    let count = before["tokenizer.ggml.tokens"].list_len().unwrap();
    let made = match written(before) {
        Ok(made) => made,
        Err(error) => return vec![format!("{name}: {error:?}")],
    };
    let after = match read_back(&made, kind, config, count) {
        Ok(after) => after,
        Err(error) => return vec![format!("{name}: back: {error:?}")],
    };
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let differs = |key: &&&String| before.get(**key) != after.get(**key);
    let shown = |key: &String| difference(key, before.get(key), after.get(key));
    let expected = DIFFERENT.iter().find(|(sample, ..)| *sample == name);
    let expected = expected.map_or(&[][..], |row| row.1).iter().copied();
    // Readers of pieces put a token before a text, unless they are told not to.
    let is_pieces = before["tokenizer.ggml.model"].as_str() == Some("llama");
    let stated = Some(ADD_BOS).filter(|key| is_pieces && !before.contains_key(*key));
    let found: Vec<&String> =
        keys.into_iter().filter(|key| key.starts_with("tokenizer.")).collect();
    let found: Vec<&String> = found.iter().filter(differs).copied().collect();
    if found.iter().map(|key| &***key).eq(stated.into_iter().chain(expected)) {
        return Vec::new();
    }
    found.into_iter().map(|key| format!("{name}: {}", shown(key))).collect()
}

fn difference(key: &str, before: Option<&Value>, after: Option<&Value>) -> String {
    let list = |value: Option<&Value>| value?.as_list().map(std::borrow::Cow::into_owned);
    if let (Some(a), Some(b)) = (list(before), list(after)) {
        let first = a.iter().zip(&b).position(|(a, b)| a != b);
        if let Some(at) = first {
            return format!("{key}[{at}] was {:?}, is {:?}", a[at], b[at]);
        }
        return format!("{key} had {} elements, has {}", a.len(), b.len());
    }
    format!("{key} was {before:?}, is {after:?}")
}

fn value(kind: &str, json: &Json) -> Value {
    match (kind.strip_prefix("array[").and_then(|kind| kind.strip_suffix(']')), kind) {
        (Some(kind), _) => {
            Value::List(json.as_array().unwrap().iter().map(|json| value(kind, json)).collect())
        }
        (_, "bool") => Value::Bool(json.as_bool().unwrap()),
        (_, "u32") => Value::Unsigned(32, json.as_u64().unwrap()),
        (_, "i32") => Value::Signed(32, json.as_i64().unwrap()),
        #[expect(clippy::cast_possible_truncation, reason = "it was an f32 before")]
        (_, "f32") => Value::F32(json.as_f64().unwrap() as f32),
        (_, "string") => Value::text(json.as_str().unwrap()),
        other => panic!("{other:?}"),
    }
}

/// What the converter wrote for a sample, and the rest of what is known about it.
fn expected(folder: &Path) -> (Entries, Json) {
    let expected = document(&folder.join("expected.json"));
    let entries = expected["entries"].as_array().unwrap().iter().map(|entry| {
        let text = |key: &str| entry[key].as_str().unwrap();
        (text("key").to_owned(), value(text("type"), &entry["value"]))
    });
    (entries.collect(), expected)
}

#[test]
fn samples_give_back_what_they_were_made_from() {
    let mut wrong = Vec::new();
    for folder in samples() {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (entries, expected) = expected(&folder);
        let config = document(&folder.join("config.json"));
        let kind = (kind(expected["kind"].as_str().unwrap()), expected["stated"].as_str());
        wrong.extend(check(&name, &entries, kind, &config));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All metadata of a file.
fn metadata(path: &Path) -> Entries {
    testing::metadata(&testing::open(path)).into_iter().collect()
}

fn folders(path: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files").join(path);
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn files_of_the_converter_give_back_their_metadata() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in folders("to-gguf").into_iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let config = document(&folder.join("hf/config.json"));
        let is_file = |path: &PathBuf| path.extension().is_some_and(|end| end == "gguf");
        let file = folders(&format!("to-gguf/{name}")).into_iter().find(is_file);
        // Some have no file of its own, or no tokenizer that can be written.
        let Some(file) = file else { continue };
        let entries = metadata(&file);
        let model = entries.get("tokenizer.ggml.model").and_then(Value::as_str);
        if matches!(model, None | Some("none" | "rwkv")) {
            continue;
        }
        // Nobody knows how to cut a text into pieces without scores, and files of PLaMo's go no way back.
        let kind = of_config(&config).unwrap_or_else(|| panic!("{config}")).tokenizer;
        if matches!(kind, TokenizerKind::BarePieces | TokenizerKind::Plamo { .. }) {
            continue;
        }
        // The way back does not write the token files of Qwen and Hunyuan. Another class reads its output.
        let kind = match kind {
            TokenizerKind::Tiktoken | TokenizerKind::Ranks => TokenizerKind::BytePairs(&[]),
            kind => kind,
        };
        wrong.extend(check(&name, &entries, (kind, None), &config));
        count += 1;
    }
    assert!(count > 10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Repositories of the GGUF files in a folder, and of the samples in it that are too large to be kept
/// here, each in a folder `NAME.back`, for programs of others to read.
#[test]
fn files_of_somebody_become_repositories() {
    let Some(folder) = std::env::var_os("TOKENIZERS_BACK") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let entries = match path.extension().is_some_and(|end| end == "gguf") {
            true => metadata(&path),
            false if path.join("expected.json").exists() => expected(&path).0,
            false => continue,
        };
        let start = std::time::Instant::now();
        let made = written(&entries);
        let (home, seconds) = (path.with_extension("back"), start.elapsed().as_secs_f64());
        std::fs::create_dir_all(&home).unwrap();
        let report = match made {
            Ok(made) => {
                for (name, bytes) in &made.files {
                    std::fs::write(home.join(name), bytes).unwrap();
                }
                json!({ "seconds": seconds, "not_carried": made.not_carried })
            }
            Err(error) => json!({ "refused": error.message() }),
        };
        std::fs::write(home.join("report.json"), report.to_string()).unwrap();
    }
}

/// Entries of a small byte-level tokenizer, with some of them changed.
fn changed(changes: &[(&str, Value)]) -> Entries {
    let list = |values: &[Value]| Value::List(values.to_vec());
    let tokens = ["a", "b", "ab", "<s>"].map(Value::text);
    let kinds = [1, 1, 1, 3].map(|kind| Value::Signed(32, kind));
    let mut entries = Entries::from([
        ("tokenizer.ggml.model".to_owned(), Value::text("gpt2")),
        ("tokenizer.ggml.pre".to_owned(), Value::text("gpt-2")),
        ("tokenizer.ggml.tokens".to_owned(), list(&tokens)),
        ("tokenizer.ggml.token_type".to_owned(), list(&kinds)),
        ("tokenizer.ggml.merges".to_owned(), list(&[Value::text("a b")])),
    ]);
    entries.extend(changes.iter().map(|(key, value)| (format!("tokenizer.{key}"), value.clone())));
    entries
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |key: &str, value: Value| {
        let error = written(&changed(&[(key, value)])).err().unwrap();
        error.message().to_owned()
    };
    let texts = |texts: &[&str]| Value::List(texts.iter().map(|text| Value::text(*text)).collect());
    let number = |number: u64| Value::Unsigned(32, number);
    assert!(written(&changed(&[])).is_ok());
    let cases = [
        (
            "ggml.model",
            Value::text("rwkv"),
            "`tokenizer.ggml.model` is `rwkv`, which is not supported",
        ),
        ("ggml.pre", Value::text("new"), "`new` is not a known pre-tokenizer"),
        ("ggml.tokens", texts(&["a", "b", "a", "<s>"]), "tokens 0 and 2 are both `a`"),
        ("ggml.tokens", texts(&["a", "b"]), "4 types for 2 tokens"),
        ("ggml.tokens", texts(&["a", "b", "ab", ""]), "added token 3 has no text"),
        ("ggml.tokens", number(4), "`tokenizer.ggml.tokens` is u32, expected a list"),
        ("ggml.scores", Value::List(vec![Value::F32(0.0)]), "1 scores for 4 tokens"),
        ("ggml.token_type", Value::List(vec![number(9); 4]), "token 0 has unknown type 9"),
        (
            "ggml.merges",
            texts(&["a <s>"]),
            "merge 0, `a <s>`, does not join two tokens into a third",
        ),
        ("ggml.merges", texts(&["ab"]), "merge 0, `ab`, does not join two tokens into a third"),
        ("ggml.merges", texts(&[""]), "merge 0, ``, does not join two tokens into a third"),
        ("chat_templates", texts(&["x"]), "no chat template named `x`"),
    ];
    for (key, value, message) in cases {
        assert_eq!(refused(key, value), message);
    }
}

#[test]
fn pieces_that_nobody_has_are_refused() {
    let long = "a".repeat(2000);
    let tokens = ["a", "b", &long, "<s>"].map(Value::text);
    let scores = vec![Value::F32(0.0); 4];
    let mut changes = vec![
        ("ggml.model", Value::text("llama")),
        ("ggml.tokens", Value::List(tokens.to_vec())),
        ("ggml.scores", Value::List(scores)),
    ];
    let error = written(&changed(&changes)).err().unwrap();
    assert_eq!(error.message(), "token 2 is implausibly long: 2000 bytes");
    changes.truncate(1);
    let error = written(&changed(&changes)).err().unwrap();
    assert_eq!(error.message(), "the file has no `tokenizer.ggml.scores`");
}

#[test]
fn an_id_that_no_token_has_is_noted() {
    let mut entries = changed(&[("ggml.bos_token_id", Value::Unsigned(32, 4))]);
    let eot = ("tokenizer.ggml.eot_token_id".to_owned(), Value::Unsigned(32, 32010));
    entries.extend([eot]);
    let made = written(&entries).unwrap();
    let said = "which none of the 4 tokens has; the tokenizer has no";
    assert_eq!(
        made.notes,
        [
            format!("the bos token has ID 4, {said} bos token"),
            format!("the eot token has ID 32010, {said} eot token"),
        ]
    );
    assert!(!made.files.iter().any(|(_, text)| String::from_utf8_lossy(text).contains("bos")));
}

#[test]
fn what_has_no_place_is_listed() {
    let changes = [
        ("ggml.fim_pre_token_id", Value::Unsigned(32, 3)),
        ("ggml.add_eos_token", Value::Bool(true)),
    ];
    let listed = written(&changed(&changes)).unwrap().not_carried;
    assert_eq!(listed[0], "the fim_pre token: `<s>`, ID 3");
    assert_eq!(listed[1], "adding the eos token to a text: the file names no such token");
}

#[test]
fn values_are_read_as_they_were_written() {
    let list = value("array[f32]", &json!([-1.5, 0.0]));
    assert_eq!(as_json(&list), json!([-1.5, 0.0]));
}
