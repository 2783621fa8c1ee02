//! Ids that are put around those of a text.

use serde_json::Value as Json;

use crate::tokenizer::files::{content_of, steps_of};
use crate::tokenizer::vocabulary::Vocabulary;

/// What the post-processor does, unless `tokenizer_config.json` says something about it.
pub(super) fn put(ids: Vec<u64>, vocabulary: &Vocabulary<'_>) -> Option<Vec<u64>> {
    let stated = |key: &str| vocabulary.files.config.get(key).and_then(Json::as_bool);
    if stated("add_bos_token").or(stated("add_eos_token")).is_some() {
        let id = |kind: &str| match stated(&format!("add_{kind}_token")) {
            Some(true) => Some(vec![named(kind, vocabulary)?]),
            _ => Some(Vec::new()),
        };
        return Some([id("bos")?, ids, id("eos")?].concat());
    }
    let processor = &vocabulary.tokenizer["post_processor"];
    steps_of(processor, "processors").iter().try_fold(ids, processed)
}

fn named(kind: &str, vocabulary: &Vocabulary<'_>) -> Option<u64> {
    let content = content_of(vocabulary.files.config.get(&format!("{kind}_token"))?)?;
    let added = vocabulary.added.iter().find(|added| added.content == content);
    added.map(|added| added.id).or_else(|| vocabulary.base.get(content).copied())
}

fn processed(ids: Vec<u64>, processor: &Json) -> Option<Vec<u64>> {
    match processor["type"].as_str() {
        None if processor.is_null() => Some(ids),
        Some("ByteLevel") => Some(ids),
        Some("RobertaProcessing" | "BertProcessing") => {
            let id = |key: &str| processor[key][1].as_u64();
            Some([vec![id("cls")?], ids, vec![id("sep")?]].concat())
        }
        Some("TemplateProcessing") => {
            let mut all = Vec::new();
            for part in processor["single"].as_array()? {
                match part["SpecialToken"]["id"].as_str() {
                    Some(token) => {
                        let special = &processor["special_tokens"][token]["ids"];
                        all.extend(special.as_array()?.iter().filter_map(Json::as_u64));
                    }
                    None => all.extend(&ids),
                }
            }
            Some(all)
        }
        _ => None,
    }
}
