//! Reads a config.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{Error, Result};

/// A document as Python writes and reads it: with a byte order mark, with numbers that are not
/// finite. The one reader of configs, whether a model is opened or its config is written anew.
pub fn parse(text: &[u8]) -> Result<Json> {
    parse_as(text)
}

/// Parses the text of a config into something other than JSON values, for documents with more values than
/// they are worth.
pub fn parse_as<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.starts_with(b"version https://git-lfs") {
        return Err(Error::malformed("it is a Git LFS pointer"));
    }
    serde_json::from_slice(text)
        .or_else(|error| match without_infinities(text) {
            Some(plain) => serde_json::from_slice(&plain),
            None => Err(error),
        })
        .map_err(|error| Error::malformed(format!("it is not valid JSON ({error})")))
}

/// Python writes `NaN` and `Infinity` into JSON and reads them back; they become `null` here.
fn without_infinities(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut quoted, mut changed) = (text, false, false);
    while let Some((&byte, after)) = rest.split_first() {
        let word =
            [&b"-Infinity"[..], b"Infinity", b"NaN"].into_iter().find(|w| rest.starts_with(w));
        match (byte, word) {
            (b'\\', _) if quoted => {
                let pair = rest.len().min(2);
                out.extend_from_slice(&rest[..pair]);
                rest = &rest[pair..];
            }
            (_, Some(word)) if !quoted => {
                out.extend_from_slice(b"null");
                rest = &rest[word.len()..];
                changed = true;
            }
            _ => {
                quoted ^= byte == b'"';
                out.push(byte);
                rest = after;
            }
        }
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_numbers_are_read() {
        let json =
            parse(br#"{"a": [0.0, Infinity, -Infinity, NaN], "NaN": "NaN \" Infinity"}"#).unwrap();
        assert_eq!(json["a"], serde_json::json!([0.0, null, null, null]));
        assert_eq!(json["NaN"], "NaN \" Infinity");
        assert!(parse(b"{\"a\": Infinity").is_err());
        assert!(parse(b"\xef\xbb\xbf{}").is_ok());
        assert!(parse(b"\"\\").is_err());
    }
}
