//! The header of one NPY array.
//!
//! ```text
//! 0  \x93NUMPY
//! 6  u8 major, u8 minor
//! 8  u16 (v1) or u32 (v2, v3) length of the text
//!    text: a Python dictionary, padded with spaces (Latin-1 in v1 and v2, UTF-8 in v3)
//!    the elements
//! ```

use crate::catalog::Shape;
use crate::error::{Error, Result};
use crate::limits::Budget;

use super::literal::{self, Descr};
use super::types::{self, Type};

/// Opens every array.
pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// What is read of an array at first. numpy pads most headers to 128 bytes.
pub(super) const USUAL: usize = 256;

/// Longer headers do not occur: numpy itself reads none above 10,000 bytes unless told to.
const LONGEST: u64 = 1 << 20;

/// What a header says.
pub(super) struct Header {
    pub(super) version: (u8, u8),
    pub(super) kind: Type,
    pub(super) fortran: bool,
    pub(super) shape: Shape,
    /// Where the elements start, counted from the magic.
    pub(super) len: u64,
}

/// A header that was read, or how many bytes reading it takes.
pub(super) enum Parsed {
    Whole(Header),
    Needs(usize),
}

/// Reads the header at the start of `bytes`, which may be too few. Byte positions in errors count
/// from the magic.
pub(super) fn parse(bytes: &[u8], budget: &Budget) -> Result<Parsed> {
    if !bytes.starts_with(MAGIC) {
        return Err(Error::malformed("not an NPY array: wrong magic bytes"));
    }
    let Some(&[major, minor]) = bytes.get(6..8) else { return Ok(Parsed::Needs(12)) };
    let (text_start, len) = match (major, bytes.get(8..10), bytes.get(8..12)) {
        (1, Some(&[a, b]), _) => (10, u64::from(u16::from_le_bytes([a, b]))),
        (2 | 3, _, Some(&[a, b, c, d])) => (12, u64::from(u32::from_le_bytes([a, b, c, d]))),
        (1..=3, ..) => return Ok(Parsed::Needs(12)),
        _ => {
            return Err(Error::unsupported(format!(
                "NPY version {major}.{minor} is not supported"
            ))
            .at(6));
        }
    };
    if len > LONGEST {
        return Err(Error::limit(format!(
            "the array header is {len} bytes long; the limit is {LONGEST}"
        ))
        .at(8));
    }
    let end = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(text_start);
    let Some(text) = bytes.get(text_start..end) else { return Ok(Parsed::Needs(end)) };
    let entries = literal::parse(text, text_start as u64, budget)?;
    let kind = match entries.descr {
        Descr::Simple(text) => types::simple(&decode(text, major)),
        Descr::Structured(text) => types::structured(&decode(text, major)),
    };
    Ok(Parsed::Whole(Header {
        version: (major, minor),
        kind,
        fortran: entries.fortran,
        shape: entries.shape,
        len: end as u64,
    }))
}

/// Latin-1 is the first 256 characters of Unicode.
fn decode(text: &[u8], major: u8) -> String {
    match major {
        1 | 2 => text.iter().copied().map(char::from).collect(),
        _ => String::from_utf8_lossy(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn array(version: u8, text: &[u8]) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &[version, 0]].concat();
        match version {
            1 => bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes()),
            _ => bytes.extend(u32::try_from(text.len()).unwrap().to_le_bytes()),
        }
        [&bytes[..], text].concat()
    }

    #[test]
    fn versions_and_encodings() {
        let budget = Budget::new(Limits::default());
        for (version, name) in [(1, &b"gr\xf6"[..]), (2, b"gr\xf6"), (3, "grö".as_bytes())] {
            let text =
                [b"{'descr': [('", name, b"', '<f4')], 'fortran_order': False, 'shape': ()}"];
            let bytes = array(version, &text.concat());
            for end in 6..bytes.len() {
                let Ok(Parsed::Needs(needs)) = parse(&bytes[..end], &budget) else {
                    panic!("version {version}, {end} bytes");
                };
                assert!(needs > end && needs <= bytes.len());
            }
            let Ok(Parsed::Whole(header)) = parse(&bytes, &budget) else { panic!("{version}") };
            assert_eq!(header.kind.stored.name(), "[('grö', '<f4')]");
            assert_eq!(header.len, bytes.len() as u64);
        }
    }

    #[test]
    fn lies() {
        let budget = Budget::new(Limits::default());
        let message =
            |bytes: &[u8]| parse(bytes, &budget).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message(b"\x93NUMPY\x02\0\xff\xff\xff\xff").contains("limit"));
        assert!(message(b"\x93NUMPY\x04\0\x01\0\0\0").contains("version 4.0"));
        assert!(message(b"\x93NUMPY\x00\0\x01\0\0\0").contains("version 0.0"));
        assert!(message(&array(1, b"{1}")).starts_with("byte 11: "));
    }
}
