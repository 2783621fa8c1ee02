//! What a repository says about the encoders of its model.

use serde_json::{Map, Value as Json};

use crate::error::{Error, Result};
use crate::families::{settings, whole};
use crate::names::Named;
use crate::text::escaped;

/// What a projector's file is made of.
pub struct Repository<'a> {
    /// config.json as it is.
    pub config: &'a Json,
    /// preprocessor_config.json and processor_config.json, as far as they are there.
    pub processors: [Option<&'a Json>; 2],
    /// The model's weights.
    pub weights: &'a [Named<'a>],
    /// Reads the numbers of a small weight.
    pub numbers: &'a dyn Fn(usize) -> Result<Vec<f32>>,
    /// Reads a file beside the weights, if it is there.
    pub file: &'a dyn Fn(&str) -> Result<Option<Vec<u8>>>,
}

/// The same, with everything that transformers and the converter fill in.
pub struct Facts<'a> {
    /// The whole config.
    pub(crate) config: Json,
    /// The config of the vision encoder; null if there is none.
    pub(crate) vision: Json,
    /// That of the audio encoder.
    pub(crate) audio: Json,
    /// That of the program that prepares images and sound.
    pub(crate) processor: Json,
    /// What it was made of.
    pub(crate) from: &'a Repository<'a>,
}

impl<'a> Facts<'a> {
    /// Reads a repository. `defaults` is what transformers fills in; two pointers say where the configs of
    /// the encoders of images and sound are.
    pub(crate) fn of(from: &'a Repository<'a>, defaults: &str, parts: [&str; 2]) -> Self {
        let defaults = serde_json::from_str(defaults).unwrap_or_default();
        let mut config = from.config.clone();
        fill(&mut config, &defaults);
        let part = |pointer: &str| {
            let found = Some(pointer).filter(|pointer| !pointer.is_empty());
            found.and_then(|pointer| config.pointer(pointer)).cloned().unwrap_or_default()
        };
        let [vision, audio] = parts.map(part);
        Self { vision, audio, processor: processor(from.processors), config, from }
    }

    /// The width of the language model.
    pub(crate) fn text_width(&self) -> Option<Json> {
        let mut whole = self.config.clone();
        for key in ["llm_config", "lm_config", "language_config", "lfm"] {
            if let Some(text) = whole.get(key).cloned() {
                whole["text_config"] = text;
            }
        }
        if let Some(text) = whole.pointer("/thinker_config/text_config").cloned() {
            whole["text_config"] = text;
        }
        settings(&whole).find(&["hidden_size", "n_embd"]).cloned()
    }

    /// How many heads a layer of the vision encoder has.
    pub(crate) fn vision_heads(&self) -> Option<u64> {
        let keys = ["num_attention_heads", "num_heads", "heads"];
        keys.iter().find_map(|key| count(&self.vision, key))
    }

    /// The shape of a weight.
    pub(crate) fn shape_of(&self, end: &str) -> Option<&'a [u64]> {
        let weights = self.from.weights;
        weights.iter().find(|weight| weight.name.ends_with(end)).map(|weight| weight.shape)
    }

    /// A JSON document beside the weights, if it is there.
    pub(crate) fn document(&self, name: &str) -> Result<Option<Json>> {
        let Some(text) = (self.from.file)(name)? else { return Ok(None) };
        crate::config::parse(&text).map(Some).map_err(|error| error.inside(name))
    }
}

/// A number that is not negative.
pub(crate) fn count(of: &Json, key: &str) -> Option<u64> {
    of.get(key).and_then(whole)
}

/// A setting that has to be there.
pub(crate) fn needed(of: &Json, key: &str) -> Result<u64> {
    count(of, key).ok_or_else(|| odd(key, of.get(key)))
}

/// One divided by a setting, without what is behind the point.
pub(crate) fn whole_inverse(of: &Json, key: &str) -> Result<Json> {
    let inverse = of.get(key).and_then(Json::as_f64).map(|ratio| (1.0 / ratio).trunc());
    let inverse = inverse.filter(|inverse| (1.0..=1e6).contains(inverse)).map(Json::from);
    inverse.ok_or_else(|| odd(key, of.get(key)))
}

/// A setting that is there, and not null.
pub(crate) fn given(of: &Json, key: &str) -> Option<Json> {
    of.get(key).filter(|value| !value.is_null()).cloned()
}

/// The error of a setting that is missing, or has a value that is not understood.
pub(crate) fn odd(key: &str, value: Option<&Json>) -> Error {
    match value {
        Some(value) => {
            let shown = escaped(&value.to_string()).into_owned();
            Error::unsupported(format!("config.json: `{key}` {shown} is not supported"))
        }
        None => Error::malformed(format!("config.json has no `{key}`")),
    }
}

/// Sets a setting.
pub(crate) fn set(of: &mut Json, key: &str, value: impl Into<Json>) {
    if of.is_null() {
        *of = Map::new().into();
    }
    if let Some(map) = of.as_object_mut() {
        map.insert(key.to_owned(), value.into());
    }
}

/// Sets a setting that has no value.
pub(crate) fn set_default(of: &mut Json, key: &str, value: impl Into<Json>) {
    if of.get(key).is_none() {
        set(of, key, value);
    }
}

/// Takes another setting's value for one.
pub(crate) fn rename(of: &mut Json, from: &str, to: &str) {
    if let Some(value) = of.get(from).cloned() {
        set(of, to, value);
    }
}

/// Adds what a config does not say.
fn fill(config: &mut Json, defaults: &Json) {
    let (Some(config), Some(defaults)) = (config.as_object_mut(), defaults.as_object()) else {
        return;
    };
    for (key, value) in defaults {
        match config.get_mut(key) {
            Some(own) => fill(own, value),
            None => drop(config.insert(key.clone(), value.clone())),
        }
    }
}

/// What both files say, with what they say of images at the top.
fn processor(files: [Option<&Json>; 2]) -> Json {
    let mut all = Map::new();
    for (file, inner) in files.into_iter().zip(["media_proc_cfg", "image_processor"]) {
        let Some(file) = file.and_then(Json::as_object) else { continue };
        all.extend(file.clone());
        all.extend(file.get(inner).and_then(Json::as_object).cloned().unwrap_or_default());
    }
    all.into()
}
