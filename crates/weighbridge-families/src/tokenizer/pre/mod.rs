//! The name of a pre-tokenizer, by what `tokenizer.json` says it does.
//!
//! A program that reads the file knows pre-tokenizers by name only. Several names have the same
//! pre-tokenizer, and differ in what is added to a text or in the family they belong to. Where the
//! vocabulary is one that llama.cpp's converter knows, its name is the converter's; the two ways to
//! find a name must not contradict each other.

mod back;
mod known;
mod structure;
mod table;

use serde_json::Value as Json;

use super::encode;
use super::files::{Files, steps_of};
use super::vocabulary::Vocabulary;
use crate::error::{Error, Remedy, Result};
use crate::text::shortened;
pub(super) use back::{Way, known, ways};
pub(super) use known::{alike, name as name_of};
use structure::{normalizer, steps};
use table::{If, TABLE};

/// The name, or an error that says what was seen.
pub(super) fn name(vocabulary: &Vocabulary<'_>) -> Result<String> {
    agreed(by_structure(vocabulary), known_vocabulary(vocabulary))
}

/// The name of a vocabulary that is known, whatever is done to texts before.
pub(super) fn known_vocabulary(vocabulary: &Vocabulary<'_>) -> Option<&'static str> {
    encode::ids(vocabulary).and_then(|ids| known::name(&ids))
}

/// What a file does to texts, and which vocabulary it has, tell the same name or names of the same
/// pre-tokenizer.
fn agreed(by_structure: Result<String>, known: Option<&'static str>) -> Result<String> {
    match (by_structure, known) {
        (Ok(name), Some(known)) if !known::alike(&name, known) => {
            let message =
                format!("the vocabulary matches `{known}`, but the pre-tokenizer matches `{name}`");
            Err(Error::unsupported(message).remedy(Remedy::StatePreTokenizer))
        }
        (_, Some(known)) => Ok(known.to_owned()),
        (by_structure, None) => by_structure,
    }
}

fn by_structure(vocabulary: &Vocabulary<'_>) -> Result<String> {
    let tokenizer = vocabulary.tokenizer;
    let (normalizer, steps) =
        (normalizer(&tokenizer["normalizer"]), steps(&tokenizer["pre_tokenizer"]));
    let row = TABLE.iter().find(|row| {
        row.steps.iter().eq(steps.iter())
            && row.normalizers.iter().any(|known| known.iter().eq(normalizer.iter()))
    });
    let mut names = row.iter().flat_map(|row| row.names);
    let choice = names.find(|(conditions, _)| conditions.iter().all(|one| one.is_met(vocabulary)));
    choice.map(|(_, name)| (*name).to_owned()).ok_or_else(|| unknown(&normalizer, &steps))
}

impl If {
    /// Decides between names of the same pre-tokenizer.
    fn is_met(&self, vocabulary: &Vocabulary<'_>) -> bool {
        let Vocabulary { files, tokenizer, .. } = vocabulary;
        match self {
            Self::Begins => begins(files, tokenizer),
            Self::IgnoresMerges => tokenizer["model"]["ignore_merges"] == true,
            Self::Family(names) => {
                names.iter().any(|name| files.repository.config["model_type"] == *name)
            }
            Self::Has(token) => vocabulary.is_added(token) || vocabulary.base.contains_key(token),
            Self::Roberta => tokenizer["post_processor"]["type"] == "RobertaProcessing",
        }
    }
}

/// Whether a text gets a token at its beginning. A config that says anything about that replaces what
/// the post-processor would do.
fn begins(files: &Files<'_>, tokenizer: &Json) -> bool {
    let stated = |key: &str| files.config.get(key).filter(|value| value.is_boolean());
    if stated("add_bos_token").is_some() || stated("add_eos_token").is_some() {
        return stated("add_bos_token") == Some(&Json::Bool(true));
    }
    steps_of(&tokenizer["post_processor"], "processors").iter().any(|one| {
        !one["single"][0]["SpecialToken"].is_null() || one["type"] == "RobertaProcessing"
    })
}

fn unknown(normalizer: &[String], steps: &[String]) -> Error {
    let shown = |parts: &[String]| {
        let parts = parts.iter().map(|one| format!("`{}`", shortened(one, 120)));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    };
    let does = format!("normalizes {}, splits {}", shown(normalizer), shown(steps));
    let message = format!("unknown pre-tokenizer: {does}");
    Error::unsupported(message).remedy(Remedy::StatePreTokenizer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tokenizer::Repository;

    fn named(tokenizer: &Json, config: &Json) -> Result<String> {
        let repository =
            Repository { files: &|_| Ok(None), names: &|_| Vec::new(), config, vocabulary: 10 };
        let mut files = Files::open(&repository).unwrap();
        files.tokenizer = Some(tokenizer.clone().into());
        name(&Vocabulary::read(&files).unwrap())
    }

    #[test]
    fn what_is_unknown_is_named_and_can_be_stated() {
        let split = json!({ "type": "Split", "pattern": { "Regex": "x\r+" }, "behavior": "Isolated", "invert": false });
        let tokenizer = json!({ "model": { "vocab": {} }, "normalizer": { "type": "NFKC" }, "pre_tokenizer": split });
        let error = named(&tokenizer, &json!({})).unwrap_err();
        assert_eq!(
            error.message(),
            "unknown pre-tokenizer: normalizes `NFKC`, splits `split x\\r+`"
        );
        assert_eq!(error.remedies(), [Remedy::StatePreTokenizer]);
    }

    #[test]
    fn a_known_vocabulary_has_the_last_word_unless_texts_are_cut_in_another_way() {
        let ours = |name: &str| Ok(name.to_owned());
        assert_eq!(agreed(ours("dbrx"), None).unwrap(), "dbrx");
        assert_eq!(agreed(ours("dbrx"), Some("smaug-bpe")).unwrap(), "smaug-bpe");
        assert_eq!(agreed(Err(unknown(&[], &[])), Some("afmoe")).unwrap(), "afmoe");
        assert!(agreed(Err(unknown(&[], &[])), None).is_err());
        let error = agreed(ours("qwen35"), Some("qwen2")).unwrap_err();
        assert_eq!(
            error.message(),
            "the vocabulary matches `qwen2`, but the pre-tokenizer matches `qwen35`"
        );
        assert_eq!(error.remedies(), [Remedy::StatePreTokenizer]);
    }

    #[test]
    fn families_share_a_pre_tokenizer() {
        let tokenizer = json!({
            "model": { "vocab": {} },
            "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true },
        });
        assert_eq!(named(&tokenizer, &json!({})).unwrap(), "gpt-2");
        assert_eq!(named(&tokenizer, &json!({ "model_type": "phi" })).unwrap(), "phi-2");
        assert_eq!(named(&tokenizer, &json!({ "model_type": "olmo" })).unwrap(), "olmo");
    }
}
