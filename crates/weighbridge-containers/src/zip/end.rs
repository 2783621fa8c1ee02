//! The record at the end of an archive, which says where its directory is.
//!
//! ```text
//! end record               zip64 end record            zip64 locator
//!  0 PK\5\6                 0 PK\6\6                    0 PK\6\7
//!  4 u16 disk, u16 disk     4 u64 length of the rest    4 u32 disk
//!  8 u16 entries (here)    12 versions, disks           8 u64 offset of the zip64 end record
//! 10 u16 entries           24 u64 entries (here)       16 u32 disks
//! 12 u32 directory bytes   32 u64 entries
//! 16 u32 directory offset  40 u64 directory bytes
//! 20 u16 comment length    48 u64 directory offset
//! ```
//!
//! Offsets count from the start of the archive, which is not the start of the file when something
//! was put in front of it without correcting them. The directory ends where the end record (the
//! zip64 one, if there is one) starts, so the difference tells.

use crate::error::{Error, Result};
use crate::input::Input;

use super::fields::{u16_at, u32_at, u64_at};

pub(super) const SIGNATURE: &[u8; 4] = b"PK\x05\x06";
const SIGNATURE64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR: &[u8; 4] = b"PK\x06\x07";
const LEN: usize = 22;
const LEN64: usize = 56;
const LOCATOR_LEN: usize = 20;

/// What is looked at first: the records and some kilobytes of directory, so that a reader
/// fetches the end of the file once.
const TAIL: usize = 8 << 10;
/// As far back as a comment can push the record.
const LONGEST_TAIL: usize = LEN + 0xFFFF;

/// Where the directory is.
pub(super) struct End {
    /// Where it starts in the file.
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// How many members it lists, of which only the low 16 bits are known without zip64.
    pub(super) entries: u64,
    pub(super) entries_exact: bool,
    /// To be added to the archive's own offsets.
    pub(super) shift: u64,
    /// Bytes that follow the end record and its comment.
    pub(super) trailing: u64,
    /// Where the end record is.
    pub(super) record: u64,
}

/// Finds the end record; `None` if the file has none.
pub(super) fn find(input: &Input, len: u64) -> Result<Option<End>> {
    for longest in [TAIL, LONGEST_TAIL] {
        let size = usize::try_from(len).unwrap_or(longest).min(longest);
        let start = len.saturating_sub(size as u64);
        let mut scratch = Vec::new();
        let tail = input.view(start, size, &mut scratch)?;
        if let Some((at, trailing)) = locate(tail).map_err(|e| e.at(start))? {
            let record = tail.get(at..).unwrap_or_default();
            return read(input, start.saturating_add(at as u64), record, trailing).map(Some);
        }
        if size as u64 == len {
            break;
        }
    }
    Ok(None)
}

/// The last record, with what follows its comment.
///
/// Where an earlier one is followed by a comment that reaches to the end of the file, and so takes
/// in the last, readers differ on which of the two counts: two archives in one file.
fn locate(tail: &[u8]) -> Result<Option<(usize, u64)>> {
    let mut last = None;
    for at in memchr::memmem::rfind_iter(tail, SIGNATURE) {
        let Some(rest) = tail.len().checked_sub(at.saturating_add(LEN)) else { continue };
        let comment = usize::from(u16_at(tail.get(at..).unwrap_or_default(), 20));
        match (rest.checked_sub(comment), last) {
            (Some(0), None) => return Ok(Some((at, 0))),
            (Some(0), Some(_)) => {
                return Err(two_directories("one end record is inside the comment of another"));
            }
            // A comment that is cut short does no harm.
            (trailing, None) => last = Some((at, trailing.unwrap_or(0) as u64)),
            _ => {}
        }
    }
    Ok(last)
}

fn two_directories(why: &str) -> Error {
    Error::malformed(format!(
        "{why}: the file is two archives at once, and programs differ on which one they read"
    ))
}

