//! The tokenizers and chat templates of two repositories.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::{Compared, shown};
use crate::model::Model;
use crate::ops::conversion::sibling_file;

/// Steps of tokenizer.json. The same step can be written in several ways, so they do not count.
const STEPS: [&str; 4] = ["normalizer", "pre_tokenizer", "post_processor", "decoder"];

/// Keys of tokenizer_config.json that do.
const KEYS: [&str; 5] = ["add_bos_token", "add_eos_token", "bos_token", "eos_token", "unk_token"];

/// Compares the tokenizers of two repositories that have one.
pub(super) fn compare(models: [&Model; 2], found: &mut Compared) {
    let [a, b] = models.map(Tokenizer::of);
    match [&a, &b].map(Tokenizer::is_there) {
        [true, true] => {}
        [false, false] => return,
        [true, false] => return found.tokenizer_not_compared("only A has one"),
        [false, true] => return found.tokenizer_not_compared("only B has one"),
    }
    match (&a.document, &b.document, &a.pieces, &b.pieces) {
        (Some(a), Some(b), ..) => documents([a, b], found),
        (_, _, Some(a), Some(b)) if a == b => {}
        (_, _, Some(a), Some(b)) => {
            let bytes = |file: &[u8]| Some(Json::from(format!("{} bytes", file.len())));
            found.add("tokenizer.model", [bytes(a), bytes(b)], true);
        }
        _ => found.tokenizer_not_compared("they have no file in common"),
    }
    if let (Some(a), Some(b)) = (&a.config, &b.config) {
        for key in KEYS {
            let [a, b] = [a, b].map(|config| text(config.get(key)));
            // Where one is silent, the class of the tokenizer decides.
            if let (Some(a), Some(b)) = (&a, &b)
                && a != b
            {
                found.add(&format!("tokenizer.{key}"), shown([a, b]), true);
            }
        }
    }
    let [a, b] = models.map(template);
    if a != b {
        found.add("chat_template", [a, b], true);
    }
}

/// The files of a tokenizer.
struct Tokenizer {
    document: Option<Json>,
    pieces: Option<Vec<u8>>,
    config: Option<Json>,
}

impl Tokenizer {
    fn of(model: &Model) -> Self {
        let file = |name: &str| sibling_file(model, name).ok().flatten();
        Self {
            document: file("tokenizer.json").and_then(|text| serde_json::from_slice(&text).ok()),
            pieces: file("tokenizer.model"),
            config: json(model, "tokenizer_config.json"),
        }
    }

    fn is_there(&self) -> bool {
        self.document.is_some() || self.pieces.is_some()
    }
}

fn json(model: &Model, name: &str) -> Option<Json> {
    let text = sibling_file(model, name).ok().flatten()?;
    serde_json::from_slice(&text).ok()
}

/// The template in a file of its own, or in the tokenizer's config.
fn template(model: &Model) -> Option<Json> {
    if let Some(text) = sibling_file(model, "chat_template.jinja").ok().flatten() {
        return Some(String::from_utf8_lossy(&text).into_owned().into());
    }
    let config = json(model, "tokenizer_config.json")?;
    config.get("chat_template").filter(|template| !template.is_null()).cloned()
}

/// A token, which may be its text or an object with it.
fn text(token: Option<&Json>) -> Option<Json> {
    let token = token.filter(|token| !token.is_null())?;
    Some(token.get("content").unwrap_or(token).clone())
}

fn documents([a, b]: [&Json; 2], found: &mut Compared) {
    let lists =
        [("tokens", tokens as fn(&Json) -> Json), ("merges", merges), ("added_tokens", added)];
    for (name, list) in lists {
        let (a, b) = (list(a), list(b));
        if a != b {
            found.add(&format!("tokenizer.{name}"), shown([&a, &b]), true);
        }
    }
    for step in STEPS {
        let (a, b) = (&a[step], &b[step]);
        if a != b {
            found.add(&format!("tokenizer.{step}"), shown([a, b]), false);
        }
    }
}

/// The tokens, by their numbers.
fn tokens(document: &Json) -> Json {
    match &document["model"]["vocab"] {
        Json::Object(tokens) => by_number(tokens),
        // A unigram model has pairs of a token and its score, in order.
        other => other.clone(),
    }
}

fn by_number(tokens: &Map<String, Json>) -> Json {
    let tokens = tokens.iter().filter_map(|(token, id)| Some((id.as_u64()?, token)));
    let tokens: BTreeMap<u64, &String> = tokens.collect();
    tokens.into_values().map(|token| Json::from(token.as_str())).collect()
}

/// The merges: pairs in newer files, texts in older ones.
fn merges(document: &Json) -> Json {
    let merge = |merge: &Json| match merge.as_array().map(|pair| &pair[..]) {
        Some([Json::String(a), Json::String(b)]) => Json::from(format!("{a} {b}")),
        _ => merge.clone(),
    };
    document["model"]["merges"].as_array().map_or(Json::Null, |all| all.iter().map(merge).collect())
}

/// The added tokens.
fn added(document: &Json) -> Json {
    let token = |token: &Json| Json::from(format!("{} {}", token["id"], token["content"]));
    document["added_tokens"].as_array().map_or(Json::Null, |all| all.iter().map(token).collect())
}
