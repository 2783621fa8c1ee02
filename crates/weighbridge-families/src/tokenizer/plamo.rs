//! PLaMo's own file of pieces, `tokenizer.jsonl`: a line for each token, with its score and its kind.

use serde_json::Value as Json;

use super::files::MOST_TOKENS;
use super::{Entries, Files, SPACE_PREFIX, TokenType, templates, wrong};
use crate::catalog::Value;
use crate::error::Result;
use crate::text::shortened;

const FILE: &str = "tokenizer.jsonl";

/// Special tokens that the tokenizer's config names, in the converter's order.
const SPECIAL: [(&str, &str); 5] = [
    ("bos_token", "bos"),
    ("eos_token", "eos"),
    ("pad_token", "padding"),
    ("sep_token", "seperator"),
    ("unk_token", "unknown"),
];

/// The token that ends a turn, whatever files say of it.
const ENDS_TURN: u64 = 4;

/// The score of a filler, which no token is made with.
const NOBODY: Value = Value::F32(-1000.0);

pub(super) fn write(files: &Files<'_>, entries: &mut Entries, has_templates: bool) -> Result<()> {
    let bytes = (files.repository.files)(FILE)?;
    let bytes = bytes.ok_or_else(|| wrong(FILE, "the repository has no such file".to_owned()))?;
    let text = String::from_utf8(bytes).map_err(|e| wrong(FILE, e.to_string()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let found = lines.take(usize::try_from(MOST_TOKENS).unwrap_or(usize::MAX)).map(token);
    let (mut tokens, mut scores) = (Vec::new(), Vec::new());
    for found in found {
        let (text, score, kind) = found?;
        tokens.push((text, kind));
        scores.push(score);
    }
    let missing = files.vocabulary().saturating_sub(tokens.len());
    tokens.extend((1..=missing).map(|at| (format!("[PAD{at}]"), TokenType::Unused)));
    scores.extend((0..missing).map(|_| NOBODY));
    let ids = special(files, &tokens)?;
    entries.text("tokenizer.ggml.model", "plamo2");
    entries.text("tokenizer.ggml.pre", "default");
    TokenType::write(entries, tokens, Some(scores));
    for (kind, id) in ids {
        entries.id(&format!("tokenizer.ggml.{kind}_token_id"), id);
    }
    entries.id("tokenizer.ggml.eot_token_id", ENDS_TURN);
    entries.flag(SPACE_PREFIX, false);
    if !has_templates {
        return Ok(());
    }
    // A file of its own comes first here.
    let own = files.text("chat_template.jinja")?.map(Json::String);
    let templates = own.or_else(|| files.config.get("chat_template").cloned());
    let templates = templates.filter(|templates| templates.is_string() || templates.is_array());
    templates.map_or(Ok(()), |templates| templates::write(&templates, entries))
}

/// A line: the text, the score, the kind, and what readers do not need.
fn token(line: &str) -> Result<(String, Value, TokenType)> {
    let odd = || wrong(FILE, format!("`{}` is not a token", shortened(line, 80)));
    let found: Json = serde_json::from_str(line).map_err(|_| odd())?;
    let (text, score) = (found[0].as_str(), found[1].as_f64());
    let (text, score) = text.zip(score).ok_or_else(odd)?;
    let kind = match found[2].as_str() {
        Some("UNKNOWN") => TokenType::Unknown,
        Some("CONTROL") => TokenType::Control,
        Some("BYTE") => TokenType::Byte,
        _ if text.starts_with("<|plamo:") && text.ends_with("|>") => TokenType::Control,
        _ => TokenType::Normal,
    };
    #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
    Ok((text.to_owned(), Value::F32(score as f32), kind))
}

fn special(files: &Files<'_>, tokens: &[(String, TokenType)]) -> Result<Vec<(&'static str, u64)>> {
    let mut found = Vec::new();
    for (key, kind) in SPECIAL {
        let Some(text) = files.config.get(key).filter(|text| !text.is_null()) else { continue };
        let place = text.as_str().and_then(|text| tokens.iter().position(|token| token.0 == text));
        let missing = || wrong(FILE, format!("it has no token {text}, which is the `{key}`"));
        found.push((kind, place.ok_or_else(missing)? as u64));
    }
    Ok(found)
}
