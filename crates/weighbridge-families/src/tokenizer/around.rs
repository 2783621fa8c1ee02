//! What a post-processor puts around a text.
//!
//! Its kinds are known by their form: a template names the special tokens before, between and after
//! its sequences; RoBERTa's always has all of them; that of byte-level tokenizers has none. Where a
//! template has a token that `tokenizer_config.json` does not name, the token takes the vacant name.

use serde_json::{Map, Value as Json};

use super::files::steps_of;

/// Special tokens by name while the post-processor is looked at.
pub(super) struct Around {
    /// `tokenizer_config.json`, with the names that the post-processor adds or changes.
    pub config: Map<String, Json>,
    /// Kinds of special tokens that are looked for.
    pub kinds: Vec<&'static str>,
    /// Which are added to a text, in the order in which that was found.
    pub add: Vec<(&'static str, bool)>,
    /// The tokens that begin, classify, end and separate texts, whether or not there is a config.
    known: Map<String, Json>,
}

impl Around {
    pub fn new(config: Map<String, Json>, kinds: Vec<&'static str>) -> Self {
        Self { config, kinds, add: Vec::new(), known: Map::new() }
    }

    /// Takes over what the post-processor of `tokenizer.json` says.
    pub fn post_processor(&mut self, tokenizer: &Json) {
        for key in ["bos_token", "cls_token", "eos_token", "sep_token"] {
            let named = self.config.get(key).cloned().unwrap_or_default();
            self.known.insert(key.to_owned(), named);
        }
        for (key, other) in [("bos_token", "cls_token"), ("eos_token", "sep_token")] {
            let other = self.token(other);
            if is_said(&other) {
                self.take_unless_said(key, &other);
            }
        }
        for processor in steps_of(&tokenizer["post_processor"], "processors") {
            self.processor(processor);
        }
    }

    fn processor(&mut self, processor: &Json) {
        match processor["type"].as_str() {
            Some("ByteLevel") => {
                self.add_unless_said("bos", false);
                self.add_unless_said("eos", false);
            }
            Some("RobertaProcessing") => self.roberta(processor),
            Some("TemplateProcessing") => self.template(processor),
            _ => {}
        }
    }

    fn roberta(&mut self, processor: &Json) {
        for kind in ["bos", "eos", "sep"] {
            self.set_add(kind, true);
        }
        let tokens = [("cls", "cls_token", "bos_token"), ("sep", "sep_token", "eos_token")];
        for (stated, key, other) in tokens {
            if self.config.is_empty() {
                break;
            }
            let token = processor[stated].get(0).cloned().unwrap_or_else(|| self.token(other));
            self.take_unless_said(key, &token);
        }
    }

    fn template(&mut self, processor: &Json) {
        let single = parts(processor, "single");
        let (mut first, mut last) = (None, None);
        if let [start, .., end] = single {
            (first, last) = (special(start), special(end));
            first.iter().for_each(|token| self.leading(token));
            last.iter().for_each(|token| self.trailing(token));
        }
        self.pair(parts(processor, "pair"), first.as_ref(), last.as_ref());
    }

    /// The special token that a template begins with.
    fn leading(&mut self, token: &Json) {
        let begins = ["bos_token", "cls_token"];
        let is_known = |all: &Self| begins.iter().any(|key| all.token(key) == *token);
        if self.config.is_empty() {
            self.known.insert("bos_token".to_owned(), token.clone());
        } else if !is_known(self) {
            begins.iter().for_each(|key| self.take_unless_said(key, token));
        }
        self.set_add("bos", is_known(self));
    }

    /// The special token that a template ends with. It is the end of a text from now on; what was
    /// called so before becomes the end of a turn, or of a message.
    fn trailing(&mut self, token: &Json) {
        let before = self.token("eos_token");
        if !self.config.is_empty() && *token != before {
            let vacant = ["eot", "eom"].into_iter().find(|kind| !self.kinds.contains(kind));
            if let Some(kind) = vacant {
                self.kinds.push(kind);
                self.config.insert(format!("{kind}_token"), before);
            }
            self.config.insert("eos_token".to_owned(), token.clone());
        }
        self.known.insert("eos_token".to_owned(), token.clone());
        self.set_add("eos", true);
    }

