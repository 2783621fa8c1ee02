//! Byte pairs in repositories that tell in other places which tokens end something.

use serde_json::Value as Json;

use super::byte_pairs;
use super::templates;
use super::token_type::TokenType;
use super::{Entries, Files, TOKENS};
use crate::catalog::Value;
use crate::error::Result;

/// Where such repositories tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Texts end as documents do, which config.json tells, and turns as generation_config.json does.
    Documents,
    /// Turns end with a token that config.json lists beside the one that ends texts.
    Turns,
}

const EOS: &str = "tokenizer.ggml.eos_token_id";
const EOT: &str = "tokenizer.ggml.eot_token_id";
const TYPES: &str = "tokenizer.ggml.token_type";
/// The token that ends a turn.
const TURN: &str = "</assistant>";

/// Writes the vocabulary, and what ends texts and turns.
pub(super) fn write(
    files: &Files<'_>,
    entries: &mut Entries,
    pre: Option<&str>,
    ends: Ends,
) -> Result<()> {
    byte_pairs::write(files, entries, pre)?.write(entries)?;
    match ends {
        Ends::Documents => of_documents(files, entries),
        Ends::Turns => of_turns(files, entries),
    }
}

fn stated<'a>(files: &Files<'a>, key: &str) -> &'a Json {
    let config = files.repository.config;
    match &config[key] {
        Json::Null => &config["text_config"][key],
        value => value,
    }
}

/// The class takes the token with the ID 3 for the end of a document where the config is silent.
fn of_documents(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    entries.id(EOS, stated(files, "eod_token_id").as_u64().unwrap_or(3));
    let generation = files.json("generation_config.json")?.unwrap_or_default();
    if let Some([first, _, ..]) = generation["eos_token_id"].as_array().map(Vec::as_slice)
        && let Some(id) = first.as_u64()
    {
        entries.id(EOT, id);
    }
    Ok(())
}

/// Readers show a token that ends a turn unless it is a control token, and cannot include one
/// template in another.
fn of_turns(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let at = match entries.find(TOKENS) {
        Some(Value::List(tokens)) => tokens.iter().position(|token| token.as_str() == Some(TURN)),
        _ => None,
    };
    if let (Some(at), Some(Value::List(kinds))) = (at, entries.find(TYPES)) {
        kinds[at] = Value::Signed(32, TokenType::Control as i64);
    }
    if let Some(template) = files.text("chat_template.jinja")? {
        templates::write(&Json::String(template), entries)?;
    }
    let begins = stated(files, "bos_token_id");
    let listed = stated(files, "eos_token_id").as_array().into_iter().flatten();
    if let Some(id) = listed.filter(|id| *id != begins).find_map(Json::as_u64) {
        entries.id(EOT, id);
    }
    Ok(())
}
