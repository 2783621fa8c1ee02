//! A config with everything that transformers fills in, as the converter sees it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::defaults::{Defaults, Head, KeyHeads};

mod rope;

/// Where configs of several models have that of the language model. The last of these that the
/// converter looks at comes first.
const PARTS: &[&str] = &[
    "/lfm",
    "/language_config",
    "/thinker_config/text_config",
    "/lm_config",
    "/llm_config",
    "/text_config",
];

/// The config of the language model within that of several.
pub(crate) fn text_part(config: &Json) -> Option<&Json> {
    PARTS.iter().find_map(|pointer| config.pointer(pointer)).filter(|part| part.is_object())
}

/// The values of a model's config.
pub(crate) struct Settings {
    values: Map<String, Json>,
    rope: Map<String, Json>,
    /// The keys that were asked for.
    read: RefCell<BTreeSet<String>>,
}

impl Settings {
    /// Reads config.json; what it says of the language model wins over what it says of the whole.
    /// `class` knows what transformers fills in for a `model_type`.
    pub fn of(config: &Json, class: impl Fn(&str) -> Option<&'static Defaults>) -> Self {
        let of = |values: &Map<String, Json>| {
            values.get("model_type").and_then(Json::as_str).and_then(&class)
        };
        let mut values = config.as_object().cloned().unwrap_or_default();
        let rope = match text_part(config).and_then(Json::as_object).cloned() {
            Some(mut text) => {
                let whole = values.get("model_type").and_then(Json::as_str).unwrap_or_default();
                let class = of(&text).or_else(|| class(&format!("{whole}_text")));
                let rope = fill(&mut text, class);
                values.extend(text);
                rope
            }
            None => {
                // Older configs of several models have that of the language model beside the rest.
                let whole = values.get("model_type").and_then(Json::as_str).unwrap_or_default();
                let class = of(&values).or_else(|| class(&format!("{whole}_text")));
                fill(&mut values, class)
            }
        };
        let rope = rope::mirrored(rope, &values);
        Self { values, rope, read: RefCell::default() }
    }

    /// The value of the first of these keys that is there; none if that is null.
    pub fn find(&self, keys: &[&str]) -> Option<&Json> {
        if let Some(key) = keys.iter().find(|key| self.values.contains_key(**key)) {
            self.note(key);
        }
        first(&self.values, keys)
    }

    /// Whether a key is stated, if only as null.
    pub fn states(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    fn note(&self, key: &str) {
        if !self.was_read(key) {
            self.read.borrow_mut().insert(key.to_owned());
        }
    }

    /// Whether a key was asked for.
    pub fn was_read(&self, key: &str) -> bool {
        self.read.borrow().contains(key)
    }

    /// A value by the name that [`Self::all`] gives it; null where there is none. Nothing is noted.
    pub fn named(&self, key: &str) -> Json {
        let of_full = format!("full_attention.{key}");
        let is_it = |(name, _): &(String, Json)| *name == key || *name == of_full;
        let own = self.values.get(key).filter(|_| !rope::is_stated_by(key)).cloned();
        let found = own.or_else(|| rope::named(&self.rope).into_iter().find(is_it).map(|(_, v)| v));
        found.unwrap_or_default()
    }

    /// A number that is not negative.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.find(&[key]).and_then(whole)
    }

    /// A rotary parameter, of the layers that see everything.
    pub fn rope(&self, keys: &[&str]) -> Option<&Json> {
        let full = self.rope.get("full_attention").and_then(Json::as_object);
        first(full.unwrap_or(&self.rope), keys)
    }

    /// The base of rotary frequencies in layers with a sliding window.
    pub fn local_theta(&self) -> Option<&Json> {
        self.note("sliding_attention.rope_theta");
        self.rope.get("sliding_attention")?.get("rope_theta").filter(|theta| !theta.is_null())
    }

    /// Whether positions have several dimensions.
    pub fn has_sections(&self) -> bool {
        self.rope.contains_key("mrope_section")
    }

