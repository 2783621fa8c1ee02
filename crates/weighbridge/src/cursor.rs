//! Reading a header front to back: numbers, strings and skips over any [`Input`].

use crate::error::{Error, Result};
use crate::input::Input;

const BUFFER: usize = 64 << 10;

/// The byte order of numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

/// A position in an input, moving forward.
///
/// Over a map or memory it lends; over anything else it reads ahead into one buffer of its own.
pub struct Cursor<'a> {
    input: &'a Input,
    lent: Option<&'a [u8]>,
    position: u64,
    buffer: Vec<u8>,
    buffer_start: u64,
    endian: Endian,
}

macro_rules! numbers {
    ($($name:ident: $type:ty),*) => {
        $(
            #[doc = concat!("The next `", stringify!($type), "`; `what` names it in messages.")]
            pub fn $name(&mut self, what: &str) -> Result<$type> {
                const WIDTH: usize = size_of::<$type>();
                let endian = self.endian;
                let bytes = self.take(WIDTH, what)?;
                let bytes = <[u8; WIDTH]>::try_from(bytes).unwrap_or_default();
                Ok(match endian {
                    Endian::Little => <$type>::from_le_bytes(bytes),
                    Endian::Big => <$type>::from_be_bytes(bytes),
                })
            }
        )*
    };
}

impl<'a> Cursor<'a> {
    /// A cursor at `position`.
    #[must_use]
    pub fn new(input: &'a Input, position: u64, endian: Endian) -> Self {
        let lent = input.lent();
        Self {
            input,
            lent,
            position,
            buffer: Vec::new(),
            buffer_start: 0,
            endian,
        }
    }

    /// Where the next byte comes from.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The byte order in use.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Changes the byte order from here on.
    pub fn set_endian(&mut self, endian: Endian) {
        self.endian = endian;
    }

    /// Moves anywhere; nothing is read until something is taken.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Passes over `len` bytes, which must exist where the length of the input is known.
    pub fn skip(&mut self, len: u64, what: &str) -> Result<()> {
        let to = self.position.checked_add(len);
        match to {
            Some(to) if self.input.len().is_none_or(|end| to <= end) => {
                self.position = to;
                Ok(())
            }
            _ => Err(self.cut_short(len, what)),
        }
    }

    /// The next `len` bytes; `what` names them in messages.
    pub fn take(&mut self, len: usize, what: &str) -> Result<&[u8]> {
        let start = self.position;
        if let Some(all) = self.lent {
            let from = usize::try_from(start).ok();
            let bytes = from.and_then(|from| all.get(from..from.checked_add(len)?));
            return match bytes {
                Some(bytes) => {
                    self.position += len as u64;
                    Ok(bytes)
                }
                None => Err(self.cut_short(len as u64, what)),
            };
        }
        let buffered = start
            .checked_sub(self.buffer_start)
            .and_then(|at| usize::try_from(at).ok());
        let ready = buffered.filter(|&at| {
            at.checked_add(len)
                .is_some_and(|to| to <= self.buffer.len())
        });
        let at = match ready {
            Some(at) => at,
            None => self.refill(len, what)?,
        };
        self.position += len as u64;
        Ok(&self.buffer[at..at + len])
    }

    fn refill(&mut self, len: usize, what: &str) -> Result<usize> {
        let Some(end) = self.input.len() else {
            // A stream: asking for more than is wanted could wait for ever.
            self.buffer.resize(len, 0);
            self.buffer_start = self.position;
            self.input.read_at(self.position, &mut self.buffer)?;
            return Ok(0);
        };
        let rest = end.saturating_sub(self.position);
        if len as u64 > rest {
            return Err(self.cut_short(len as u64, what));
        }
        let ahead = usize::try_from(rest).unwrap_or(BUFFER).min(len.max(BUFFER));
        self.buffer.resize(ahead, 0);
        self.buffer_start = self.position;
        self.input.read_at(self.position, &mut self.buffer)?;
        Ok(0)
    }

    fn cut_short(&self, len: u64, what: &str) -> Error {
        let have = self.input.len().unwrap_or(0);
        Error::malformed(format!(
            "{what} takes {len} bytes, but the file ends at byte {have}"
        ))
        .at(self.position)
        .in_file(self.input.name())
    }

    numbers!(u8: u8, u16: u16, u32: u32, u64: u64, i8: i8, i16: i16, i32: i32, i64: i64, f32: f32, f64: f64);
}
