//! Reading a header front to back: numbers, strings and skips over any [`Input`].

use crate::error::{Error, Result};
use crate::input::{Input, Need, Reading, range_of};

const BUFFER: usize = 64 << 10;

/// How far ahead of a long walk over lent bytes the pages are asked for.
const PREFETCH: usize = 256 << 10;

/// Fewer strings than this are not worth a system call.
const LONG_WALK: u64 = 4096;

/// The byte order of numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

/// How wide the length in front of a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// A `u32`.
    Four,
    /// A `u64`.
    Eight,
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
            #[inline]
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
    pub fn new(input: &'a Input, position: u64, endian: Endian) -> Self {
        let lent = input.lent();
        Self { input, lent, position, buffer: Vec::new(), buffer_start: 0, endian }
    }

    /// Where the next byte comes from.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The byte order in use.
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
        self.expect(len, what)?;
        self.position += len;
        Ok(())
    }

    /// Makes sure that `len` more bytes exist, as far as the length of the input is known.
    pub fn expect(&self, len: u64, what: &str) -> Result<()> {
        match self.position.checked_add(len) {
            Some(to) if self.input.len().is_none_or(|end| to <= end) => Ok(()),
            _ => Err(self.cut_short(len, what)),
        }
    }

    /// Passes over `count` strings, each a length of `prefix` bytes (4 or 8) and that many bytes.
    ///
    /// A vocabulary is hundreds of thousands of these: they are walked inside the lent bytes or
    /// the buffer, and only a string that leaves the buffer takes the long way.
    pub fn skip_strings(&mut self, mut count: u64, prefix: Prefix, what: &str) -> Result<()> {
        while count > 0 {
            count -= self.walk_strings(count, prefix);
            if count == 0 {
                break;
            }
            let len = match prefix {
                Prefix::Four => self.u32(what)?.into(),
                Prefix::Eight => self.u64(what)?,
            };
            self.skip(len, what)?;
            count -= 1;
        }
        Ok(())
    }

    /// Walks over the strings that lie whole in what is at hand; how many those were.
    fn walk_strings(&mut self, count: u64, prefix: Prefix) -> u64 {
        let (bytes, start) = match self.lent {
            Some(all) => (all, 0),
            None => (&self.buffer[..], self.buffer_start),
        };
        let at = self.position.checked_sub(start).and_then(|at| usize::try_from(at).ok());
        let Some(ready) = at.and_then(|at| bytes.get(at..)) else { return 0 };
        let ready = match self.lent {
            // A cold map would be faulted in page by page, each waiting for the disk.
            Some(_) if count >= LONG_WALK => {
                let range = self.position..self.position.saturating_add(PREFETCH as u64);
                self.input.will_need(&Need { range, reading: Reading::Once, group: 0 });
                &ready[..ready.len().min(PREFETCH)]
            }
            _ => ready,
        };
        let (left, walked) = match (prefix, self.endian) {
            (Prefix::Four, Endian::Little) => walk(ready, count, |n| u32::from_le_bytes(n).into()),
            (Prefix::Four, Endian::Big) => walk(ready, count, |n| u32::from_be_bytes(n).into()),
            (Prefix::Eight, Endian::Little) => walk(ready, count, u64::from_le_bytes),
            (Prefix::Eight, Endian::Big) => walk(ready, count, u64::from_be_bytes),
        };
        self.position += (ready.len() - left) as u64;
        walked
    }

    /// The next `len` bytes; `what` names them in messages.
    #[inline]
    pub fn take(&mut self, len: usize, what: &str) -> Result<&[u8]> {
        if let Some(all) = self.lent {
            let Some(bytes) = range_of(all, self.position, len) else {
                return Err(self.cut_short(len as u64, what));
            };
            self.position += len as u64;
            return Ok(bytes);
        }
        self.take_buffered(len, what)
    }

    fn take_buffered(&mut self, len: usize, what: &str) -> Result<&[u8]> {
        let buffered = self.position.checked_sub(self.buffer_start);
        let buffered = buffered.and_then(|at| usize::try_from(at).ok());
        let ready =
            buffered.filter(|&at| at.checked_add(len).is_some_and(|to| to <= self.buffer.len()));
        let at = match ready {
            Some(at) => at,
            None => self.refill(len, what)?,
        };
        self.position += len as u64;
        Ok(&self.buffer[at..at + len])
    }

    fn refill(&mut self, len: usize, what: &str) -> Result<usize> {
        let Some(end) = self.input.len() else {
            // A stream: asking for more than is needed could block for ever.
            self.buffer_start = self.position;
            self.input.read_on(self.position, len, len.max(BUFFER), &mut self.buffer)?;
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
        Error::malformed(format!("{what} needs {len} bytes, but the file ends at byte {have}"))
            .at(self.position)
            .in_file(self.input.name())
            .hint("the file is truncated or damaged; fetch it again")
    }

    numbers!(u8: u8, u16: u16, u32: u32, u64: u64, i8: i8, i16: i16, i32: i32, i64: i64, f32: f32, f64: f64);
}

/// Walks over at most `count` strings from the start of `bytes`, as long as they lie whole in it.
/// Returns how many bytes are left and how many strings were passed.
///
/// The loop is one load, one addition and two predictable branches a string: the next length's
/// address depends on this one's value, so this is as fast as the load's latency allows.
fn walk<const W: usize>(bytes: &[u8], count: u64, length: impl Fn([u8; W]) -> u64) -> (usize, u64) {
    let mut rest = bytes;
    let mut walked = 0;
    while walked < count {
        let Some((prefix, tail)) = rest.split_first_chunk::<W>() else { break };
        let Ok(len) = usize::try_from(length(*prefix)) else { break };
        let Some(next) = tail.get(len..) else { break };
        rest = next;
        walked += 1;
    }
    (rest.len(), walked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn strings(count: usize) -> Vec<u8> {
        let text = "x".repeat(70_000);
        let lengths = (0..count).map(|i| if i % 1000 == 999 { 70_000 } else { i % 30 });
        lengths.flat_map(|n| [&(n as u64).to_le_bytes(), &text.as_bytes()[..n]].concat()).collect()
    }

    fn forms(bytes: &[u8]) -> [Input; 3] {
        [
            Input::from_bytes(bytes.to_vec(), "bytes"),
            Input::from_reader(io::Cursor::new(bytes.to_vec()), "reader").unwrap(),
            Input::from_stream(io::Cursor::new(bytes.to_vec()), "stream", 1 << 30),
        ]
    }

    #[test]
    fn strings_are_walked_alike_over_every_input() {
        let bytes = strings(5000);
        for input in forms(&bytes) {
            let mut cursor = Cursor::new(&input, 0, Endian::Little);
            cursor.skip_strings(5000, Prefix::Eight, "strings").unwrap();
            assert_eq!(cursor.position(), bytes.len() as u64, "{:?}", input.name());
            assert!(cursor.skip_strings(1, Prefix::Eight, "strings").is_err());
        }
    }

    #[test]
    fn a_string_past_the_end_is_an_error() {
        let mut bytes = 3u64.to_le_bytes().to_vec();
        bytes.extend(b"abc");
        bytes.extend(u64::MAX.to_le_bytes());
        for input in forms(&bytes) {
            let mut cursor = Cursor::new(&input, 0, Endian::Little);
            assert!(cursor.skip_strings(3, Prefix::Eight, "strings").is_err());
        }
    }
}
