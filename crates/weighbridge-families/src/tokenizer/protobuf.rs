//! Messages of protocol buffers, as far as a tokenizer needs them: fields with numbers, one after
//! the other, nothing allocated and nothing nested that is not asked for.

use crate::error::{Error, Result};

/// The contents of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    Number(u64),
    Float(f32),
    /// Eight bytes, which nothing here has.
    Wide,
    /// Text, bytes, or a message, and where in the file it starts.
    Bytes(&'a [u8], usize),
}

/// Reads fields front to back.
pub(super) struct Message<'a> {
    bytes: &'a [u8],
    /// Where the message starts in the file.
    start: usize,
    at: usize,
}

impl<'a> Message<'a> {
    pub fn new(bytes: &'a [u8], start: usize) -> Self {
        Self { bytes, start, at: 0 }
    }

    /// The next field and its number; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(u64, Field<'a>)>> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let begin = self.at;
        let tag = self.number()?;
        let field = match tag & 7 {
            0 => Field::Number(self.number()?),
            1 => {
                self.take(8)?;
                Field::Wide
            }
            2 => {
                let length = self.number()?;
                let start = self.start + self.at;
                Field::Bytes(self.take(length)?, start)
            }
            5 => {
                let bytes = self.take(4)?;
                Field::Float(f32::from_le_bytes(bytes.try_into().unwrap_or_default()))
            }
            other => return Err(self.wrong(begin, &format!("unknown field type {other}"))),
        };
        if tag >> 3 == 0 {
            return Err(self.wrong(begin, "field number 0 is not allowed"));
        }
        Ok(Some((tag >> 3, field)))
    }

    /// Seven bits a byte, lowest first.
    fn number(&mut self) -> Result<u64> {
        let begin = self.at;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else { break };
            self.at += 1;
            // What is past the 64th bit is dropped, as everybody does.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.wrong(begin, "unterminated number"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let Some(taken) = taken else {
            let message = format!("a field needs {length} bytes, but only {} are left", rest.len());
            return Err(self.wrong(self.at, &message));
        };
        self.at += taken.len();
        Ok(taken)
    }

    fn wrong(&self, at: usize, message: &str) -> Error {
        Error::malformed(message).at((self.start + at) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_their_order() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f];
        let mut message = Message::new(&bytes, 100);
        assert_eq!(message.next().unwrap(), Some((1, Field::Number(150))));
        assert_eq!(message.next().unwrap(), Some((2, Field::Bytes(b"hi", 105))));
        assert_eq!(message.next().unwrap(), Some((3, Field::Float(1.0))));
        assert_eq!(message.next().unwrap(), None);
    }

    #[test]
    fn what_is_damaged_is_refused_with_its_byte() {
        let at = |bytes: &[u8]| Message::new(bytes, 10).next().unwrap_err().offset();
        assert_eq!(at(&[0x08]), Some(11));
        assert_eq!(
            at(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Some(11)
        );
        assert_eq!(at(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]), Some(16));
        assert_eq!(at(&[0x0b]), Some(10));
        assert_eq!(at(&[0x00, 0x00]), Some(10));
        assert_eq!(at(&[0x0d, 1, 2]), Some(11));
    }
}