    /// A template of two texts: whether one or two tokens separate them.
    fn pair(&mut self, pair: &[Json], first: Option<&Json>, last: Option<&Json>) {
        let is = |part: Option<&Json>, token: Option<&Json>| {
            token.is_some() && part.and_then(special).as_ref() == token
        };
        let mut inner = if is(pair.first(), first) { &pair[1..] } else { pair };
        // The end is looked for in the whole template, even where it is a single token.
        if is(pair.last(), last) {
            inner = inner.split_last().map_or(inner, |(_, before)| before);
        }
        let [a, between @ .., b] = inner else { return };
        let is_sequence = |part: &Json, id: &str| part["Sequence"]["id"] == id;
        if !is_sequence(a, "A") || !is_sequence(b, "B") || between.is_empty() {
            return;
        }
        let (sep, eos) = (self.token("sep_token"), self.token("eos_token"));
        let separates =
            |part: &Json| special(part).is_some_and(|token| token == sep || token == eos);
        let by_first = separates(&between[0]) && last.is_none();
        let add = by_first || between.len() == 2 && separates(&between[1]);
        self.set_add("sep", add);
        if add && !is_said(&sep) && !self.config.is_empty() {
            self.config.insert("sep_token".to_owned(), eos);
        }
    }

    fn token(&self, key: &str) -> Json {
        self.known.get(key).cloned().unwrap_or_default()
    }

    /// Takes a token under a name that is vacant, in the config too if there is one.
    fn take_unless_said(&mut self, key: &str, token: &Json) {
        if !is_said(&self.token(key)) {
            self.known.insert(key.to_owned(), token.clone());
            if !self.config.is_empty() {
                self.config.insert(key.to_owned(), token.clone());
            }
        }
    }

    fn set_add(&mut self, kind: &'static str, add: bool) {
        self.add_unless_said(kind, add);
        self.add.iter_mut().filter(|(known, _)| *known == kind).for_each(|said| said.1 = add);
    }

    pub fn add_unless_said(&mut self, kind: &'static str, add: bool) {
        if self.add.iter().all(|(known, _)| *known != kind) {
            self.add.push((kind, add));
        }
    }
}

/// Whether something is there and not empty.
fn is_said(token: &Json) -> bool {
    match token {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::String(text) => !text.is_empty(),
        Json::Array(values) => !values.is_empty(),
        Json::Object(map) => !map.is_empty(),
        Json::Number(number) => number.as_f64() != Some(0.0),
    }
}

fn parts<'a>(processor: &'a Json, key: &str) -> &'a [Json] {
    processor[key].as_array().map_or(&[], Vec::as_slice)
}

/// The special token that a part of a template is.
fn special(part: &Json) -> Option<Json> {
    let id = &part["SpecialToken"]["id"];
    is_said(id).then(|| id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn added(post_processor: &Json, config: Json) -> Vec<(&'static str, bool)> {
        let Json::Object(config) = config else { panic!() };
        let mut around = Around::new(config, vec!["bos", "eos"]);
        around.post_processor(&json!({ "post_processor": post_processor }));
        around.add
    }

    #[test]
    fn a_template_without_a_config_names_its_own_tokens() {
        let token = |id: &str| json!({ "SpecialToken": { "id": id, "type_id": 0 } });
        let text = |id: &str| json!({ "Sequence": { "id": id, "type_id": 0 } });
        let (single, pair) = (
            json!([token("<s>"), text("A"), token("</s>")]),
            json!([
                token("<s>"),
                text("A"),
                token("</s>"),
                token("</s>"),
                text("B"),
                token("</s>")
            ]),
        );
        let template = json!({ "type": "TemplateProcessing", "single": single, "pair": pair });
        assert_eq!(added(&template, json!({})), [("bos", true), ("eos", true), ("sep", true)]);
        let short =
            json!({ "type": "TemplateProcessing", "single": [text("A")], "pair": [token("x")] });
        assert_eq!(added(&short, json!({})), []);
    }

    #[test]
    fn what_is_no_post_processor_adds_nothing() {
        for odd in [json!(null), json!(3), json!({ "processors": 1 }), json!([1])] {
            assert_eq!(added(&odd, json!({ "bos_token": "<s>" })), []);
        }
    }
}
