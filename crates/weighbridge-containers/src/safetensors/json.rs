//! A reader for the little JSON that safetensors headers are made of.
//!
//! A general JSON library spends most of an open on things a header never has. This one knows
//! strings, whole numbers and brackets, hands everything else to serde_json, and names
//! the byte of an error. It is as strict as JSON is; `docs/experiments.md` has the measurements.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// A position in a header.
pub(super) struct Json<'a> {
    text: &'a str,
    at: usize,
    /// Where the text starts in the file.
    base: u64,
}

impl<'a> Json<'a> {
    pub(super) fn new(bytes: &'a [u8], base: u64) -> Result<Self> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { text, at: 0, base }),
            Err(error) => Err(Error::malformed("the header is not valid UTF-8")
                .at(base.saturating_add(error.valid_up_to() as u64))),
        }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space, which stays unread.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.step();
        }
        self.byte()
    }

    #[inline]
    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    /// Reads one punctuation mark.
    #[inline]
    pub(super) fn expect(&mut self, mark: u8) -> Result<()> {
        if self.peek() == Some(mark) {
            self.step();
            return Ok(());
        }
        Err(self.missing(&[mark]))
    }

    /// After an item of a list or object: whether another follows.
    #[inline]
    pub(super) fn more(&mut self, end: u8) -> Result<bool> {
        match self.peek() {
            Some(b',') => {
                self.step();
                Ok(true)
            }
            Some(byte) if byte == end => {
                self.step();
                Ok(false)
            }
            _ => Err(self.missing(&[b',', end])),
        }
    }

    /// Reads the opening mark of a list or object: whether it has items.
    #[inline]
    pub(super) fn open(&mut self, start: u8, end: u8) -> Result<bool> {
        self.expect(start)?;
        if self.peek() == Some(end) {
            self.step();
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads a string.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>> {
        self.expect(b'"')?;
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let plain = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        self.at = start.saturating_add(plain);
        let text = self.text.get(start..self.at).unwrap_or_default();
        if text.bytes().any(|byte| byte < b' ') {
            return Err(self.error("a string contains a control character"));
        }
        match self.byte() {
            Some(b'"') => {
                self.step();
                Ok(Cow::Borrowed(text))
            }
            Some(b'\\') => {
                self.at = start.saturating_sub(1);
                self.general::<String>().map(Cow::Owned)
            }
            _ => Err(self.error("unterminated string")),
        }
    }

    /// Reads exactly these bytes, if they are next; white space is not skipped.
    #[inline]
    pub(super) fn literally(&mut self, bytes: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let found = rest.starts_with(bytes.as_bytes());
        if found {
            self.at = self.at.saturating_add(bytes.len());
        }
        found
    }

    /// Reads a whole number that is not negative.
    #[inline]
    pub(super) fn number(&mut self) -> Result<u64> {
        self.peek();
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let mut value = 0u64;
        let mut digits = 0usize;
        // Nineteen digits cannot overflow; longer numbers are left to serde_json.
        for &byte in rest.iter().take(19).take_while(|byte| byte.is_ascii_digit()) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte & 15));
            digits = digits.saturating_add(1);
        }
        let next = rest.get(digits).copied().unwrap_or(b' ');
        let leading_zero = digits > 1 && rest.first() == Some(&b'0');
        if digits == 0 || leading_zero || matches!(next, b'0'..=b'9' | b'.' | b'e' | b'E') {
            return self.general::<u64>();
        }
        self.at = self.at.saturating_add(digits);
        Ok(value)
    }

    /// Passes over any value.
    pub(super) fn skip_value(&mut self) -> Result<()> {
        self.peek();
        self.general::<serde::de::IgnoredAny>().map(drop)
    }

    /// Reads `null`, if that is next.
    pub(super) fn null(&mut self) -> bool {
        self.peek();
        self.literally("null")
    }

    /// Leaves a rare form to serde_json.
    fn general<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.at = self.at.saturating_add(values.byte_offset());
                Ok(value)
            }
            Some(Err(error)) => Err(self.error(&error.to_string())),
            None => Err(self.error("unexpected end")),
        }
    }

    /// Nothing but white space may follow.
    pub(super) fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("unexpected data after the closing `}`")),
        }
    }

    #[cold]
    fn missing(&self, marks: &[u8]) -> Error {
        let marks: Vec<String> =
            marks.iter().map(|mark| format!("`{}`", char::from(*mark))).collect();
        self.error(&format!("expected {}", marks.join(" or ")))
    }

    /// An error at the current byte.
    #[cold]
    pub(super) fn error(&self, what: &str) -> Error {
        let at = self.base.saturating_add(self.at as u64);
        Error::malformed(format!("the header is not valid JSON: {what}")).at(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_are_those_of_json() {
        let json = |text: &'static str| Json::new(text.as_bytes(), 0).unwrap();
        assert_eq!(json(" \"a b\"").string().unwrap(), "a b");
        assert_eq!(json("\"a\\u0041\\n\"").string().unwrap(), "aA\n");
        for bad in ["\"a", "\"a\nb\"", "a", "\"\\x\"", "\"\\ud800\""] {
            assert!(json(bad).string().is_err(), "{bad}");
        }
        assert_eq!(json("18446744073709551615").number().unwrap(), u64::MAX);
        for bad in ["18446744073709551616", "-1", "01", "1.0", "1e3", "", "x"] {
            assert!(json(bad).number().is_err(), "{bad}");
        }
    }
}
