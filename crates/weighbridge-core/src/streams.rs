//! Compressed streams without an archive around them: gzip, zlib, bzip2, xz, LZMA, zstd.
//!
//! Python's libraries write pickles into them. What such a file holds is only known by unpacking it,
//! so its start is unpacked first, and the rest only if that is worth looking at.

use std::io::Read;

use bzip2::read::MultiBzDecoder;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use lzma_rust2::{LzmaReader, XzReader};

use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;
use crate::unpack::{Failure, Packed, Zstd, failure_of};

/// What is unpacked at a time.
const CHUNK: usize = 64 << 10;

/// The compression of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamCompression {
    /// gzip, one member or several.
    Gzip,
    /// zlib.
    Zlib,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// LZMA with the 13-byte header of `.lzma` files.
    Lzma,
    /// Zstandard.
    Zstd,
    /// LZ4, which is recognised and not read.
    Lz4,
}

impl StreamCompression {
    /// Returns the compression that the first bytes of a file suggest. zlib and LZMA have no magic
    /// bytes, so other files may look like them.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        Some(match head {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4,
            [0x78, flags @ (0x01 | 0x5e | 0x9c | 0xda), ..]
                if (0x7800 + u16::from(*flags)) % 31 == 0 =>
            {
                Self::Zlib
            }
            [0..=224, _, _, _, _, size @ ..] if is_lzma_size(size) && head[1..3] == [0, 0] => {
                Self::Lzma
            }
            _ => return None,
        })
    }

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lzma => "LZMA",
            Self::Zstd => "zstd",
            Self::Lz4 => "LZ4",
        }
    }

    /// Returns whether files with this extension are compressed this way, by convention.
    #[must_use]
    pub fn is_named(self, extension: &str) -> bool {
        let names: &[&str] = match self {
            Self::Gzip => &["gz", "tgz"],
            Self::Zlib => &["z", "zlib"],
            Self::Bzip2 => &["bz2"],
            Self::Xz => &["xz"],
            Self::Lzma => &["lzma"],
            Self::Zstd => &["zst", "zstd"],
            Self::Lz4 => &["lz4"],
        };
        names.iter().any(|name| name.eq_ignore_ascii_case(extension))
    }

    /// Unpacks up to `len` bytes from the start. Short or damaged streams give fewer.
    pub fn start(self, input: &Input, len: usize, budget: &Budget) -> Result<Vec<u8>> {
        let mut contents = Vec::new();
        let mut stream = Stream::new(self, input, budget)?;
        while contents.len() < len && stream.next(&mut contents, len)? {}
        Ok(contents)
    }

    /// Unpacks everything up to the end or the first damage, as far as the budget allows.
    pub fn contents(self, input: &Input, budget: &Budget, what: &str) -> Result<Vec<u8>> {
        let mut contents = Vec::new();
        let mut stream = Stream::new(self, input, budget)?;
        let packed = input.whole_len()?;
        loop {
            let before = contents.len();
            if !stream.next(&mut contents, usize::MAX)? {
                return Ok(contents);
            }
            let len = contents.len() as u64;
            budget.ratio(packed, len, what)?;
            budget.check_allocation(len, what)?;
            budget.charge_many(len - before as u64, what)?;
        }
    }
}

/// Whether the size in the header of an LZMA file is one that a file has: unknown, or below 256 GiB.
fn is_lzma_size(size: &[u8]) -> bool {
    let size = size.first_chunk().map(|size| u64::from_le_bytes(*size));
    size.is_some_and(|size| size == u64::MAX || (1..1 << 38).contains(&size))
}

/// A file while it is unpacked.
struct Stream {
    /// `None` if not even its header makes sense.
    reader: Option<Box<dyn Read>>,
    failure: Failure,
}

