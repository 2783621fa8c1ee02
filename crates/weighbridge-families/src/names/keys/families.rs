//! A family of models, and how its entries come out of a config.

use serde_json::Value as Json;

use super::Entries;
use super::made::scaling;
use super::settings::{Settings, whole};
use super::table::FAMILIES;
use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::tokenizer;

/// Models whose files have the same entries.
pub(super) struct Family {
    /// Its name in GGUF, with which its keys begin.
    pub architecture: &'static str,
    /// What configs call it under `architectures`.
    pub classes: &'static [&'static str],
    /// What they call it under `model_type`, for those that name no class.
    pub types: &'static [&'static str],
    /// Keys of configs that the converter does not look at.
    pub ignored: &'static [&'static str],
    /// Entries that stand before all but the architecture.
    pub early: &'static [Row],
    /// The entries. One that is set again keeps its place.
    pub rows: &'static [&'static [Row]],
    /// Whether Llama 3's scaling of rotary frequencies is stored as a tensor.
    pub has_rope_freqs: bool,
    /// How its tokenizer is read; none if that is not known.
    pub tokenizer: Option<tokenizer::Kind>,
    /// Whether rotary embeddings may have sections.
    pub has_sections: bool,
}

/// The end of a key (or all of a key of no architecture), its type, and where its value is.
pub(super) type Row = (&'static str, Kind, Get);

/// The type of an entry.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A number of 32 bits without a sign.
    Count,
    /// A single-precision number.
    Number,
    /// Text.
    Text,
    /// Several texts.
    Texts,
    /// A truth value.
    Flag,
    /// A truth value a layer.
    Flags,
    /// Numbers of 32 bits.
    Counts,
}

/// Where a value is.
#[derive(Clone, Copy)]
pub(super) enum Get {
    /// The first of these keys that the config has, if that is not null.
    Any(&'static [&'static str]),
    /// The same; a model without is refused.
    Needed(&'static [&'static str]),
    /// A rotary parameter.
    Rope(&'static [&'static str]),
    /// A rotary parameter of models scaled by YaRN.
    Yarn(&'static [&'static str]),
    /// What follows from several values.
    Made(fn(&Settings) -> Option<Json>),
    /// What follows from this key and others; a model without it is refused.
    MadeOf(&'static str, fn(&Settings) -> Option<Json>),
    /// The number of the file's type.
    FileType,
}

/// The family of a model: by the class of its language part, by its class, or by its type.
pub(super) fn family_of(config: &Json) -> Option<&'static Family> {
    let class = |config: &Json| config["architectures"][0].as_str().map(str::to_owned);
    let stated = class(&config["text_config"]).or_else(|| class(config));
    let types = config["model_type"].as_str();
    FAMILIES.iter().find(|family| match (&stated, types) {
        (Some(class), _) => family.classes.contains(&class.as_str()),
        (None, Some(model_type)) => family.types.contains(&model_type),
        (None, None) => false,
    })
}

impl Family {
    /// Sets some of its entries.
    pub fn write(
        &self,
        rows: &[Row],
        settings: &Settings,
        file_type: u32,
        entries: &mut Entries,
    ) -> Result<()> {
        for &(key, kind, get) in rows {
            let Some(json) = value_of(get, settings, file_type)? else { continue };
            let value = typed(kind, &json).ok_or_else(|| {
                let shown = crate::text::escaped(&json.to_string()).into_owned();
                Error::malformed(format!("config.json: {shown} cannot be {key}"))
            })?;
            let key = match key.starts_with("general.") {
                true => key.to_owned(),
                false => format!("{}.{key}", self.architecture),
            };
            entries.set(key, value);
        }
        Ok(())
    }
}

fn value_of(get: Get, settings: &Settings, file_type: u32) -> Result<Option<Json>> {
    Ok(match get {
        Get::Any(keys) => settings.find(keys).cloned(),
        Get::Needed(keys) => Some(settings.find(keys).cloned().ok_or_else(|| missing(keys))?),
        Get::Rope(keys) => settings.rope(keys).cloned(),
        Get::Yarn(keys) if scaling(settings).as_deref() == Some("yarn") => {
            settings.rope(keys).cloned()
        }
        Get::Yarn(_) => None,
        Get::Made(make) => make(settings),
        Get::MadeOf(key, make) => {
            settings.find(&[key]).ok_or_else(|| missing(&[key]))?;
            make(settings)
        }
        Get::FileType => Some(file_type.into()),
    })
}

fn missing(keys: &[&str]) -> Error {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    Error::malformed(format!("config.json has no {}", keys.join(" or ")))
}

fn typed(kind: Kind, json: &Json) -> Option<Value> {
    Some(match kind {
        Kind::Count => Value::Unsigned(32, whole(json).filter(|count| *count <= u32::MAX.into())?),
        #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
        Kind::Number => Value::F32(json.as_f64()? as f32),
        Kind::Text => Value::text(json.as_str()?),
        Kind::Texts => {
            let texts = json.as_array()?.iter().map(|text| text.as_str().map(Value::text));
            Value::List(texts.collect::<Option<_>>()?)
        }
        Kind::Flag => Value::Bool(json.as_bool()?),
        Kind::Counts => {
            let counts = json.as_array()?.iter().map(|count| {
                let count = count.as_i64().filter(|count| i32::try_from(*count).is_ok());
                count.map(|count| Value::Signed(32, count))
            });
            Value::List(counts.collect::<Option<_>>()?)
        }
        Kind::Flags => {
            let flags = json.as_array()?.iter().map(|flag| flag.as_bool().map(Value::Bool));
            Value::List(flags.collect::<Option<_>>()?)
        }
    })
}
