//! Tokens that are looked for in a text before it is split.

use serde_json::{Map, Value as Json, json};

use super::tokens::{Token, Tokens};
use crate::tokenizer::decode::from_bytes;

/// All of them, as `tokenizer.json` lists them.
pub(super) fn listed(tokens: &Tokens, is_byte_level: bool) -> Vec<Json> {
    let with_id = |(id, token): (usize, &Token)| {
        let mut entry = Map::from_iter([("id".to_owned(), json!(id))]);
        entry.extend(flags(token, is_byte_level));
        Json::Object(entry)
    };
    tokens.present().filter(|(_, token)| token.is_added).map(with_id).collect()
}

/// How an added token is looked for. One whose letters would be taken for bytes when it is shown has
/// to be called normalized, which nothing else depends on.
pub(super) fn flags(token: &Token, is_byte_level: bool) -> Map<String, Json> {
    let normalized = is_byte_level && from_bytes(&token.text) != token.text;
    let flags = json!({
        "content": token.text,
        "single_word": false,
        "lstrip": false,
        "rstrip": token.takes_spaces,
        "normalized": normalized,
        "special": token.is_special(),
    });
    match flags {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}
