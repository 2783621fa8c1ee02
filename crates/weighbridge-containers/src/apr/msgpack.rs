//! As much MessagePack as the metadata of version 1 needs: one value to metadata.
//!
//! Lengths are never trusted: elements are read one by one, each costs at least a byte of the
//! file, and nesting is bounded.

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::limits::Budget;

/// Deep enough for any metadata, shallow enough for any stack.
const DEEPEST: u32 = 64;

/// The value at the start of `bytes`.
pub(super) fn value(bytes: &[u8], budget: &Budget) -> Result<Value> {
    Reader { rest: bytes, budget }.value(0)
}

struct Reader<'a> {
    rest: &'a [u8],
    budget: &'a Budget,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| Error::malformed("the MessagePack data ends inside a value"))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A big-endian number of `width` bytes.
    fn number(&mut self, width: usize) -> Result<u64> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |number, &byte| (number << 8) | u64::from(byte)))
    }

    fn length(&mut self, width: usize) -> Result<usize> {
        Ok(usize::try_from(self.number(width)?).unwrap_or(usize::MAX))
    }

    #[allow(clippy::cast_possible_truncation)] // A signed number of so many bits.
    fn value(&mut self, depth: u32) -> Result<Value> {
        crate::charge_item(self.budget, size_of::<(Box<str>, Value)>() as u64, "the metadata")?;
        let [tag] = *self.take(1)? else { return Ok(Value::Null) };
        Ok(match tag {
            0x00..=0x7f => Value::Unsigned(8, tag.into()),
            0x80..=0x8f => self.map(usize::from(tag & 0x0f), depth)?,
            0x90..=0x9f => self.list(usize::from(tag & 0x0f), depth)?,
            0xa0..=0xbf => self.text(usize::from(tag & 0x1f))?,
            0xc0 => Value::Null,
            0xc2 => Value::Bool(false),
            0xc3 => Value::Bool(true),
            0xc4..=0xc6 => {
                let len = self.length(1 << (tag & 3))?;
                self.raw(len)?
            }
            0xc7..=0xc9 => {
                let len = self.length(1 << (tag.wrapping_sub(0xc7) & 3))?;
                self.raw(len.saturating_add(1))?
            }
            0xca => Value::F32(f32::from_bits(self.number(4)? as u32)),
            0xcb => Value::F64(f64::from_bits(self.number(8)?)),
            0xcc => Value::Unsigned(8, self.number(1)?),
            0xcd => Value::Unsigned(16, self.number(2)?),
            0xce => Value::Unsigned(32, self.number(4)?),
            0xcf => Value::Unsigned(64, self.number(8)?),
            0xd0 => Value::Signed(8, i64::from((self.number(1)? as u8).cast_signed())),
            0xd1 => Value::Signed(16, i64::from((self.number(2)? as u16).cast_signed())),
            0xd2 => Value::Signed(32, i64::from((self.number(4)? as u32).cast_signed())),
            0xd3 => Value::Signed(64, self.number(8)?.cast_signed()),
            0xd4..=0xd8 => {
                let len = 1usize << (tag.wrapping_sub(0xd4) & 7);
                self.raw(len.saturating_add(1))?
            }
            0xd9..=0xdb => {
                let len = self.length(1 << (tag.wrapping_sub(0xd9) & 3))?;
                self.text(len)?
            }
            0xdc | 0xdd => {
                let len = self.length(if tag == 0xdc { 2 } else { 4 })?;
                self.list(len, depth)?
            }
            0xde | 0xdf => {
                let len = self.length(if tag == 0xde { 2 } else { 4 })?;
                self.map(len, depth)?
            }
            0xc1 => {
                return Err(Error::malformed("0xc1 is not a MessagePack type"));
            }
            0xe0..=0xff => Value::Signed(8, i64::from(tag.cast_signed())),
        })
    }

    /// Bytes without a meaning here are shown by their length.
    fn raw(&mut self, len: usize) -> Result<Value> {
        self.take(len)?;
        Ok(Value::text(format!("{len} bytes")))
    }

    fn text(&mut self, len: usize) -> Result<Value> {
        let bytes = self.take(len)?;
        self.budget.charge(len as u64, "the metadata")?;
        Ok(Value::of_text(bytes))
    }

    fn enter(&self, depth: u32) -> Result<u32> {
        let inner = depth.saturating_add(1);
        self.budget.depth(inner, "the metadata")?;
        let too_deep = || Error::malformed("the metadata is nested too deeply");
        (inner <= DEEPEST).then_some(inner).ok_or_else(too_deep)
    }

    fn list(&mut self, len: usize, depth: u32) -> Result<Value> {
        let inner = self.enter(depth)?;
        (0..len).map(|_| self.value(inner)).collect::<Result<_>>().map(Value::List)
    }

    fn map(&mut self, len: usize, depth: u32) -> Result<Value> {
        let inner = self.enter(depth)?;
        let mut entries = Vec::new();
        for _ in 0..len {
            let key = match self.value(inner)? {
                Value::Text(text) => text,
                // As text inside one another, such keys would double in length with every level.
                Value::List(_) | Value::Map(_) => {
                    return Err(Error::malformed("a key of the metadata is a list or a map"));
                }
                other => other.to_json().to_string().into(),
            };
            entries.push((key, self.value(inner)?));
        }
        Ok(Value::Map(super::metadata::last_wins(entries).0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn parse(bytes: &[u8]) -> Result<Value> {
        value(bytes, &Budget::new(Limits::default()))
    }

    #[test]
    fn every_width() {
        let cases: [(&[u8], Value); 14] = [
            (&[0x7f], Value::Unsigned(8, 127)),
            (&[0xe0], Value::Signed(8, -32)),
            (&[0xcd, 1, 2], Value::Unsigned(16, 258)),
            (&[0xd1, 0xff, 0xfe], Value::Signed(16, -2)),
            (&[0xd3, 255, 255, 255, 255, 255, 255, 255, 255], Value::Signed(64, -1)),
            (&[0xca, 0x3f, 0x80, 0, 0], Value::F32(1.0)),
            (&[0xa2, b'h', b'i'], Value::text("hi")),
            (&[0xd9, 1, b'x'], Value::text("x")),
            (&[0xc4, 2, 0, 0], Value::text("2 bytes")),
            (&[0xc5, 0, 1, 0], Value::text("1 bytes")),
            (&[0xd8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], Value::text("17 bytes")),
            (&[0x92, 0xc2, 0xc0], Value::List(vec![Value::Bool(false), Value::Null])),
            (&[0x81, 0xa1, b'k', 0x01], Value::Map(vec![("k".into(), Value::Unsigned(8, 1))])),
            (&[0xdc, 0, 1, 0xc3], Value::List(vec![Value::Bool(true)])),
        ];
        for (bytes, expected) in cases {
            assert_eq!(parse(bytes).unwrap(), expected, "{bytes:x?}");
            for end in 0..bytes.len() {
                assert!(parse(&bytes[..end]).is_err(), "{:x?}", &bytes[..end]);
            }
        }
    }

    #[test]
    fn lies_about_length_and_depth_end() {
        assert!(parse(&[0xdd, 0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(parse(&[0xdb, 0xff, 0xff, 0xff, 0xff, b'a']).is_err());
        assert!(parse(&[0x91; 100_000]).is_err());
        let deep = Budget::new(Limits::default().max_depth(u32::MAX));
        assert!(value(&[0x91; 1_000_000], &deep).is_err());
    }
}