    /// The width of a head: what the config says, or what the heads make of the hidden size.
    pub fn head_width(&self) -> Option<u64> {
        let stated = self.count("head_dim").or_else(|| self.count("attention_head_dim"));
        stated.or_else(|| self.head_share())
    }

    /// The hidden size by the number of heads.
    pub fn head_share(&self) -> Option<u64> {
        self.count("hidden_size")?.checked_div(self.count("num_attention_heads")?)
    }

    /// All values by their names, with the rotary parameters under one name each, wherever the config
    /// has them.
    pub fn all(&self) -> Vec<(String, Json)> {
        let own = self.values.iter().filter(|(key, _)| !rope::is_stated_by(key));
        let own = own.map(|(key, value)| (key.clone(), value.clone()));
        own.chain(rope::named(&self.rope)).filter(|(_, value)| !value.is_null()).collect()
    }

    /// States something that no config does.
    pub fn state(&mut self, key: &str, value: Json) {
        self.values.insert(key.to_owned(), value);
    }

    /// Leaves out keys that a family does not look at.
    pub fn forget(&mut self, keys: &[&str]) {
        self.values.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// The value of the first of these keys that is there; none if that is null.
fn first<'a>(values: &'a Map<String, Json>, keys: &[&str]) -> Option<&'a Json> {
    keys.iter().find_map(|key| values.get(*key)).filter(|value| !value.is_null())
}

/// A whole number that is not negative, also where it is written with a point.
pub(crate) fn whole(value: &Json) -> Option<u64> {
    let exact = |number: f64| number >= 0.0 && number.fract() == 0.0 && number < 9e15;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is whole and in range.
    let from_float = |number: f64| exact(number).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(from_float))
}

/// Adds what a class takes for granted, and returns the rotary parameters.
fn fill(values: &mut Map<String, Json>, class: Option<&Defaults>) -> Map<String, Json> {
    let Some(class) = class else { return rope::as_stated(values) };
    let sizes = class.names.iter().zip(class.sizes).filter(|(_, size)| *size > 0);
    let sizes = sizes.map(|(key, size)| (*key, Json::from(size)));
    let more = class.more.iter().chain([&class.epsilon]).filter(|(key, _)| !key.is_empty());
    for (key, value) in sizes.chain(more.map(|&(key, value)| (key, Json::from(value)))) {
        values.entry(key).or_insert(value);
    }
    for &(key, flag) in class.flags {
        values.entry(key).or_insert(flag.into());
    }
    for &(key, text) in class.texts {
        values.entry(key).or_insert(text.into());
    }
    if let Some(context) = class.original_context {
        values.entry("original_max_position_embeddings").or_insert(context.into());
    }
    let size = |key: &str| values.get(key).and_then(whole);
    let heads = size("num_attention_heads");
    let share =
        size("hidden_size").zip(heads).and_then(|(hidden, heads)| hidden.checked_div(heads));
    match class.head {
        Head::Unsaid => {}
        Head::Share => unless_said(values, "head_dim", share),
        Head::Of(width) => drop(values.entry("head_dim").or_insert(width.into())),
        Head::OfOrShare(width) => {
            values.entry("head_dim").or_insert(width.into());
            unless_said(values, "head_dim", share);
        }
        Head::As(key) => unless_said(values, "head_dim", size(key)),
        Head::AlwaysAs(key) => {
            let width = values.get(key).cloned().unwrap_or_default();
            values.insert("head_dim".into(), width);
        }
    }
    if class.learns_positions {
        return rope::as_stated(values);
    }
    if let KeyHeads::Of(key_heads) = class.key_heads {
        values.entry("num_key_value_heads").or_insert(key_heads.into());
    }
    if !matches!(class.key_heads, KeyHeads::Unsaid) {
        unless_said(values, "num_key_value_heads", heads);
    }
    rope::filled(values, class)
}

/// Sets a value that is missing or null.
fn unless_said(values: &mut Map<String, Json>, key: &str, value: Option<u64>) {
    let said = values.get(key).is_some_and(|value| !value.is_null());
    if let Some(value) = value.filter(|_| !said) {
        values.insert(key.to_owned(), value.into());
    }
}
