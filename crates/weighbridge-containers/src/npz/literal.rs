//! The Python literal in an NPY header, read without a Python parser.
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//! ```
//!
//! Keys come in any order, with any spacing and either quote; Python 2 wrote long integers as
//! `3L` and could put a `u` or `b` before a string. A structured type is a list of tuples; it is
//! skipped, and only its text is shown.

use crate::catalog::Shape;
use crate::error::{Error, Result};
use crate::limits::Budget;

/// The three entries of a header.
pub(super) struct Entries<'a> {
    pub(super) descr: Descr<'a>,
    pub(super) fortran: bool,
    pub(super) shape: Shape,
}

/// The type, as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Descr<'a> {
    /// A string such as `<f4`.
    Simple(&'a [u8]),
    /// Anything else: the source text of a structured type.
    Structured(&'a [u8]),
}

/// numpy's own limit.
const MAX_DIMENSIONS: usize = 64;

/// Reads a header's dictionary, which starts at byte `start`.
pub(super) fn parse<'a>(text: &'a [u8], start: u64, budget: &Budget) -> Result<Entries<'a>> {
    let mut scanner = Scanner { text, at: 0, budget };
    scanner.entries().map_err(|e| e.at(start.saturating_add(scanner.at as u64)))
}

struct Scanner<'a, 'b> {
    text: &'a [u8],
    at: usize,
    budget: &'b Budget,
}

