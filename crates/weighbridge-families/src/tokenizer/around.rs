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
    bos: Json,
    cls: Json,
    eos: Json,
    sep: Json,
}

impl Around {
    pub fn new(config: Map<String, Json>, kinds: Vec<&'static str>) -> Self {
        let null = || Json::Null;
        Self { config, kinds, add: Vec::new(), bos: null(), cls: null(), eos: null(), sep: null() }
    }

    /// Takes over what the post-processor of `tokenizer.json` says.
    pub fn post_processor(&mut self, tokenizer: &Json) {
        let named = |key: &str| self.config.get(key).cloned().unwrap_or_default();
        (self.bos, self.cls) = (named("bos_token"), named("cls_token"));
        (self.eos, self.sep) = (named("eos_token"), named("sep_token"));
        if !is_said(&self.bos) && is_said(&self.cls) {
            self.bos = self.cls.clone();
            self.name("bos_token", self.bos.clone());
        }
        if !is_said(&self.eos) && is_said(&self.sep) {
            self.eos = self.sep.clone();
            self.name("eos_token", self.eos.clone());
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
        let token = |key: &str, other: &Json| processor[key].get(0).unwrap_or(other).clone();
        if !is_said(&self.cls) && !self.config.is_empty() {
            self.cls = token("cls", &self.bos);
            self.name("cls_token", self.cls.clone());
        }
        if !is_said(&self.sep) && !self.config.is_empty() {
            self.sep = token("sep", &self.eos);
            self.name("sep_token", self.sep.clone());
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
        if self.config.is_empty() {
            self.bos = token.clone();
        } else if *token != self.bos && *token != self.cls {
            if !is_said(&self.bos) {
                self.bos = token.clone();
                self.name("bos_token", token.clone());
            }
            if !is_said(&self.cls) {
                self.cls = token.clone();
                self.name("cls_token", token.clone());
            }
        }
        let is_known = *token == self.bos || *token == self.cls;
        self.set_add("bos", is_known);
    }

    /// The special token that a template ends with. It is the end of a text from now on; what was
    /// called so before becomes the end of a turn, or of a message.
    fn trailing(&mut self, token: &Json) {
        if !self.config.is_empty() && *token != self.eos {
            let vacant = ["eot", "eom"].into_iter().find(|kind| !self.kinds.contains(kind));
            if let Some(kind) = vacant {
                self.kinds.push(kind);
                self.name(&format!("{kind}_token"), self.eos.clone());
            }
            self.name("eos_token", token.clone());
        }
        self.eos = token.clone();
        self.set_add("eos", true);
    }

    /// A template of two texts: whether one or two tokens separate them.
    fn pair(&mut self, pair: &[Json], first: Option<&Json>, last: Option<&Json>) {
        let inner = match (pair.first(), first) {
            (Some(start), Some(first)) if special(start).as_ref() == Some(first) => &pair[1..],
            _ => pair,
        };
        // The end is looked for in the whole template, even where it is a single token.
        let inner = match (pair.last(), last, inner.split_last()) {
            (Some(end), Some(last), Some((_, before))) if special(end).as_ref() == Some(last) => {
                before
            }
            _ => inner,
        };
        let [a, between @ .., b] = inner else { return };
        let is_sequence = |part: &Json, id: &str| part["Sequence"]["id"] == id;
        if !is_sequence(a, "A") || !is_sequence(b, "B") || between.is_empty() {
            return;
        }
        let separates =
            |part: &Json| special(part).is_some_and(|token| token == self.sep || token == self.eos);
        let by_first = separates(&between[0]) && last.is_none();
        let add = by_first || between.len() == 2 && separates(&between[1]);
        self.set_add("sep", add);
        if add && !is_said(&self.sep) {
            self.name("sep_token", self.eos.clone());
        }
    }

    /// Names a token in the config, if there is one.
    fn name(&mut self, key: &str, token: Json) {
        if !self.config.is_empty() {
            self.config.insert(key.to_owned(), token);
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
