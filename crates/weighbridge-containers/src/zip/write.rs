//! The records of an archive of stored members, for a writer that knows every length beforehand
//! and learns the checksums last.
//!
//! Sizes are written with 64 bits in front of every member, as numpy does it. In the directory,
//! and behind it, only where 32 bits (16 for the count) are too few.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

/// What a field that is elsewhere, with more bits, holds.
const ELSEWHERE: u32 = u32::MAX;

/// The version that reads 64-bit sizes.
const VERSION: u16 = 45;

/// Made on a system with Unix modes.
const UNIX: u16 = 3 << 8;

/// A regular file that everybody may read.
const MODE: u32 = 0o100_644 << 16;

/// The checksum of the member follows it: it went out before that was known.
const STREAMED: u16 = 0x0008;

/// The name is UTF-8.
const UTF8: u16 = 0x0800;

/// The first of January 1980, the earliest date there is: files do not depend on the day.
const DATE: u16 = 0x21;

/// A member to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    /// Its name in the archive.
    pub(crate) name: &'a str,
    /// How many bytes it has.
    pub(crate) bytes: u64,
    /// Where the record in front of it goes.
    pub(crate) at: u64,
    /// Whether its checksum follows it.
    pub(crate) streamed: bool,
}

impl Member<'_> {
    fn flags(&self) -> u16 {
        let utf8 = if self.name.is_ascii() { 0 } else { UTF8 };
        utf8 | if self.streamed { STREAMED } else { 0 }
    }

    /// The record in front of the member, and where in it the checksum goes, unless that follows.
    pub(crate) fn local(&self) -> (Vec<u8>, Option<usize>) {
        let size = if self.streamed { 0 } else { self.bytes };
        let mut out = b"PK\x03\x04".to_vec();
        put16(&mut out, &[VERSION, self.flags(), 0, 0, DATE]);
        let checksum = out.len();
        put32(&mut out, &[0, ELSEWHERE, ELSEWHERE]);
        put16(&mut out, &[length(self.name), 20]);
        out.extend_from_slice(self.name.as_bytes());
        put16(&mut out, &[1, 16]);
        put64(&mut out, &[size, size]);
        (out, (!self.streamed).then_some(checksum))
    }

    /// The record behind the member, and where its checksum goes in it; `None` if that is in front.
    pub(crate) fn descriptor(&self) -> Option<(Vec<u8>, usize)> {
        if !self.streamed {
            return None;
        }
        let mut out = b"PK\x07\x08".to_vec();
        let checksum = out.len();
        put32(&mut out, &[0]);
        put64(&mut out, &[self.bytes, self.bytes]);
        Some((out, checksum))
    }

    /// Its record in the directory, appended; gives the place of the checksum.
    pub(crate) fn entry(&self, out: &mut Vec<u8>) -> usize {
        let mut wide = Vec::new();
        let mut narrow = |value: u64| match u32::try_from(value) {
            Ok(value) if value != ELSEWHERE => value,
            _ => {
                put64(&mut wide, &[value]);
                ELSEWHERE
            }
        };
        let (size, again, at) = (narrow(self.bytes), narrow(self.bytes), narrow(self.at));
        out.extend_from_slice(b"PK\x01\x02");
        put16(out, &[UNIX | VERSION, VERSION, self.flags(), 0, 0, DATE]);
        let checksum = out.len();
        put32(out, &[0, size, again]);
        let extra = u16::try_from(wide.len()).unwrap_or(0);
        let extra_bytes = if extra == 0 { 0 } else { extra.saturating_add(4) };
        put16(out, &[length(self.name), extra_bytes, 0, 0, 0]);
        put32(out, &[MODE, at]);
        out.extend_from_slice(self.name.as_bytes());
        if extra > 0 {
            put16(out, &[1, extra]);
            out.extend_from_slice(&wide);
        }
        checksum
    }
}

/// What ends an archive of `count` members whose directory lies at `at` and has `bytes` bytes.
pub(crate) fn end(out: &mut Vec<u8>, count: usize, at: u64, bytes: u64) {
    let narrow = |value: u64| u32::try_from(value).unwrap_or(ELSEWHERE);
    let few = u16::try_from(count).unwrap_or(u16::MAX);
    if few == u16::MAX || narrow(at) == ELSEWHERE || narrow(bytes) == ELSEWHERE {
        let here = at.saturating_add(bytes);
        out.extend_from_slice(b"PK\x06\x06");
        put64(out, &[44]);
        put16(out, &[UNIX | VERSION, VERSION]);
        put32(out, &[0, 0]);
        put64(out, &[count as u64, count as u64, bytes, at]);
        out.extend_from_slice(b"PK\x06\x07");
        put32(out, &[0]);
        put64(out, &[here]);
        put32(out, &[1]);
    }
    out.extend_from_slice(b"PK\x05\x06");
    put16(out, &[0, 0, few, few]);
    put32(out, &[narrow(bytes), narrow(at)]);
    put16(out, &[0]);
}

/// The longest name there is a field for.
pub(crate) const MAX_NAME: usize = u16::MAX as usize;

fn length(name: &str) -> u16 {
    u16::try_from(name.len()).unwrap_or(u16::MAX)
}

fn put16(out: &mut Vec<u8>, values: &[u16]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn put32(out: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

fn put64(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}
