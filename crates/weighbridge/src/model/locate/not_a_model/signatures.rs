//! First bytes that show that a file is something other than weights that can be read.
//!
//! Files that are easily taken for a format are listed in that format's folder, all others here.

use crate::containers;
use crate::containers::conventions::{Magic, Signature};
use crate::error::Error;

const fn certainly(
    offset: usize,
    bytes: &'static [u8],
    what: &'static str,
    hint: fn() -> String,
) -> Signature {
    Signature { magic: Magic { offset, bytes }, what, hint, ambiguous: false }
}

const fn perhaps(
    offset: usize,
    bytes: &'static [u8],
    what: &'static str,
    hint: fn() -> String,
) -> Signature {
    Signature { ambiguous: true, ..certainly(offset, bytes, what, hint) }
}

fn unpack() -> String {
    "unpack it and open the files inside".to_owned()
}

fn not_weights() -> String {
    "this file has no weights; check the file name".to_owned()
}

fn program() -> String {
    "this is a program, not a model; do not run it unless you trust its source".to_owned()
}

/// Where else the weights may be.
pub(super) fn other_formats() -> String {
    let formats = containers::labels().join(", ");
    format!("fetch or export the model in a supported format: {formats}")
}

const TABLE: &[Signature] = &[
    certainly(
        0,
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file (Keras weights), which is not a supported format",
        other_formats,
    ),
    certainly(0, b"\x1f\x8b", "a gzip archive", unpack),
    certainly(0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", unpack),
    certainly(0, b"\xfd7zXZ\0", "an xz archive", unpack),
    certainly(0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", unpack),
    certainly(0, b"BZh", "a bzip2 archive", unpack),
    certainly(0, b"Rar!\x1a\x07", "a RAR archive", unpack),
    certainly(0, b"\x04\x22\x4d\x18", "an LZ4 archive", unpack),
    certainly(0, b"\x89PNG\r\n\x1a\n", "a PNG picture", not_weights),
    certainly(0, b"\xff\xd8\xff", "a JPEG picture", not_weights),
    certainly(0, b"GIF8", "a GIF picture", not_weights),
    certainly(0, b"%PDF-", "a PDF document", not_weights),
    certainly(0, b"SQLite format 3\0", "an SQLite database", not_weights),
    certainly(0, b"PAR1", "a Parquet table (a dataset, not a model)", not_weights),
    certainly(0, b"ARROW1", "an Arrow table (a dataset, not a model)", not_weights),
    certainly(0, b"\x7fELF", "an executable program (ELF)", program),
    certainly(0, b"\xcf\xfa\xed\xfe", "an executable program (Mach-O)", program),
    certainly(0, b"MZ\x90\0", "an executable program (Windows)", program),
    certainly(0, b"toad", "an old llama.cpp training checkpoint", || {
        "convert it with a llama.cpp version of its time".to_owned()
    }),
    certainly(
        4,
        b"TFL3",
        "a TensorFlow Lite model, which is not a supported format",
        other_formats,
    ),
    certainly(0, b"ftypqt", "a video", not_weights),
    certainly(4, b"ftyp", "a video", not_weights),
    perhaps(0, b"PK\x03\x04", "a zip archive without weights in it", unpack),
    perhaps(0, b"PK\x05\x06", "an empty zip archive", not_weights),
    perhaps(257, b"ustar", "a tar archive", unpack),
];

fn find(ambiguous: bool, head: &[u8]) -> Option<Error> {
    let mut all = TABLE.iter().chain(containers::look_alikes());
    let found = all.find(|row| row.ambiguous == ambiguous && row.magic.fits(head))?;
    Some(Error::unsupported(format!("this is {}", found.what)).hint((found.hint)()))
}

/// Signatures that no readable format begins with.
pub(super) fn certain(head: &[u8]) -> Option<Error> {
    find(false, head)
}

/// Signatures that a readable format may share; asked once no format recognised the file.
pub(super) fn unclaimed(head: &[u8]) -> Option<Error> {
    find(true, head)
}
