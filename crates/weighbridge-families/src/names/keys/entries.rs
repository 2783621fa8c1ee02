//! How entries come out of a config.

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::families::{Family, Get, KeyRow, Settings, Type, scaling, whole};
use crate::tokenizer::Entries;

/// How keys begin that are not below an architecture.
const WHOLE: [&str; 4] = ["general.", "xielu.", "diffusion.", "tokenizer."];

/// Sets some of a family's entries.
pub(super) fn write(
    family: &Family,
    rows: &[KeyRow],
    settings: &Settings,
    file_type: u32,
    entries: &mut Entries,
) -> Result<()> {
    for &(key, kind, get) in rows {
        let Some(json) = value_of(get, settings, file_type)? else { continue };
        let value = typed(kind, &json).ok_or_else(|| {
            let shown = crate::text::escaped(&json.to_string()).into_owned();
            Error::malformed(format!("config.json: invalid value for {key}: {shown}"))
        })?;
        let is_whole = WHOLE.iter().any(|start| key.starts_with(start));
        let key = if is_whole { key.to_owned() } else { format!("{}.{key}", family.architecture) };
        entries.set(key, value);
    }
    Ok(())
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

/// A value of a type.
pub(crate) fn typed(kind: Type, json: &Json) -> Option<Value> {
    Some(match kind {
        Type::Count => Value::Unsigned(32, whole(json).filter(|count| *count <= u32::MAX.into())?),
        Type::CountOrCounts if json.is_array() => list(json, signed)?,
        Type::CountOrCounts => typed(Type::Count, json)?,
        Type::Number => single(json)?,
        Type::Text => Value::text(json.as_str()?),
        Type::Texts => list(json, |text| text.as_str().map(Value::text))?,
        Type::Flag => Value::Bool(json.as_bool()?),
        Type::Counts => list(json, signed)?,
        Type::Numbers => list(json, single)?,
        Type::Listed if json[0].is_i64() => list(json, signed)?,
        Type::Listed => list(json, |number| single(number).filter(|_| !json[0].is_null()))?,
        Type::FlagList => list(json, |flag| flag.as_bool().map(Value::Bool))?,
    })
}

fn list(json: &Json, of: impl Fn(&Json) -> Option<Value>) -> Option<Value> {
    json.as_array()?.iter().map(of).collect::<Option<_>>().map(Value::List)
}

/// A number of 32 bits with a sign.
pub(super) fn signed(json: &Json) -> Option<Value> {
    let number = json.as_i64().filter(|number| i32::try_from(*number).is_ok());
    number.map(|number| Value::Signed(32, number))
}

/// A single-precision number.
pub(super) fn single(json: &Json) -> Option<Value> {
    #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
    json.as_f64().map(|number| Value::F32(number as f32))
}
