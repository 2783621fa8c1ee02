//! Mistral's own file of byte pairs, `tekken.json`: tokens as bytes in the order in which they were
//! learned, and special tokens before them. Merges follow from the order.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::base64::decoded;
use super::files::MOST_TOKENS;
use super::{Entries, Files, TokenType, encode, templates, wrong};
use crate::catalog::Value;
use crate::error::Result;
use crate::text::shortened;

pub(super) const FILE: &str = "tekken.json";

/// Special tokens of files that do not list theirs.
const SPECIAL: &str = "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] \
    [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] \
    [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]";

/// Chat templates that readers know by name, by the version of the file.
const TEMPLATES: [(&str, &str); 3] =
    [("v1", "mistral-v1"), ("v3", "mistral-v3-tekken"), ("v7", "mistral-v7-tekken")];

pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let document = files.json(FILE)?.unwrap_or_default();
    let special = special(&document)?;
    let bytes = tokens(files, &document, special.len())?;
    entries.text("tokenizer.ggml.model", "gpt2");
    entries.text("tokenizer.ggml.pre", "tekken");
    entries.texts("tokenizer.ggml.merges", merges(&bytes)?.into_iter().collect());
    let ids = [("bos", "<s>"), ("eos", "</s>"), ("unknown", "<unk>"), ("padding", "<pad>")];
    for (kind, text) in ids {
        let missing = || wrong(FILE, format!("no special token is `{text}`"));
        let id = special.iter().position(|token| token == text).ok_or_else(missing)?;
        entries.id(&format!("tokenizer.ggml.{kind}_token_id"), id as u64);
    }
    let control = special.into_iter().map(|text| (text, TokenType::Control));
    let normal = bytes.iter().map(|one| (encode::of_bytes(one), TokenType::Normal));
    let tokens: Vec<_> = control.chain(normal).collect();
    // The converter has whole numbers here, and nowhere else.
    let zeros = vec![Value::Signed(32, 0); tokens.len()];
    TokenType::write(entries, tokens, Some(zeros));
    entries.flag("tokenizer.ggml.add_bos_token", true);
    entries.flag("tokenizer.ggml.add_eos_token", false);
    write_template(files, &document["config"]["version"], entries)
}

/// The name of a template, or what the repository itself has.
fn write_template(files: &Files<'_>, version: &Json, entries: &mut Entries) -> Result<()> {
    let own = templates::read(files)?;
    let named = TEMPLATES.iter().find(|(known, _)| version == known);
    let templates = named.map(|(_, name)| Json::from(*name)).or(own);
    templates.map_or(Ok(()), |templates| templates::write(&templates, entries))
}

fn count(document: &Json, key: &str) -> Result<usize> {
    // No vocabulary is longer.
    let number = document["config"][key].as_u64().filter(|count| *count <= MOST_TOKENS);
    let number = number.and_then(|count| usize::try_from(count).ok());
    number.ok_or_else(|| wrong(FILE, format!("its config has no valid {key}")))
}

/// All special tokens: those that are listed, and fillers behind them.
fn special(document: &Json) -> Result<Vec<String>> {
    let count = count(document, "default_num_special_tokens")?;
    let mut found: Vec<String> = match document["special_tokens"].as_array() {
        Some(listed) => listed.iter().enumerate().map(listed_token).collect::<Result<_>>()?,
        None => SPECIAL.split(' ').map(str::to_owned).collect(),
    };
    if found.len() > count {
        return Err(wrong(
            FILE,
            format!("{} special tokens exceed the stated {count}", found.len()),
        ));
    }
    found.extend((found.len()..count).map(|id| format!("<SPECIAL_{id}>")));
    Ok(found)
}

fn listed_token((id, token): (usize, &Json)) -> Result<String> {
    let text = token["token_str"].as_str().filter(|_| token["rank"] == id);
    let misplaced = || wrong(FILE, format!("special token {id} is not at its rank"));
    text.map(str::to_owned).ok_or_else(misplaced)
}

/// The bytes of the other tokens, as many as the model has.
fn tokens(files: &Files<'_>, document: &Json, special: usize) -> Result<Vec<Vec<u8>>> {
    let all = count(document, "default_vocab_size")?;
    if files.vocabulary() > 0 && all != files.vocabulary() {
        let message = format!("it has {all} tokens, but the model has {}", files.vocabulary());
        return Err(wrong(FILE, message));
    }
    let listed = document["vocab"].as_array().map_or(&[][..], Vec::as_slice);
    let wanted = all.checked_sub(special).and_then(|count| listed.get(..count));
    let Some(wanted) = wanted else {
        return Err(wrong(
            FILE,
            format!("{} tokens are too few for a vocabulary of {all}", listed.len()),
        ));
    };
    let token = |(rank, token): (usize, &Json)| {
        let bytes = token["token_bytes"].as_str().and_then(decoded);
        let bytes = bytes.filter(|bytes| token["rank"] == rank && is_in_place(rank, bytes));
        bytes.ok_or_else(|| {
            let shown = shortened(&token.to_string(), 80);
            wrong(FILE, format!("`{shown}` is not the token of rank {rank}"))
        })
    };
    wanted.iter().enumerate().map(token).collect()
}

/// The first tokens are the bytes themselves.
fn is_in_place(rank: usize, bytes: &[u8]) -> bool {
    rank >= 256 && !bytes.is_empty() || bytes.iter().map(|byte| usize::from(*byte)).eq([rank])
}

/// Every way to make a token of two others. A token that is found late is made late, so these are in
/// the order of the results, and for one result in the order of its parts.
fn merges(tokens: &[Vec<u8>]) -> Result<Vec<String>> {
    let mut ranks: HashMap<&[u8], usize> = HashMap::with_capacity(tokens.len());
    for (rank, token) in tokens.iter().enumerate() {
        if ranks.insert(token, rank).is_some() {
            return Err(wrong(FILE, format!("the token of rank {rank} occurs twice")));
        }
    }
    let mut merges = Vec::new();
    for (rank, token) in tokens.iter().enumerate().skip(256) {
        let pair = |at: usize| Some((*ranks.get(&token[..at])?, *ranks.get(&token[at..])?));
        let mut ways: Vec<(usize, usize)> = (1..token.len()).filter_map(pair).collect();
        if ways.is_empty() {
            let message = format!("the token of rank {rank} is not a merge of two others");
            return Err(wrong(FILE, message));
        }
        ways.sort_unstable();
        let spelled = |rank: usize| encode::of_bytes(&tokens[rank]);
        merges.extend(ways.into_iter().map(|(a, b)| format!("{} {}", spelled(a), spelled(b))));
    }
    Ok(merges)
}
