//! Special tokens: their ids, which of them are added around a text, and flags of the normalizer.
//!
//! The names of special tokens are in `tokenizer_config.json`, their ids in `tokenizer.json`; what is
//! missing there, `config.json` may have. The post-processor of `tokenizer.json` has the last word on
//! what is added.

use serde_json::Value as Json;

use super::around::Around;
use super::document::Document;
use super::entries::Entries;
use super::files::{Files, TOKENIZER, content_of, wrong};
use super::merges::Merge;
use super::templates;
use crate::catalog::Texts;
use crate::error::{Error, Result};
use crate::text::shortened;

/// The kinds of special tokens that are looked for, in this order.
pub(super) const KINDS: [&str; 7] = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"];

/// The keys of those kinds that have one.
pub(super) const IDS: [(&str, &str); 8] = [
    ("bos", "tokenizer.ggml.bos_token_id"),
    ("eos", "tokenizer.ggml.eos_token_id"),
    ("unk", "tokenizer.ggml.unknown_token_id"),
    // Spelled so by everybody who writes or reads it.
    ("sep", "tokenizer.ggml.seperator_token_id"),
    ("pad", "tokenizer.ggml.padding_token_id"),
    ("mask", "tokenizer.ggml.mask_token_id"),
    ("eot", "tokenizer.ggml.eot_token_id"),
    ("eom", "tokenizer.ggml.eom_token_id"),
];

pub(super) const ADDED: [(&str, &str); 3] = [
    ("bos", "tokenizer.ggml.add_bos_token"),
    ("eos", "tokenizer.ggml.add_eos_token"),
    ("sep", "tokenizer.ggml.add_sep_token"),
];

/// What to do with an id that the vocabulary does not reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beyond {
    /// It is left out.
    LeaveOut(usize),
    /// It is an error.
    Refuse(usize),
}

/// What is known about special tokens.
pub(super) struct Special {
    ids: Vec<(&'static str, u64)>,
    around: Around,
    pub templates: Option<Json>,
    lowercase: Option<bool>,
    strip_accents: Option<bool>,
    beyond: Beyond,
}

impl Special {
    /// Reads all there is about tokens of these kinds.
    pub fn read(files: &Files<'_>, kinds: &[&'static str], beyond: Beyond) -> Result<Self> {
        let mut special = Self {
            ids: Vec::new(),
            around: Around::new(files.config.clone(), kinds.to_vec()),
            templates: None,
            lowercase: None,
            strip_accents: None,
            beyond,
        };
        if let Some(tokenizer) = &files.tokenizer {
            special.normalizer(&tokenizer["normalizer"]);
            special.around.post_processor(tokenizer);
        }
        if !special.around.config.is_empty() {
            special.templates = templates::read(files)?;
            special.named(files)?;
        }
        special.of_the_model(files.repository.config)?;
        Ok(special)
    }

    /// Ids of the tokens that `tokenizer_config.json` names.
    fn named(&mut self, files: &Files<'_>) -> Result<()> {
        for kind in self.around.kinds.clone() {
            if let Some(&Json::Bool(add)) = self.around.config.get(&format!("add_{kind}_token")) {
                self.around.add_unless_said(kind, add);
            }
            let content = self.around.config.get(&format!("{kind}_token")).and_then(content_of);
            let found = files.added_tokens().find(|token| content == token["content"].as_str());
            if let Some(token) = found.filter(|_| content.is_some()) {
                self.set(kind, &token["id"])?;
            }
        }
        Ok(())
    }

    /// Ids that the model's config states.
    fn of_the_model(&mut self, config: &Json) -> Result<()> {
        for kind in self.around.kinds.clone() {
            let key = format!("{kind}_token_id");
            let id = match &config[&key] {
                Json::Null => &config["text_config"][&key],
                id => id,
            };
            self.set(kind, id)?;
        }
        Ok(())
    }

