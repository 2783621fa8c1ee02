//! Entries of a file by key, each of the type it must have.

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::text::shortened;

/// What the file says, by key.
pub(super) struct Metadata<'a>(pub &'a dyn Fn(&str) -> Option<Value>);

impl Metadata<'_> {
    pub fn text(&self, key: &str) -> Result<Option<String>> {
        let Some(value) = (self.0)(key) else { return Ok(None) };
        let text = value.as_str().map(str::to_owned);
        text.map(Some).ok_or_else(|| other(key, &value, "text"))
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        match (self.0)(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(value) => Err(other(key, &value, "a boolean")),
        }
    }

    pub fn number(&self, key: &str) -> Result<Option<u64>> {
        let Some(value) = (self.0)(key) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| other(key, &value, "a non-negative integer"))
    }

    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>> {
        self.list(key, "text", |value| value.as_str().map(str::to_owned))
    }

    pub fn numbers(&self, key: &str) -> Result<Option<Vec<u64>>> {
        self.list(key, "a non-negative integer", Value::as_u64)
    }

    /// Numbers that order something, which some write without a fraction. One that is not finite
    /// orders nothing.
    pub fn scores(&self, key: &str) -> Result<Option<Vec<f32>>> {
        self.list(key, "a finite f32", |value| match value {
            Value::F32(score) if score.is_finite() => Some(*score),
            // Short numbers, of which none is lost.
            Value::Signed(32, score) => Some(*score as f32),
            _ => None,
        })
    }

    /// Bytes, whose sign depends on who wrote them.
    pub fn bytes(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.list(key, "a byte", |value| match *value {
            Value::Unsigned(8, value) => u8::try_from(value).ok(),
            Value::Signed(8, value) => i8::try_from(value).ok().map(i8::cast_unsigned),
            _ => None,
        })
    }

    fn list<T>(
        &self,
        key: &str,
        wanted: &str,
        of: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(value) = (self.0)(key) else { return Ok(None) };
        let Some(values) = value.as_list() else { return Err(other(key, &value, "a list")) };
        let element = |(at, value): (usize, &Value)| {
            of(value).ok_or_else(|| other(&format!("{key}[{at}]"), value, wanted))
        };
        values.iter().enumerate().map(element).collect::<Result<_>>().map(Some)
    }
}

/// A value that the file has to have.
pub(super) fn needed<T>(key: &str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::unsupported(format!("the file has no `{key}`")))
}

fn other(key: &str, value: &Value, wanted: &str) -> Error {
    let key = shortened(key, 80);
    Error::malformed(format!("`{key}` is {}, expected {wanted}", value.type_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_their_types() {
        let known = |key: &str| match key {
            "raw" => Some(Value::List(vec![Value::text("a"), Value::RawText([0xff].into())])),
            "signs" => Some(Value::List(vec![Value::Signed(8, -1), Value::Unsigned(8, 254)])),
            "score" => Some(Value::List(vec![Value::F32(f32::NAN)])),
            _ => None,
        };
        let metadata = Metadata(&known);
        let message = |error: Error| error.message().to_owned();
        assert_eq!(metadata.bytes("signs").unwrap(), Some(vec![255, 254]));
        assert_eq!(
            message(metadata.texts("raw").unwrap_err()),
            "`raw[1]` is string, not UTF-8, expected text"
        );
        assert_eq!(
            message(metadata.scores("score").unwrap_err()),
            "`score[0]` is f32, expected a finite f32"
        );
        assert_eq!(
            message(metadata.text("raw").unwrap_err()),
            "`raw` is array[mixed], expected text"
        );
        assert_eq!(metadata.flag("none").unwrap(), None);
    }
}
