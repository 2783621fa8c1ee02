//! Compression methods by number.

use std::fmt;

use crate::catalog::Compression;

/// How a member's data is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Method(pub(crate) u16);

impl Method {
    pub(crate) const STORED: Self = Self(0);

    /// Whether this version can read it.
    pub(crate) fn is_readable(self) -> bool {
        self == Self::STORED || self.compression().is_some()
    }

    /// The compression, where it can be read.
    pub(crate) fn compression(self) -> Option<Compression> {
        Some(match self.0 {
            8 => Compression::Deflate,
            12 => Compression::Bzip2,
            14 => Compression::Lzma,
            20 | 93 => Compression::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "nothing (stored)",
            1 => "shrink",
            2..=5 => "reduce",
            6 => "implode",
            8 => "deflate",
            9 => "deflate64",
            10 | 18 => "terse",
            12 => "bzip2",
            14 => "lzma",
            16 => "cmpsc",
            19 => "lz77",
            20 | 93 => "zstd",
            94 => "mp3",
            95 => "xz",
            96 => "jpeg",
            97 => "wavpack",
            98 => "ppmd",
            99 => "aes encryption",
            _ => return None,
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "unknown method {}", self.0),
        }
    }
}
