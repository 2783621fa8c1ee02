//! The directory: one entry a member.
//!
//! ```text
//!  0 PK\1\2       16 crc               28 u16 name length      36 attributes
//!  4 versions     20 u32 compressed    30 u16 extra length     42 u32 offset of the local header
//!  8 flags        24 u32 size          32 u16 comment length   46 name, extra, comment
//! 10 method                            34 u16 disk
//! ```
//!
//! A number that does not fit is all ones, and stands in the extra field 1 (zip64) instead, which
//! holds only such numbers: size, compressed, offset, in this order.

use crate::catalog::Finding;
use crate::error::{Error, Result};
use crate::limits::Budget;

use super::end::End;
use super::fields::{extra_field, u16_at, u32_at, u64_at};
use super::{Archive, Member, Method, RECORD, State, local};

const SIGNATURE: &[u8; 4] = b"PK\x01\x02";
const FIXED: usize = 46;
/// Stands for a number that is in the zip64 field.
const LARGE: u64 = u32::MAX as u64;
const WHAT: &str = "the archive's directory";

/// Reads every entry.
pub(super) fn read(archive: &mut Archive<'_>, end: &End, budget: &Budget) -> Result<()> {
    let bytes = archive.input.bytes(end.start, end.bytes, budget, WHAT)?;
    // Each entry takes its fixed part, whatever number of them is claimed.
    let most = (bytes.len() / FIXED).min(usize::try_from(end.entries).unwrap_or(usize::MAX));
    budget.items(most as u64, WHAT)?;
    budget.charge(RECORD.saturating_mul(most as u64).saturating_add(end.bytes), WHAT)?;
    archive.members.reserve_exact(most);
    archive.names.reserve_exact(
        bytes.len().saturating_sub(most.saturating_mul(FIXED)).min(most.saturating_mul(64)),
    );
    archive.data_end = end.start;
    archive.prefix = end.shift;
    let mut rest = &*bytes;
    while rest.starts_with(SIGNATURE) {
        let at = end.start.saturating_add((bytes.len().saturating_sub(rest.len())) as u64);
        if archive.members.len() >= most {
            crate::charge_item(budget, RECORD, WHAT)?;
        }
        rest = entry(archive, rest, end).map_err(|e| e.at(at))?;
    }
    check_count(archive, rest, end)
}

/// Reads one entry and returns what follows it.
fn entry<'b>(archive: &mut Archive<'_>, bytes: &'b [u8], end: &End) -> Result<&'b [u8]> {
    let cut = || Error::malformed("an entry of the archive's directory is truncated");
    let (fixed, rest) = bytes.split_at_checked(FIXED).ok_or_else(cut)?;
    let len = |at: usize| usize::from(u16_at(fixed, at));
    let (name, rest) = rest.split_at_checked(len(28)).ok_or_else(cut)?;
    let (extra, rest) = rest.split_at_checked(len(30)).ok_or_else(cut)?;
    let (_comment, rest) = rest.split_at_checked(len(32)).ok_or_else(cut)?;
    let [size, compressed, offset] = wide_numbers(fixed, extra)?;
    let header = offset.checked_add(end.shift);
    let data_end =
        header.and_then(|header| header.checked_add(local::FIXED as u64)?.checked_add(compressed));
    let fits = data_end.is_some_and(|data_end| data_end <= end.start);
    let member = Member {
        name: 0..0,
        name_len: u16_at(fixed, 28),
        method: Method(u16_at(fixed, 10)),
        flags: u16_at(fixed, 8),
        compressed,
        size,
        crc: u32_at(fixed, 16),
        header: header.unwrap_or(u64::MAX),
        state: if fits { State::Whole } else { State::Outside },
    };
    archive.push(name, member);
    Ok(rest)
}

/// Size, compressed size and offset, from the zip64 field where they are all ones.
fn wide_numbers(fixed: &[u8], extra: &[u8]) -> Result<[u64; 3]> {
    let mut numbers = [u32_at(fixed, 24), u32_at(fixed, 20), u32_at(fixed, 42)].map(u64::from);
    if !numbers.contains(&LARGE) {
        return Ok(numbers);
    }
    let Some(mut wide) = extra_field(extra, 1) else { return Ok(numbers) };
    for number in numbers.iter_mut().filter(|number| **number == LARGE) {
        let Some((_, rest)) = wide.split_at_checked(8) else {
            return Err(Error::malformed("the zip64 field lacks a required number"));
        };
        *number = u64_at(wide, 0);
        wide = rest;
    }
    Ok(numbers)
}

/// Compares what was read with what the end record says.
fn check_count(archive: &mut Archive<'_>, rest: &[u8], end: &End) -> Result<()> {
    let found = archive.members.len() as u64;
    let same = if end.entries_exact { found == end.entries } else { found & 0xFFFF == end.entries };
    if !same {
        return Err(Error::malformed(format!(
            "the archive's directory lists {found} members, but its end record says {}",
            end.entries
        ))
        .at(end.record));
    }
    if !rest.is_empty() && !rest.starts_with(b"PK\x05\x05") {
        let at = end.start.saturating_add(end.bytes).saturating_sub(rest.len() as u64);
        return Err(
            Error::malformed("unexpected data in the archive's directory: not an entry").at(at)
        );
    }
    if end.trailing > 0 {
        let message = format!("{} bytes follow the end of the archive", end.trailing);
        archive.findings.push(Finding::general("trailing-bytes", message));
    }
    Ok(())
}