impl Stream {
    fn new(compression: StreamCompression, input: &Input, budget: &Budget) -> Result<Self> {
        let failure = Failure::default();
        let packed = Packed::whole(input, &failure)?;
        let most = budget.limits().max_allocation;
        let kib = u32::try_from(most >> 10).unwrap_or(u32::MAX);
        let reader: Option<Box<dyn Read>> = match compression {
            StreamCompression::Gzip => Some(Box::new(MultiGzDecoder::new(packed))),
            StreamCompression::Zlib => Some(Box::new(ZlibDecoder::new(packed))),
            StreamCompression::Bzip2 => Some(Box::new(MultiBzDecoder::new(packed))),
            StreamCompression::Xz => Some(Box::new(XzReader::new_mem_limit(packed, true, kib))),
            StreamCompression::Lzma => {
                let reader = LzmaReader::new_mem_limit(packed, kib, None);
                reader.ok().map(|reader| Box::new(reader) as Box<dyn Read>)
            }
            StreamCompression::Zstd => Some(Box::new(Zstd::new(packed, most))),
            StreamCompression::Lz4 => {
                return Err(Error::unsupported("files compressed with LZ4 are not supported"));
            }
        };
        Ok(Self { reader, failure })
    }

    /// Adds some more bytes; false at the end, and at the first damage: Python's readers pass on what
    /// comes before it.
    fn next(&mut self, contents: &mut Vec<u8>, most: usize) -> Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let (from, wanted) = (contents.len(), CHUNK.min(most.saturating_sub(contents.len())));
        contents.resize(from + wanted, 0);
        let read = reader.read(&mut contents[from..]);
        contents.truncate(from + read.as_ref().map_or(0, |&given| given));
        match read {
            Ok(given) => Ok(given > 0),
            Err(error) => failure_of(&self.failure, error).map_or(Ok(false), Err),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::limits::Limits;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn input(bytes: Vec<u8>) -> Input {
        Input::from_bytes(bytes, "x.gz")
    }

    #[test]
    fn what_comes_before_damage_is_unpacked() {
        let budget = Budget::new(Limits::default());
        let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let packed = gzip(&text);
        let whole =
            StreamCompression::Gzip.contents(&input(packed.clone()), &budget, "it").unwrap();
        assert_eq!(whole, text);
        let cut = packed[..packed.len() / 2].to_vec();
        let part = StreamCompression::Gzip.contents(&input(cut), &budget, "it").unwrap();
        assert!(!part.is_empty() && part.len() < text.len() && text.starts_with(&part));
        let start = StreamCompression::Gzip.start(&input(packed), 10, &budget).unwrap();
        assert_eq!(start, text[..10]);
    }

    #[test]
    fn bombs_are_stopped() {
        let packed = gzip(&vec![0; 8 << 20]);
        let tight = Budget::new(Limits::default().max_ratio(100));
        let error = StreamCompression::Gzip.contents(&input(packed.clone()), &tight, "it");
        assert!(error.unwrap_err().to_string().contains("bytes after decompression"));
        let tight = Budget::new(Limits::default().max_allocation(1 << 20));
        let error = StreamCompression::Gzip.contents(&input(packed), &tight, "it");
        assert!(error.unwrap_err().to_string().contains("in one allocation"));
    }

    #[test]
    fn first_bytes_tell_the_compression() {
        for (head, expected) in [
            (&b"\x1f\x8b\x08\0"[..], Some(StreamCompression::Gzip)),
            (b"\x78\x9c...", Some(StreamCompression::Zlib)),
            (b"BZh91AY", Some(StreamCompression::Bzip2)),
            (b"\xfd7zXZ\0", Some(StreamCompression::Xz)),
            (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", Some(StreamCompression::Lzma)),
            (b"\x28\xb5\x2f\xfd", Some(StreamCompression::Zstd)),
            (b"\x04\x22\x4d\x18", Some(StreamCompression::Lz4)),
            (b"\x80\x02}q\x00.", None),
            (b"BZhello", None),
            (b"x\x9d", None),
            (b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0", None),
            (b"", None),
        ] {
            assert_eq!(StreamCompression::of(head), expected, "{}", head.escape_ascii());
        }
    }
}
