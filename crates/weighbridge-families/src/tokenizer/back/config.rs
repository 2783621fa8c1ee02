//! `tokenizer_config.json`: names of special tokens, flags, and chat templates.

use serde_json::{Map, Value as Json, json};

use super::{Made, Metadata, Token, added};
use crate::error::{Error, Result};
use crate::text::shortened;
use crate::tokenizer::sentencepiece::ADDED;
use crate::tokenizer::token_type::TokenType;

pub(super) fn of(metadata: &Metadata<'_>, made: &Made) -> Result<Json> {
    let mut config = Map::new();
    let mut set = |key: &str, value: Json| config.insert(key.to_owned(), value);
    for (key, add) in flags(made) {
        set(key, json!(add));
    }
    if let Some(prefix) = metadata.flag("tokenizer.ggml.add_space_prefix")? {
        set("add_prefix_space", json!(prefix));
    }
    set("added_tokens_decoder", Json::Object(by_id(made)));
    for (kind, text) in made.special.all(&made.tokens) {
        set(&format!("{kind}_token"), json!(text));
    }
    if let Some(template) = templates(metadata)? {
        set("chat_template", template);
    }
    // Who converts a unigram vocabulary takes this for what is done to a text at first.
    let fewer_spaces = metadata.flag("tokenizer.ggml.remove_extra_whitespaces")?;
    set("clean_up_tokenization_spaces", json!(fewer_spaces.unwrap_or(false)));
    if made.document.model["type"] != "WordPiece" {
        set("model_input_names", json!(["input_ids", "attention_mask"]));
    }
    if let Some(length) = context_length(metadata)? {
        set("model_max_length", json!(length));
    }
    set("tokenizer_class", json!(made.class));
    Ok(Json::Object(config))
}

/// Flags that the post-processor does not say, or that it repeats: readers put together one of their
/// own from them, which is the same unless two texts are separated by more.
fn flags(made: &Made) -> Vec<(&'static str, bool)> {
    let is_plain = made.document.decoder["type"] == "Sequence";
    let is_repeated = is_plain && made.special.adds("sep") != Some(true);
    let kinds = [("bos", "add_bos_token"), ("eos", "add_eos_token")].into_iter();
    let flag = |(kind, key)| made.special.adds(kind).map(|add| (key, add));
    kinds.filter(|_| is_repeated).filter_map(flag).collect()
}

/// Added tokens by their ids. In a vocabulary with scores, those are meant that other files added.
fn by_id(made: &Made) -> Map<String, Json> {
    let is_byte_level = made.document.is_byte_level();
    let is_there = |token: &Token| {
        let later = matches!(token.kind, TokenType::Control | TokenType::UserDefined);
        token.is_added && (is_byte_level || later && token.score == ADDED)
    };
    let tokens = made.tokens.present().filter(|(_, token)| is_there(token));
    tokens.map(|(id, one)| (id.to_string(), added::flags(one, is_byte_level))).collect()
}

/// One template, or several by name, of which one may be the default.
fn templates(metadata: &Metadata<'_>) -> Result<Option<Json>> {
    const KEY: &str = "tokenizer.chat_template";
    let default = metadata.text(KEY)?;
    let Some(names) = metadata.texts("tokenizer.chat_templates")? else {
        return Ok(default.map(Json::String));
    };
    let mut all = Vec::new();
    for name in names {
        let Some(template) = metadata.text(&format!("{KEY}.{name}"))? else {
            let message = "no chat template named";
            return Err(Error::malformed(format!("{message} `{}`", shortened(&name, 40))));
        };
        all.push(json!({ "name": name, "template": template }));
    }
    all.extend(default.map(|template| json!({ "name": "default", "template": template })));
    Ok(Some(Json::Array(all)))
}

fn context_length(metadata: &Metadata<'_>) -> Result<Option<u64>> {
    match metadata.text("general.architecture")? {
        Some(architecture) => metadata.number(&format!("{architecture}.context_length")),
        None => Ok(None),
    }
}
