//! Files that do not name their pre-tokenizers: what is guessed, refused, and stated by somebody else.

use std::path::Path;

use serde_json::Value as Json;

use super::back::{Entries, TEXTS, TYPES, written};
use super::document;
use crate::catalog::Value;
use crate::error::{Remedy, Result};
use crate::tokenizer::back::{Written, files};

const MERGES: &str = "tokenizer.ggml.merges";
const PRE: &str = "tokenizer.ggml.pre";

/// The notes on a tokenizer, or why it is refused.
fn notes(entries: &Entries, pre: Option<&str>) -> Result<Vec<String>> {
    files(&|key| entries.get(key).cloned(), pre).map(|made| made.notes)
}

/// Real vocabularies, of which the tokens are left that the converter's test text needs, and the names
/// that the converter gave them.
fn unnamed() -> Vec<(String, Entries)> {
    let path = "../../tests/files/to-gguf/unnamed.json";
    let all = document(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
    let texts = |list: &Json| {
        let texts = list.as_array().unwrap().iter();
        Value::List(texts.map(|text| Value::text(text.as_str().unwrap())).collect())
    };
    let of = |one: &Json| {
        let count = usize::try_from(one["count"].as_u64().unwrap()).unwrap();
        let mut tokens: Vec<Value> =
            (0..count).map(|id| Value::text(format!("[PAD{id}]"))).collect();
        let mut kinds = vec![Value::Signed(32, 5); count];
        for token in one["tokens"].as_array().unwrap() {
            let id = usize::try_from(token[0].as_u64().unwrap()).unwrap();
            tokens[id] = Value::text(token[1].as_str().unwrap());
            kinds[id] = Value::Signed(32, token[2].as_i64().unwrap());
        }
        let ids = ["bos", "eos"].into_iter().filter_map(|kind| {
            let id = Value::Unsigned(32, one[kind].as_u64()?);
            Some((format!("tokenizer.ggml.{kind}_token_id"), id))
        });
        let text = |key: &str| Value::text(one[key].as_str().unwrap());
        let mut entries: Entries = ids.collect();
        entries.extend([
            ("general.architecture".to_owned(), text("architecture")),
            ("tokenizer.ggml.model".to_owned(), Value::text("gpt2")),
            (TEXTS.to_owned(), Value::List(tokens)),
            (TYPES.to_owned(), Value::List(kinds)),
            (MERGES.to_owned(), texts(&one["merges"])),
        ]);
        (one["name"].as_str().unwrap().to_owned(), entries)
    };
    all.as_array().unwrap().iter().map(of).collect()
}

/// `tokenizer.json`.
fn tokenizer(made: &Written) -> &[u8] {
    &made.files.iter().find(|(name, _)| name == "tokenizer.json").unwrap().1
}

#[test]
fn a_known_vocabulary_tells_its_pre_tokenizer() {
    let all = unnamed();
    assert!(all.len() > 5);
    for (name, mut entries) in all {
        let guessed = written(&entries).unwrap();
        let reason = format!("the vocabulary is one that llama.cpp's converter calls `{name}`");
        assert_eq!(
            guessed.notes,
            [format!("`{PRE}` is not stated; `{name}` is assumed: {reason}")]
        );
        // llama.cpp's name for what nobody stated is no statement.
        entries.insert(PRE.to_owned(), Value::text("default"));
        assert_eq!(written(&entries).unwrap().notes, guessed.notes);
        entries.insert(PRE.to_owned(), Value::text(&*name));
        let stated = written(&entries).unwrap();
        assert!(stated.notes.is_empty() && tokenizer(&stated) == tokenizer(&guessed), "{name}");
    }
}

/// A vocabulary that nobody knows: the first of its merges is the last.
fn unknown(name: &str, more: &[(&str, i64)]) -> Entries {
    let (_, mut entries) = unnamed().into_iter().find(|(known, _)| known == name).unwrap();
    let list = |entries: &mut Entries, key: &str, change: &dyn Fn(&mut Vec<Value>)| {
        let Some(Value::List(list)) = entries.get_mut(key) else { panic!("{key}") };
        change(list);
    };
    list(&mut entries, MERGES, &|merges| merges.reverse());
    list(&mut entries, TEXTS, &|texts| {
        texts.extend(more.iter().map(|(text, _)| Value::text(*text)));
    });
    list(&mut entries, TYPES, &|kinds| {
        kinds.extend(more.iter().map(|(_, kind)| Value::Signed(32, *kind)));
    });
    entries
}

#[test]
fn an_unknown_vocabulary_needs_the_special_tokens_of_its_architecture() {
    let refused = |entries: &Entries| {
        let error = notes(entries, None).unwrap_err();
        assert_eq!(error.remedies(), [Remedy::StatePreTokenizer]);
        error.message().to_owned()
    };
    let message = "the file does not name its pre-tokenizer (`tokenizer.ggml.pre`), and its \
                   vocabulary is not a known one";
    assert_eq!(refused(&unknown("qwen2", &[])), message);
    let special = ("<|im_start|>", 3);
    let guessed = notes(&unknown("qwen2", &[special]), None).unwrap();
    let reason = "the architecture is `qwen2`, and `<|im_start|>` is a token";
    assert_eq!(guessed, [format!("`{PRE}` is not stated; `qwen2` is assumed: {reason}")]);
    // Qwen's digits stand alone.
    assert_eq!(refused(&unknown("qwen2", &[special, ("12", 1)])), message);
    // Many architectures' models have this one.
    assert_eq!(refused(&unknown("deepseek-llm", &[special])), message);
}

#[test]
fn a_stated_pre_tokenizer_decides() {
    let mut entries = unknown("llama-bpe", &[]);
    assert!(notes(&entries, Some("smaug-bpe")).unwrap().is_empty());
    entries.insert(PRE.to_owned(), Value::text("llama-bpe"));
    assert!(notes(&entries, Some("dbrx")).unwrap().is_empty());
    let said = notes(&entries, Some("qwen2")).unwrap();
    assert_eq!(said, [format!("`{PRE}` is `llama-bpe` in the file; `qwen2` is used")]);
    let error = notes(&entries, Some("none")).unwrap_err();
    assert_eq!(error.message(), "`none` is not a known pre-tokenizer");
    entries.insert("tokenizer.ggml.model".to_owned(), Value::text("bert"));
    let error = notes(&entries, Some("qwen2")).unwrap_err();
    assert_eq!(error.message(), "tokenizers of kind `bert` have no pre-tokenizer to name");
}