impl<'a> Scanner<'a, '_> {
    fn entries(&mut self) -> Result<Entries<'a>> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            let repeated = match key {
                b"descr" => descr.replace(self.descr()?).is_some(),
                b"fortran_order" => fortran.replace(self.truth()?).is_some(),
                b"shape" => shape.replace(self.shape()?).is_some(),
                _ => {
                    return Err(Error::malformed("the array header has an unknown entry"));
                }
            };
            if repeated {
                return Err(Error::malformed("the array header has a duplicate entry"));
            }
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.space();
        let (Some(descr), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
            return Err(Error::malformed(
                "the array header lacks one of `descr`, `fortran_order` and `shape`",
            ));
        };
        match self.peek() {
            None => Ok(Entries { descr, fortran, shape }),
            Some(_) => Err(Error::malformed("the array header has data after its dictionary")),
        }
    }

    fn descr(&mut self) -> Result<Descr<'a>> {
        self.space();
        match self.peek() {
            Some(b'[' | b'(' | b'{') => self.balanced().map(Descr::Structured),
            _ => self.string().map(Descr::Simple),
        }
    }

    fn truth(&mut self) -> Result<bool> {
        self.space();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (value, len) = match rest {
            [b'T', b'r', b'u', b'e', ..] => (true, 4),
            [b'F', b'a', b'l', b's', b'e', ..] => (false, 5),
            _ => return Err(Error::malformed("`fortran_order` must be True or False")),
        };
        self.at = self.at.saturating_add(len);
        Ok(value)
    }

    fn shape(&mut self) -> Result<Shape> {
        let mut shape = Shape::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            if shape.len() == MAX_DIMENSIONS {
                return Err(Error::malformed("the array has more than 64 dimensions"));
            }
            shape.push(self.number()?);
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<u64> {
        self.space();
        let start = self.at;
        let mut value = Some(0u64);
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let digit = u64::from(digit.saturating_sub(b'0'));
            value = value.and_then(|value| value.checked_mul(10)?.checked_add(digit));
            self.at = self.at.saturating_add(1);
        }
        if start == self.at {
            return Err(Error::malformed("an array dimension is not an integer"));
        }
        if matches!(self.peek(), Some(b'L' | b'l')) {
            self.at = self.at.saturating_add(1);
        }
        value.ok_or_else(|| Error::malformed("an array dimension is too large"))
    }

    /// The text between quotes. Escapes are left as they are: no key or type needs one.
    fn string(&mut self) -> Result<&'a [u8]> {
        self.space();
        if matches!(self.peek(), Some(b'u' | b'b' | b'U' | b'B')) {
            self.at = self.at.saturating_add(1);
        }
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        let Some(quote) = quote else {
            return Err(Error::malformed("the array header needs a string here"));
        };
        self.at = self.at.saturating_add(1);
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(Error::malformed("unterminated string in the array header")),
                Some(byte) if byte == quote => break,
                Some(b'\\') => self.at = self.at.saturating_add(2),
                Some(_) => self.at = self.at.saturating_add(1),
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        self.at = self.at.saturating_add(1);
        Ok(text)
    }

    /// The text from an opening bracket to the one that closes it.
    fn balanced(&mut self) -> Result<&'a [u8]> {
        let start = self.at;
        let mut open = Vec::new();
        loop {
            match self.peek() {
                None => {
                    return Err(Error::malformed("unclosed bracket in the array header"));
                }
                Some(b'\'' | b'"') => {
                    self.string()?;
                    continue;
                }
                Some(bracket @ (b'[' | b'(' | b'{')) => {
                    let depth = u32::try_from(open.len()).unwrap_or(u32::MAX).saturating_add(1);
                    self.budget.depth(depth, "the array type")?;
                    open.push(bracket);
                }
                Some(bracket @ (b']' | b')' | b'}')) => {
                    let pair = (open.pop(), bracket);
                    if !matches!(pair, (Some(b'['), b']') | (Some(b'('), b')') | (Some(b'{'), b'}'))
                    {
                        return Err(Error::malformed("mismatched brackets in the array header"));
                    }
                }
                Some(_) => {}
            }
            self.at = self.at.saturating_add(1);
            if open.is_empty() {
                return Ok(self.text.get(start..self.at).unwrap_or_default());
            }
        }
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at = self.at.saturating_add(1);
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at = self.at.saturating_add(usize::from(found));
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) {
            return Ok(());
        }
        let mark = char::from(byte);
        Err(Error::malformed(format!("the array header needs `{mark}` here")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn read(text: &str) -> Result<(String, bool, Vec<u64>)> {
        let budget = Budget::new(Limits::default());
        let entries = parse(text.as_bytes(), 0, &budget)?;
        let (Descr::Simple(descr) | Descr::Structured(descr)) = entries.descr;
        let descr = String::from_utf8_lossy(descr).into_owned();
        Ok((descr, entries.fortran, entries.shape.to_vec()))
    }

    #[test]
    fn spellings() {
        let cases = [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
                "<f4",
                false,
                &[2, 3][..],
            ),
            (
                "{\"shape\":(2 ,3,),\t\"fortran_order\" : True,\"descr\":\"|b1\"}",
                "|b1",
                true,
                &[2, 3],
            ),
            ("{u'descr': b'<f4', 'fortran_order': False, 'shape': (10L,)}", "<f4", false, &[10]),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "<f4", false, &[]),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (7)}", "<f4", false, &[7]),
            (
                "{'descr': [('a(', '<f4', (3,)), ('b', [('c', '|S1')])], 'fortran_order': False, 'shape': (1,)}",
                "[('a(', '<f4', (3,)), ('b', [('c', '|S1')])]",
                false,
                &[1],
            ),
        ];
        for (text, descr, fortran, shape) in cases {
            assert_eq!(read(text).unwrap(), (descr.to_owned(), fortran, shape.to_vec()), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let deep = format!("{{'descr': {}", "[(".repeat(100_000));
        let wide = format!("{{'shape': ({})", "1,".repeat(100));
        let cases = [
            ("", "`{`"),
            ("{", "a string here"),
            ("{'descr': '<f4', 'fortran_order': False}", "lacks one of"),
            ("{'descr': '<f4', 'descr': '<f4'}", "duplicate entry"),
            ("{'os': 1}", "an unknown entry"),
            ("{'fortran_order': 0}", "True or False"),
            ("{'shape': (-1,)}", "not an integer"),
            ("{'shape': (1.5,)}", "`)`"),
            ("{'shape': (18446744073709551616,)}", "too large"),
            ("{'shape': [1]}", "`(`"),
            ("{'descr': '<f4", "unterminated string"),
            ("{'descr': '\\", "unterminated string"),
            ("{'descr': [('a', '<f4'}", "mismatched brackets"),
            ("{'descr': [('a', '<f4')", "unclosed bracket"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': ()} + 1", "after its dictionary"),
            (&deep, "levels"),
            (&wide, "64 dimensions"),
        ];
        for (text, message) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{}: {error}", &text[..text.len().min(60)]);
        }
    }
}
