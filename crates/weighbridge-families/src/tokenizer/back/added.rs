//! Tokens that are looked for in a text before it is split.

use serde_json::{Value as Json, json};

use super::tokens::{Token, Tokens};
use crate::tokenizer::encode::from_bytes;

/// All of them, as `tokenizer.json` lists them.
pub(super) fn listed(tokens: &Tokens, is_byte_level: bool) -> Vec<Json> {
    let with_id = |(id, token): (usize, &Token)| {
        let mut entry = json!({ "id": id });
        if let (Json::Object(entry), Json::Object(flags)) =
            (&mut entry, flags(token, is_byte_level))
        {
            entry.extend(flags);
        }
        entry
    };
    tokens.present().filter(|(_, token)| token.is_added).map(with_id).collect()
}

/// How an added token is looked for. One whose letters would be taken for bytes when it is shown has
/// to be called normalized, which nothing else depends on.
pub(super) fn flags(token: &Token, is_byte_level: bool) -> Json {
    let normalized = is_byte_level && from_bytes(&token.text) != token.text;
    json!({
        "content": token.text,
        "single_word": false,
        "lstrip": false,
        "rstrip": token.takes_spaces,
        "normalized": normalized,
        "special": token.is_special(),
    })
}
