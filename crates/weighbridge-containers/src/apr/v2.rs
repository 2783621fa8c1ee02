//! Version 2: the header, and what its flags mean for the rest.
//!
//! ```text
//! 0   `APR\0` (or `APR2`)             20  u32 LE  length of the metadata
//! 4   u8 u8   version, 2.0            24  u64 LE  offset of the tensor index
//! 6   u16 LE  flags                   32  u64 LE  offset of the data
//! 8   u32 LE  number of tensors       40  u32 LE  CRC-32 of bytes 0..40 and 44..64
//! 12  u64 LE  offset of the metadata  44  zeros
//! ```
//!
//! Metadata, index and every tensor are padded to 64 bytes, and a CRC-32 of all before ends the
//! file; it is not checked here, since that would read all data.

use crate::catalog::{Catalog, Finding, Value};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;

use super::{checks, index, json_index, metadata};

const HEADER: usize = 64;
const ALIGN: u64 = 64;

const LZ4: u16 = 0x0001;
const ZSTD: u16 = 0x0002;
const ENCRYPTED: u16 = 0x0004;
const SIGNED: u16 = 0x0008;
const SHARDED: u16 = 0x0010;
const COLUMN_MAJOR: u16 = 0x0800;
const UNKNOWN_FLAGS: u16 = 0xf000;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

struct Header {
    version: (u8, u8),
    flags: u16,
    tensors: u32,
    metadata: u64,
    metadata_len: u64,
    index: u64,
    data: u64,
    stored_checksum: u32,
    checksum: u32,
}

impl Header {
    fn read(input: &Input) -> Result<Self> {
        let mut bytes = [0; HEADER];
        input
            .read_at(0, &mut bytes)
            .map_err(|e| e.hint("the APR header is truncated: it needs 64 bytes"))?;
        Ok(Self::of(&bytes))
    }

    fn of(bytes: &[u8; HEADER]) -> Self {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(bytes.get(..40).unwrap_or_default());
        checksum.update(bytes.get(44..).unwrap_or_default());
        let [_, _, _, _, major, minor, ..] = *bytes;
        Self {
            version: (major, minor),
            flags: u16::from_le_bytes(field(bytes, 6)),
            tensors: u32::from_le_bytes(field(bytes, 8)),
            metadata: u64::from_le_bytes(field(bytes, 12)),
            metadata_len: u32::from_le_bytes(field(bytes, 20)).into(),
            index: u64::from_le_bytes(field(bytes, 24)),
            data: u64::from_le_bytes(field(bytes, 32)),
            stored_checksum: u32::from_le_bytes(field(bytes, 40)),
            checksum: checksum.finalize(),
        }
    }

    /// One writer leaves the checksum at zero.
    fn has_no_checksum(&self) -> bool {
        self.stored_checksum == 0 && self.checksum != 0
    }
}

