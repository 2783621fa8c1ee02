//! Compares what decides about a model's output beside its weights: the settings of its config, its
//! tokenizer and its chat template.
//!
//! Two repositories are compared by their configs and tokenizer files, two GGUF files by their
//! metadata. Between the two, the metadata is computed that a conversion of the repository writes.

use serde_json::Value as Json;

use super::report::Setting;
use crate::config;
use crate::model::Model;
use crate::ops::conversion::described;

mod counts;
mod gguf;
mod repository;
mod tokenizer;

/// Settings that differ, and notes on what was not compared.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) settings: Vec<Setting>,
    pub(super) notes: Vec<String>,
}

/// A setting of one side.
type Entry = (String, Json);

/// Compares the settings of two models.
pub(super) fn compare(a: &Model, b: &Model) -> Compared {
    let mut found = Compared::default();
    match [a, b].map(Form::of) {
        [Form::Gguf, Form::Gguf] => gguf::compare([a, b], &mut found),
        [Form::Repository, Form::Repository] => repository::compare([a, b], &mut found),
        [Form::Repository, Form::Gguf] => across(a, b, false, &mut found),
        [Form::Gguf, Form::Repository] => across(b, a, true, &mut found),
        [Form::Unknown, Form::Unknown] => {}
        [Form::Unknown, _] => found.not_compared("A has no config"),
        [_, Form::Unknown] => found.not_compared("B has no config"),
    }
    found
}

/// Where a model has its settings.
enum Form {
    /// In the metadata of a GGUF file.
    Gguf,
    /// In the config of a repository.
    Repository,
    /// Nowhere.
    Unknown,
}

impl Form {
    fn of(model: &Model) -> Self {
        let metadata = model.metadata();
        if metadata.iter().any(|(key, ..)| *key == "general.architecture") {
            return Self::Gguf;
        }
        let config = config::find(model.configs(), config::HUGGING_FACE);
        match config.and_then(|config| config.get("model_type")) {
            Some(_) => Self::Repository,
            None => Self::Unknown,
        }
    }
}

/// Compares a repository with a GGUF file.
fn across(repository: &Model, file: &Model, is_swapped: bool, found: &mut Compared) {
    let stored = match gguf::entries(file) {
        Ok(stored) => stored,
        Err(error) => return found.not_compared(&error.to_string()),
    };
    let tokens = stored.iter().find(|(key, _)| key == crate::tokenizer::TOKENS);
    let tokens = tokens.and_then(|(_, tokens)| tokens.as_array()).map(Vec::len);
    let described = match described(repository, tokens.unwrap_or(0) as u64) {
        None => return found.not_compared("the model family is unknown"),
        Some(Err(error)) => return found.not_compared(&error.to_string()),
        Some(Ok(described)) => described,
    };
    let mut computed = gguf::computed(described.model);
    match (described.tokenizer, tokens) {
        (Ok(entries), Some(_)) => computed.extend(gguf::computed(entries)),
        (Ok(_), None) => found.tokenizer_not_compared("the file has none"),
        (Err(_), None) => {}
        (Err(error), Some(_)) => found.tokenizer_not_compared(&error.to_string()),
    }
    gguf::across([computed, stored], is_swapped, found);
}

impl Compared {
    fn not_compared(&mut self, why: &str) {
        self.notes.push(format!("settings were not compared: {why}"));
    }

    fn tokenizer_not_compared(&mut self, why: &str) {
        self.notes.push(format!("tokenizers were not compared: {why}"));
    }

    fn add(&mut self, key: &str, [a, b]: [Option<Json>; 2], counts: bool) {
        let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
        self.settings.push(Setting { key: key.to_owned(), a, b, counts });
    }
}

/// Whether two values are the same. Numbers are rounded to single precision, as GGUF files have them.
fn is_same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(_), Json::Number(_)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-6 * a.abs(),
            _ => a == b,
        },
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        _ => a == b,
    }
}

/// Of two lists the first elements that differ; other values as they are.
fn shown([a, b]: [&Json; 2]) -> [Option<Json>; 2] {
    const SHORT: usize = 16;
    let (Json::Array(in_a), Json::Array(in_b)) = (a, b) else {
        return [Some(a.clone()), Some(b.clone())];
    };
    if in_a.len().max(in_b.len()) <= SHORT {
        return [Some(a.clone()), Some(b.clone())];
    }
    let most = in_a.len().max(in_b.len());
    let first = (0..most).find(|&at| in_a.get(at) != in_b.get(at)).unwrap_or(0);
    [in_a, in_b].map(|list| {
        let value = list.get(first).unwrap_or(&Json::Null);
        Some(format!("[{first}] {value} of {}", list.len()).into())
    })
}
