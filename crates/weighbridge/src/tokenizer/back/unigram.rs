//! SentencePiece's unigrams, as T5 and XLM-R have them: pieces with scores, of which those are taken
//! that make a text likeliest.

use serde_json::{Value as Json, json};

use super::metadata::Metadata;
use super::special::{Assumed, Special};
use super::tokens::Tokens;
use super::{Document, Made, around, base64, byte_pairs};
use crate::error::{Error, Result};

const ASSUMED: Assumed = Assumed { adds: &["eos"], ids: &[("eos", 1), ("unk", 2), ("pad", 0)] };

pub(super) fn make(metadata: &Metadata<'_>) -> Result<Made> {
    let mut not_carried = Vec::new();
    let mut tokens = Tokens::read(metadata)?;
    tokens.leave_out_twins(&mut not_carried)?;
    if metadata.scores("tokenizer.ggml.scores")?.is_none() {
        return Err(Error::unsupported("the file has no `tokenizer.ggml.scores`"));
    }
    let special = Special::read(metadata, &mut tokens, ASSUMED, &mut not_carried)?;
    let Some(unknown) = special.id("unk") else {
        return Err(Error::unsupported("the file names no unk token"));
    };
    let flag = |key: &str| metadata.flag(&format!("tokenizer.ggml.{key}"));
    let prefix = flag("add_space_prefix")?.unwrap_or(false);
    let fewer_spaces = flag("remove_extra_whitespaces")?.unwrap_or(false);
    // Ids are places in a list, so that none can be left out before the last.
    let end = tokens.present().last().map_or(0, |(id, _)| id + 1);
    let pieces = tokens.0.iter().take(end);
    let vocabulary: Vec<Json> =
        pieces.map(|token| json!([token.text, f64::from(token.score)])).collect();
    let document = Document {
        normalizer: normalizer(metadata, fewer_spaces)?,
        pre_tokenizer: pre_tokenizer(prefix, fewer_spaces),
        post_processor: around::template(&special, &tokens, false),
        decoder: marks(prefix),
        model: json!({
            "type": "Unigram", "unk_id": unknown, "vocab": vocabulary, "byte_fallback": false,
        }),
    };
    let class = byte_pairs::AS_IT_IS;
    Ok(Made { tokens, special, document, class, files: Vec::new(), not_carried })
}

fn normalizer(metadata: &Metadata<'_>, fewer_spaces: bool) -> Result<Json> {
    let mut steps = Vec::new();
    if let Some(map) = metadata.bytes("tokenizer.ggml.precompiled_charsmap")? {
        steps.push(json!({ "type": "Precompiled", "precompiled_charsmap": base64::encoded(&map) }));
    }
    if fewer_spaces {
        steps.push(json!({ "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " }));
    }
    Ok(match steps.is_empty() {
        true => Json::Null,
        false => json!({ "type": "Sequence", "normalizers": steps }),
    })
}

/// Words, each with a mark before it. Where spaces are made fewer, those at the ends are none.
fn pre_tokenizer(prefix: bool, fewer_spaces: bool) -> Json {
    match prefix && fewer_spaces {
        true => json!({
            "type": "Sequence",
            "pretokenizers": [{ "type": "WhitespaceSplit" }, marks(prefix)],
        }),
        false => marks(prefix),
    }
}

fn marks(prefix: bool) -> Json {
    let scheme = if prefix { "always" } else { "never" };
    json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true })
}