fn field<const N: usize>(bytes: &[u8; HEADER], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// Opens a file; `old` ones have the magic `APR2` and the first list of types.
pub(super) fn open(input: &Input, budget: &Budget, old: bool) -> Result<Catalog> {
    refuse_wrapper(input)?;
    let header = Header::read(input)?;
    let mut catalog = Catalog::default();
    check_header(&header, &mut catalog);
    if header.flags & COLUMN_MAJOR != 0 {
        return Err(Error::unsupported(
            "the file declares column-major tensors, which the format forbids",
        )
        .at(6)
        .hint("write it again with a current version of aprender"));
    }
    check_compression(input, &header, &mut catalog)?;
    let json = input.bytes(header.metadata, header.metadata_len, budget, "the metadata")?;
    metadata::read(&json, header.metadata, budget, &mut catalog)?;
    note_flags(&header, &mut catalog);
    let kind = read_index(input, &header, old, budget, &mut catalog)?;
    let (major, minor) = header.version;
    let magic = if old { " (APR2, aprender 0.20 to 0.24)" } else { "" };
    catalog.detail = Some(format!("v{major}.{minor}{magic}{kind}"));
    checks::tensors(&mut catalog);
    checks::end_of_file(input, header.data, ALIGN, &mut catalog);
    Ok(catalog)
}

/// Where the metadata ends.
pub(super) fn metadata_end(input: &Input) -> Result<u64> {
    let header = Header::read(input)?;
    Ok(header.metadata.saturating_add(header.metadata_len))
}

/// A compressed `APR1` file begins like a version 2 file: magic, compression, u32 length, data.
/// Its data tells: LZ4 repeats the length, zstd has a magic of its own.
fn refuse_wrapper(input: &Input) -> Result<()> {
    let head = input.head(HEADER)?;
    let Some([_, _, _, 0, method, a, b, c, d, data @ ..]) = head.first_chunk::<13>() else {
        return Ok(());
    };
    let name = match method {
        1 if data == &[*a, *b, *c, *d] => "LZ4",
        2 if *data == ZSTD_MAGIC => "zstd",
        _ => return Ok(()),
    };
    let header = head.first_chunk::<HEADER>().map(Header::of);
    match header {
        Some(header) if header.checksum == header.stored_checksum || header.metadata == ALIGN => {
            Ok(())
        }
        _ => Err(Error::unsupported(format!(
            "the whole APR1 file is compressed with {name}, which is not supported"
        ))
        .at(4)
        .hint("decompress it with the version of aprender that wrote it (0.25)")),
    }
}

fn check_header(header: &Header, catalog: &mut Catalog) {
    if header.has_no_checksum() {
        catalog.notes.push(
            "the header checksum is zero (not set), as in files written by realizar".to_owned(),
        );
    } else if header.checksum != header.stored_checksum {
        let message = format!(
            "the header checksum is {:08x}, but its bytes give {:08x}: the header is damaged \
                 or was edited",
            header.stored_checksum, header.checksum
        );
        catalog.findings.push(Finding::general("checksum", message));
    }
    if header.version.0 != 2 {
        let (major, minor) = header.version;
        let message =
            format!("the header declares version {major}.{minor}; reading it as version 2");
        catalog.findings.push(Finding::general("version", message));
    }
    if !header.data.is_multiple_of(ALIGN) {
        catalog.notes.push(format!(
            "the data starts at byte {}, which is not a multiple of 64",
            header.data
        ));
    }
}

/// The canonical writer sets a compression flag and compresses nothing; another one compresses
/// all that follows the header.
fn check_compression(input: &Input, header: &Header, catalog: &mut Catalog) -> Result<()> {
    let name = match header.flags & (LZ4 | ZSTD) {
        0 => return Ok(()),
        LZ4 => "LZ4",
        ZSTD => "zstd",
        _ => "LZ4 and zstd",
    };
    let mut first = [0];
    let raw = header.metadata_len == 0
        || (input.read_at(header.metadata, &mut first).is_ok() && first == *b"{");
    if !raw {
        return Err(Error::unsupported(format!(
            "everything after the header is compressed with {name}, which is not supported"
        ))
        .at(HEADER as u64)
        .hint("write it again without compression"));
    }
    catalog.notes.push(format!(
        "the header flags {name} compression, but nothing is compressed: the writer only \
             sets the flag"
    ));
    Ok(())
}

fn note_flags(header: &Header, catalog: &mut Catalog) {
    if header.flags & ENCRYPTED != 0 {
        let message = "the header flags the file as encrypted; version 2 defines no encryption, so values \
             are not read";
        catalog.findings.push(Finding::general("encrypted", message));
        catalog.unsafe_to_read = Some(message.to_owned());
    }
    if header.flags & SIGNED != 0 {
        let message = "the header flags the file as signed; version 2 defines no signature, so nothing was \
             verified";
        catalog.findings.push(Finding::general("signed", message));
    }
    if header.flags & UNKNOWN_FLAGS != 0 {
        let flags = header.flags & UNKNOWN_FLAGS;
        catalog.notes.push(format!("unknown header flags: {flags:#06x}"));
    }
    if header.flags & SHARDED != 0 {
        let shard = catalog.metadata.get("sharding").and_then(shard_of);
        catalog.notes.push(match shard {
            Some((index, count)) => format!(
                "shard {index} of {count}, counted from 0; the other tensors are in other files"
            ),
            None => "one shard of several; the other tensors are in other files".to_owned(),
        });
    }
}

fn shard_of(sharding: &Value) -> Option<(u64, u64)> {
    let Value::Map(entries) = sharding else { return None };
    let number = |key: &str| entries.iter().find(|(name, _)| &**name == key)?.1.as_u64();
    Some((number("shard_index")?, number("shard_count")?))
}

/// Reads either kind of index; returns what to add to the description of the format.
fn read_index(
    input: &Input,
    header: &Header,
    old: bool,
    budget: &Budget,
    catalog: &mut Catalog,
) -> Result<&'static str> {
    if is_json_index(input, header) {
        let len = header.data.saturating_sub(header.index);
        let json = input.bytes(header.index, len, budget, "the tensor index")?;
        let used = json_index::read(&json, header.index, header.data, budget, catalog)?;
        note_index_end(header.index.saturating_add(used), header, catalog);
        return Ok(", JSON index");
    }
    let place = index::Span {
        start: header.index,
        count: header.tensors,
        data: header.data,
        old_types: old,
    };
    let seen = index::read(input, &place, budget, catalog)?;
    note_index_end(seen.end, header, catalog);
    note_index(&seen, header, catalog);
    Ok("")
}

/// `[{` or `[]` as the length of a name would be far beyond the 256 bytes names may have.
fn is_json_index(input: &Input, header: &Header) -> bool {
    let mut start = [0; 2];
    header.tensors > 0
        && input.read_at(header.index, &mut start).is_ok()
        && (start == *b"[{" || start == *b"[]")
}

fn note_index_end(end: u64, header: &Header, catalog: &mut Catalog) {
    if end > header.data {
        let message = format!(
            "the tensor index ends at byte {end}, but the header places the data at byte {}",
            header.data
        );
        catalog.findings.push(Finding::general("overlap", message));
    }
}

fn note_index(seen: &index::Seen, header: &Header, catalog: &mut Catalog) {
    if let Some(name) = &seen.unsorted {
        let message = format!(
            "the tensor index is not sorted by name, starting at `{}`; the reference reader \
                 rejects such files",
            crate::text::escaped(name)
        );
        if header.has_no_checksum() {
            catalog.notes.push(message);
        } else {
            catalog.findings.push(Finding::general("unsorted", message));
        }
    }
    if seen.cut_names > 0 {
        catalog.notes.push(format!(
            "{} names are exactly 256 bytes long and may be cut: the writer truncates longer \
                 names silently",
            seen.cut_names
        ));
    }
    for ((id, name), count) in &seen.foreign {
        let also = match (id, &**name) {
            (8, "APR_Q4") => "; some writers use it for Q4_K, which can have the same size",
            (9, "APR_Q8") => {
                "; other files use it for Q8_1, whose size differs unless a tensor has 32 \
                     elements"
            }
            _ => "",
        };
        catalog.notes.push(format!(
            "type number {id} is read as {name}, judging by tensor sizes ({count}): the file \
                 uses older or foreign type numbers{also}"
        ));
    }
}