    /// Sets the id of a kind that has none yet. What is not a whole number is ignored.
    pub fn set(&mut self, kind: &'static str, id: &Json) -> Result<()> {
        let Some(number) = id.as_number().filter(|number| !number.is_f64()) else { return Ok(()) };
        let Some(id) = number.as_u64() else {
            return Err(Error::malformed(format!("the {kind} token has the invalid ID {number}")));
        };
        if self.ids.iter().any(|(known, _)| *known == kind) {
            return Ok(());
        }
        match self.beyond {
            Beyond::LeaveOut(tokens) if id >= tokens as u64 => return Ok(()),
            Beyond::Refuse(tokens) if id >= tokens as u64 => {
                let message = format!(
                    "the {kind} token ID {id} is out of range: the vocabulary has {tokens} \
                     tokens"
                );
                return Err(Error::malformed(message));
            }
            _ => {}
        }
        self.ids.push((kind, id));
        Ok(())
    }

    /// Whether no kind has an id.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Gives a kind that has an id another one.
    pub fn replace(&mut self, kind: &str, id: u64) {
        self.ids.iter_mut().filter(|(known, _)| *known == kind).for_each(|known| known.1 = id);
    }

    /// Sets the id of a kind, whatever it was.
    pub fn put(&mut self, kind: &'static str, id: u64) {
        match self.ids.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known = id,
            None => self.ids.push((kind, id)),
        }
    }

    /// Whether a text is lowercased or loses its accents. Depth is bounded by that of the document.
    fn normalizer(&mut self, normalizer: &Json) {
        let mut left = vec![normalizer];
        while let Some(one) = left.pop() {
            match one["type"].as_str() {
                Some("Lowercase") => self.lowercase = Some(true),
                Some("StripAccents") => self.strip_accents = Some(true),
                Some("BertNormalizer") => {
                    // A null is the same as nothing said.
                    let stated = |key: &str, before| match one.get(key) {
                        Some(value) => value.as_bool(),
                        None => before,
                    };
                    self.lowercase = stated("lowercase", self.lowercase);
                    self.strip_accents = stated("strip_accents", self.strip_accents);
                }
                Some("Sequence") => {
                    left.extend(one["normalizers"].as_array().into_iter().flatten().rev());
                }
                _ => {}
            }
        }
    }

    pub fn write(self, entries: &mut Entries) -> Result<()> {
        for (kind, id) in self.ids {
            if let Some(key) = key_of(&IDS, kind) {
                entries.id(key, id);
            }
        }
        for (kind, add) in self.around.add {
            if let Some(key) = key_of(&ADDED, kind) {
                entries.flag(key, add);
            }
        }
        if let Some(templates) = &self.templates {
            templates::write(templates, entries)?;
        }
        let flags = [
            ("tokenizer.ggml.normalizer.lowercase", self.lowercase),
            ("tokenizer.ggml.normalizer.strip_accents", self.strip_accents),
        ];
        for (key, flag) in flags.into_iter().filter_map(|(key, flag)| Some((key, flag?))) {
            entries.flag(key, flag);
        }
        Ok(())
    }
}

/// The key of a kind in one of the lists, if it has one.
pub(super) fn key_of(keys: &[(&str, &'static str)], kind: &str) -> Option<&'static str> {
    keys.iter().find(|(known, _)| *known == kind).map(|(_, key)| *key)
}

fn join(text: &mut String, a: &str, b: &str) {
    let spelled = |letter: char| if letter == ' ' { 'Ġ' } else { letter };
    text.extend(a.chars().map(spelled));
    text.push(' ');
    text.extend(b.chars().map(spelled));
}

/// The merges of a byte-pair tokenizer as texts: two parts with a space between them. A space inside
/// a part is spelled as byte-level vocabularies spell it.
pub(super) fn merges(tokenizer: &Document) -> Result<Texts> {
    let mut texts = Texts::default();
    let Some(merges) = &tokenizer.merges else { return Ok(texts) };
    let is_text = matches!(merges.iter().next(), Some(Merge::Text(_)));
    for merge in merges.iter() {
        match merge {
            Merge::Text(text) if is_text => texts.push(text),
            Merge::Pair(a, b) if !is_text => texts.push_with(|all| join(all, a, b)),
            odd => {
                let merge = shortened(&odd.to_json().to_string(), 40);
                let message = format!("merge `{merge}` does not have two parts");
                return Err(wrong(TOKENIZER, message));
            }
        }
    }
    texts.shrink();
    Ok(texts)
}
