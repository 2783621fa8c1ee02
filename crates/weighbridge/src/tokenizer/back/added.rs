//! Tokens that are looked for in a text before it is split, and the whole of `tokenizer.json`.

use serde_json::{Map, Value as Json, json};

use super::Document;
use super::tokens::{Token, Tokens};
use crate::tokenizer::decode::from_bytes;

/// `tokenizer.json`.
pub(super) fn with_tokens(tokens: &Tokens, document: Document) -> Json {
    let is_byte_level = document.decoder["type"] == "ByteLevel";
    let added = tokens.present().filter(|(_, token)| token.is_added);
    let added: Vec<Json> = added
        .map(|(id, token)| {
            let mut one = json!({ "id": id });
            one.as_object_mut().into_iter().for_each(|map| map.extend(flags(token, is_byte_level)));
            one
        })
        .collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": document.normalizer,
        "pre_tokenizer": document.pre_tokenizer,
        "post_processor": document.post_processor,
        "decoder": document.decoder,
        "model": document.model,
    })
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

/// The vocabulary of the model itself: ids by texts.
pub(super) fn vocabulary(tokens: &Tokens) -> Map<String, Json> {
    let own = tokens.own();
    let inside = tokens.present().take_while(|(id, _)| *id < own);
    inside.map(|(id, token)| (token.text.clone(), json!(id))).collect()
}