fn read(input: &Input, at: u64, record: &[u8], trailing: u64) -> Result<End> {
    let disks = (u16_at(record, 4), u16_at(record, 6));
    let short =
        (u64::from(u16_at(record, 10)), u32_at(record, 12).into(), u32_at(record, 16).into());
    let (mut entries, mut bytes, mut offset) = short;
    let wide = find_wide(input, at)?;
    let directory_end = wide.as_ref().map_or(at, |(at, _)| *at);
    if let Some((at, wide)) = &wide {
        (entries, bytes, offset) = (u64_at(wide, 32), u64_at(wide, 40), u64_at(wide, 48));
        let agree = |short: u64, full: u64, wide: u64| short == full || short == wide;
        let same = agree(short.0, 0xFFFF, entries)
            && agree(short.1, u32::MAX.into(), bytes)
            && agree(short.2, u32::MAX.into(), offset);
        if !same {
            return Err(Error::malformed("the archive's two end records disagree").at(*at));
        }
    } else if !matches!(disks, (0, 0)) {
        return Err(Error::unsupported(
            "split archives are not supported: this is one part of several",
        )
        .at(at)
        .hint("join the parts first"));
    }
    let (start, shift) = place(input, directory_end, bytes, offset)
        .and_then(|found| found.ok_or_else(|| misplaced(bytes, offset, directory_end)))
        .map_err(|e| e.at(at))?;
    let entries_exact = wide.is_some();
    Ok(End { start, bytes, entries, entries_exact, shift, trailing, record: at })
}

/// The zip64 end record, found through its locator just before the end record.
fn find_wide(input: &Input, at: u64) -> Result<Option<(u64, [u8; LEN64])>> {
    let Some(locator_at) = at.checked_sub(LOCATOR_LEN as u64) else { return Ok(None) };
    let mut locator = [0; LOCATOR_LEN];
    input.read_at(locator_at, &mut locator)?;
    if !locator.starts_with(LOCATOR) {
        return Ok(None);
    }
    // Just before the locator it does not matter what was put in front of the archive.
    let adjacent = locator_at.checked_sub(LEN64 as u64);
    let stated = u64_at(&locator, 8);
    let mut found = None;
    for candidate in adjacent.into_iter().chain([stated]) {
        if candidate.checked_add(LEN64 as u64).is_none_or(|end| end > locator_at) {
            continue;
        }
        let mut record = [0; LEN64];
        input.read_at(candidate, &mut record)?;
        if record.starts_with(SIGNATURE64) {
            match found {
                Some((at, _)) if at != candidate => {
                    let why = "there are two zip64 end records";
                    return Err(two_directories(why).at(locator_at));
                }
                _ => found = Some((candidate, record)),
            }
        }
    }
    if found.is_some() {
        return Ok(found);
    }
    Err(Error::malformed("the zip64 end record is not where its locator says").at(locator_at))
}

/// Where the directory starts, and what has to be added to its offsets.
fn place(input: &Input, directory_end: u64, bytes: u64, offset: u64) -> Result<Option<(u64, u64)>> {
    let opens = |at: u64| {
        let mut signature = [0; 4];
        bytes == 0 || (input.read_at(at, &mut signature).is_ok() && signature == *b"PK\x01\x02")
    };
    let fits = offset.checked_add(bytes).is_some_and(|end| end <= directory_end);
    let stated = (fits && opens(offset)).then_some((offset, 0));
    let adjacent = directory_end.checked_sub(bytes).filter(|&at| at >= offset && opens(at));
    match (adjacent, stated) {
        (Some(at), Some(_)) if at != offset && bytes > 0 => {
            Err(two_directories("there are two directories"))
        }
        (Some(at), _) => Ok(Some((at, at.saturating_sub(offset)))),
        (None, stated) => Ok(stated),
    }
}

fn misplaced(bytes: u64, offset: u64, end: u64) -> Error {
    Error::malformed(format!(
        "the archive's directory is not where the end record says: {bytes} bytes at byte \
             {offset}; it must end by byte {end}"
    ))
}
