//! The members of an archive that has lost its end, found by walking it from the front.
//!
//! Each local header says how long its data is, so most members are stepped over without being
//! read. A streamed member says so only behind its data (`PK\7\8`, crc, and both sizes of 4 or 8
//! bytes each, the signature being optional): there the data is searched for a descriptor whose
//! compressed size is the distance walked. That is the one case in which opening reads payload;
//! the search moves forward only, so it costs at most one pass over the file.

use memchr::memmem;

use crate::catalog::Finding;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;

use super::fields::{u32_at, u64_at};
use super::local::{Local, SIGNATURE, STREAMED};
use super::{Archive, Member, RECORD, State};

const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
const DIRECTORY: &[u8; 4] = b"PK\x01\x02";
/// A descriptor with signature, crc and two wide sizes, and the signature that follows.
const LONGEST: usize = 28;
/// How much of a file that is not lent is searched at once.
const CHUNK: usize = 1 << 20;

/// Lists what can be found without a directory.
pub(super) fn walk(archive: &mut Archive<'_>, len: u64, budget: &Budget) -> Result<()> {
    let input = archive.input;
    if !starts_with(input, 0, SIGNATURE) {
        return Err(Error::malformed("not a zip archive: it has no end record").at(len));
    }
    archive.recovered = true;
    let mut at = 0;
    while starts_with(input, at, SIGNATURE) {
        let Ok(mut header) = Local::read(input, at) else { break };
        if header.data > len || header.read_sizes(input).is_err() {
            break;
        }
        let record = RECORD.saturating_add(header.name.len() as u64);
        crate::charge_item(budget, record, "the archive's members")?;
        let end = extent(input, &mut header.member, header.data, len)?;
        archive.push(&header.name, header.member);
        let Some(end) = end else { break };
        at = end;
    }
    note(archive, at, len);
    Ok(())
}

fn note(archive: &mut Archive<'_>, at: u64, len: u64) {
    let count = archive.members.len();
    let rest = match archive.members.last() {
        Some(last) if last.is_incomplete() => "the last one is truncated",
        _ if starts_with(archive.input, at, DIRECTORY) => "all members are present",
        _ => "more may be missing",
    };
    let members = if count == 1 { "member was" } else { "members were" };
    let message = format!(
        "the archive's end is missing; {count} {members} found by scanning the file up to \
             byte {len}, {rest}; fetch the file again"
    );
    archive.findings.push(Finding::general("truncated", message));
}

/// Settles a member's sizes and returns where the next one starts; `None` if the file ends first.
fn extent(input: &Input, member: &mut Member, data: u64, len: u64) -> Result<Option<u64>> {
    let streamed = member.flags & STREAMED != 0;
    let end = if streamed && member.compressed == 0 {
        if let Some(found) = search(input, data, len)? {
            (member.compressed, member.size) = (found.compressed, found.size);
            return Ok(Some(found.next));
        }
        // Unknown: what is here is all there is.
        member.compressed = len.saturating_sub(data);
        member.size = if member.method == super::Method::STORED { member.compressed } else { 0 };
        None
    } else {
        data.checked_add(member.compressed).filter(|&end| end <= len)
    };
    if end.is_none() {
        member.state = State::Incomplete;
    }
    Ok(end.map(|end| if streamed { after_descriptor(input, end) } else { end }))
}

/// Steps over the descriptor behind a member whose sizes were known all the same.
fn after_descriptor(input: &Input, end: u64) -> u64 {
    let next = |at: u64| starts_with(input, at, SIGNATURE) || starts_with(input, at, DIRECTORY);
    let lengths: &[u64] =
        if starts_with(input, end, DESCRIPTOR) { &[16, 24] } else { &[0, 12, 20] };
    let starts = lengths.iter().map(|len| end.saturating_add(*len));
    starts.clone().find(|&at| next(at)).or(starts.clone().next()).unwrap_or(end)
}

/// Where a streamed member ends, and its sizes.
struct StreamedEnd {
    compressed: u64,
    size: u64,
    next: u64,
}

/// Looks for the end of a streamed member's data.
fn search(input: &Input, data: u64, len: u64) -> Result<Option<StreamedEnd>> {
    let mut scratch = Vec::new();
    let mut at = data;
    while at < len {
        let rest = usize::try_from(len.saturating_sub(at)).unwrap_or(CHUNK);
        let step = if input.lent().is_some() { rest } else { rest.min(CHUNK) };
        let bytes = input.view(at, step, &mut scratch)?;
        if let Some(found) = search_chunk(bytes, at, data) {
            return Ok(Some(found));
        }
        if at.saturating_add(step as u64) >= len {
            break;
        }
        // A record across the border is seen whole in the next chunk.
        at = at.saturating_add(step.saturating_sub(LONGEST).max(1) as u64);
    }
    Ok(None)
}

fn search_chunk(bytes: &[u8], at: u64, data: u64) -> Option<StreamedEnd> {
    memmem::find_iter(bytes, b"PK").find_map(|found| {
        let (before, record) = bytes.split_at_checked(found)?;
        let place = at.saturating_add(found as u64);
        let distance = place.saturating_sub(data);
        match record.first_chunk()? {
            DESCRIPTOR => signed(record, place, distance),
            SIGNATURE | DIRECTORY => unsigned(before, place, distance),
            _ => None,
        }
    })
}

/// A descriptor with its signature. An empty member fits both forms, so what follows decides
/// first; then the wide form, which holds zeros where the narrow one holds the size.
fn signed(record: &[u8], place: u64, distance: u64) -> Option<StreamedEnd> {
    let form = |len: usize, compressed: u64, size: u64| {
        let fits = record.len() >= len && compressed == distance;
        fits.then(|| StreamedEnd { compressed, size, next: place.saturating_add(len as u64) })
    };
    let followed = |found: &StreamedEnd| {
        let len = usize::try_from(found.next.saturating_sub(place)).unwrap_or(usize::MAX);
        record
            .get(len..)
            .is_some_and(|next| next.starts_with(SIGNATURE) || next.starts_with(DIRECTORY))
    };
    let wide = || form(24, u64_at(record, 8), u64_at(record, 16));
    let narrow = || form(16, u32_at(record, 8).into(), u32_at(record, 12).into());
    wide().filter(followed).or_else(|| narrow().filter(followed)).or_else(wide).or_else(narrow)
}

/// A descriptor without signature, in front of the next record.
fn unsigned(before: &[u8], place: u64, distance: u64) -> Option<StreamedEnd> {
    let narrow = before.last_chunk::<12>().map(|d| (u32_at(d, 4).into(), u32_at(d, 8).into()));
    let wide = before.last_chunk::<20>().map(|d| (u64_at(d, 4), u64_at(d, 12)));
    let check = |sizes: Option<(u64, u64)>, len: u64| {
        sizes.filter(|(compressed, _)| compressed.checked_add(len) == Some(distance))
    };
    let (compressed, size) = check(narrow, 12).or_else(|| check(wide, 20))?;
    Some(StreamedEnd { compressed, size, next: place })
}

fn starts_with(input: &Input, at: u64, signature: &[u8; 4]) -> bool {
    let mut bytes = [0; 4];
    input.read_at(at, &mut bytes).is_ok() && bytes == *signature
}
