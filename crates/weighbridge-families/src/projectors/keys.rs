//! The entries of a projector's file.

use serde_json::{Value as Json, json};

pub(crate) use crate::families::Type;

use super::facts::Facts;
use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::families::About;
use crate::names::keys::{described, typed};
use crate::text::escaped;
use crate::tokenizer::Entries;

/// A key (behind `clip.`, unless it begins with `general.`, or with a slash, which goes), its type, and where its
/// value is.
pub(crate) type KeyRow = (&'static str, Type, Where);

/// Where a value is.
#[derive(Clone, Copy)]
pub(crate) enum Where {
    /// Under the first of these keys that the vision encoder's config has.
    Vision(&'static [&'static str]),
    /// The same; if it has none, this number.
    VisionOr(&'static [&'static str], f64),
    /// In the audio encoder's config.
    Audio(&'static [&'static str]),
    /// The same; if it has none, this number.
    AudioOr(&'static [&'static str], f64),
    /// In the config.
    Whole(&'static [&'static str]),
    /// The same; if it has none, this number.
    WholeOr(&'static [&'static str], f64),
    /// In the config of the program that prepares images and sound.
    Processor(&'static [&'static str]),
    /// This text.
    Says(&'static str),
    /// True.
    Yes,
    /// This number.
    Is(f64),
    /// The width of the language model.
    TextWidth,
    /// What follows from several; nothing is written if that is none.
    Made(fn(&Facts<'_>) -> Result<Option<Json>>),
    /// The number of the file's type.
    FileType,
}

/// The entries of a file, in the converter's order.
pub(super) fn entries(
    keys: &[&[KeyRow]],
    facts: &Facts<'_>,
    about: &About<'_>,
) -> Result<Vec<(String, Value)>> {
    let mut all = Entries::default();
    all.text("general.architecture", "clip");
    for (key, value) in described(about, "mmproj") {
        all.set(key, value);
    }
    // A model of images may hear nothing.
    let is_deaf = facts.audio.is_null() && !facts.vision.is_null();
    for &(key, kind, place) in keys.iter().copied().flatten() {
        if is_deaf && (key.starts_with("audio.") || key == "has_audio_encoder") {
            continue;
        }
        let key = match key.strip_prefix('/') {
            Some(whole) => whole.to_owned(),
            None if key.starts_with("general.") => key.to_owned(),
            None => format!("clip.{key}"),
        };
        let Some(json) = value_of(place, facts, about.file_type)? else { continue };
        let value = typed(kind, &json).ok_or_else(|| {
            let shown = escaped(&json.to_string()).into_owned();
            Error::malformed(format!("config.json: invalid value for {key}: {shown}"))
        })?;
        all.set(key, value);
    }
    all.id("general.quantization_version", 2);
    Ok(all.finished())
}

fn value_of(place: Where, facts: &Facts<'_>, file_type: u32) -> Result<Option<Json>> {
    const CONFIG: &str = "config.json";
    let (vision, audio, whole) = (&facts.vision, &facts.audio, &facts.config);
    Ok(Some(match place {
        Where::Vision(keys) => needed(vision, keys, "the vision config in config.json")?,
        Where::VisionOr(keys, other) => first(vision, keys).unwrap_or(other.into()),
        Where::Audio(keys) => needed(audio, keys, "the audio config in config.json")?,
        Where::AudioOr(keys, other) => first(audio, keys).unwrap_or(other.into()),
        Where::Whole(keys) => needed(whole, keys, CONFIG)?,
        Where::WholeOr(keys, other) => first(whole, keys).unwrap_or(other.into()),
        Where::Processor(keys) => needed(&facts.processor, keys, "preprocessor_config.json")?,
        Where::Says(text) => text.into(),
        Where::Yes => true.into(),
        Where::Is(number) => json!(number),
        Where::TextWidth => facts.text_width().ok_or_else(|| missing(&["hidden_size"], CONFIG))?,
        Where::Made(make) => return make(facts),
        Where::FileType => file_type.into(),
    }))
}

/// The value of the first of these keys that is there.
pub(crate) fn first(of: &Json, keys: &[&str]) -> Option<Json> {
    keys.iter().find_map(|key| of.get(*key)).cloned()
}

fn needed(of: &Json, keys: &[&str], place: &str) -> Result<Json> {
    first(of, keys).ok_or_else(|| missing(keys, place))
}

fn missing(keys: &[&str], place: &str) -> Error {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    Error::malformed(format!("{place} has no {}", keys.join(" or ")))
}
