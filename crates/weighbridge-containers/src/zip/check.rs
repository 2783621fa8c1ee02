//! What a directory may not say: members that share bytes, and names that occur twice.

use std::hash::BuildHasher;

use crate::catalog::Finding;
use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::text::shortened;

use super::{Archive, State, local};

/// Builds the index of names and marks members that cannot be right.
pub(super) fn members(archive: &mut Archive<'_>, budget: &Budget) -> Result<()> {
    index(archive)?;
    note_duplicates(archive);
    mark_overlaps(archive, budget)?;
    note_state(archive, State::Overlaps, "overlapping-records", "overlap others");
    note_state(archive, State::Outside, "misplaced-records", "extend past the archive's data");
    Ok(())
}

fn index(archive: &mut Archive<'_>) -> Result<()> {
    let count = u32::try_from(archive.members.len())
        .map_err(|_| Error::limit("too many archive members"))?;
    let hashes = archive.members.iter().map(|member| archive.hasher.hash_one(archive.name(member)));
    let mut index: Vec<(u64, u32)> = hashes.zip(0..count).collect();
    index.sort_unstable();
    archive.index = index;
    Ok(())
}

fn note_duplicates(archive: &mut Archive<'_>) {
    let pairs = archive.index.iter().zip(archive.index.iter().skip(1));
    let member = |at: u32| archive.members.get(at as usize);
    let mut twice: Vec<u32> = pairs
        .filter(|((a, i), (b, j))| {
            a == b && member(*i).map(|m| archive.name(m)) == member(*j).map(|m| archive.name(m))
        })
        .map(|((_, first), _)| *first)
        .collect();
    twice.sort_unstable();
    let Some(first) = twice.first().and_then(|&at| member(at)) else { return };
    let name = shortened(archive.name(first), 80);
    let more = match twice.len() {
        1 => String::new(),
        count => format!(" (and {} more names)", count.saturating_sub(1)),
    };
    let message =
        format!("the archive contains `{name}` more than once{more}; the last one is used");
    archive.has_duplicates = true;
    archive.findings.push(Finding::general("duplicate-record", message));
}

/// Marks both of two members that overlap: data may be counted once only.
fn mark_overlaps(archive: &mut Archive<'_>, budget: &Budget) -> Result<()> {
    let members = &mut archive.members;
    let sorted = members.is_sorted_by_key(|member| member.header);
    let mut order: Vec<u32> = Vec::new();
    if !sorted {
        let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
        budget.charge(u64::from(count).saturating_mul(4), "the archive's directory")?;
        order = (0..count).collect();
        order.sort_unstable_by_key(|&at| members.get(at as usize).map(|member| member.header));
    }
    let mut last = 0;
    let mut end = 0u64;
    for step in 0..members.len() {
        let at = if sorted { step } else { order.get(step).map_or(step, |&at| at as usize) };
        let Some(member) = members.get_mut(at) else { continue };
        if member.state == State::Outside {
            continue;
        }
        let start = member.header;
        let own_end = start
            .saturating_add(local::FIXED as u64)
            .saturating_add(member.name_len.into())
            .saturating_add(member.compressed);
        if start < end && member.state == State::Whole {
            member.state = State::Overlaps;
            if let Some(other) = members.get_mut(last).filter(|other| other.state == State::Whole) {
                other.state = State::Overlaps;
            }
        }
        if own_end > end {
            (end, last) = (own_end, at);
        }
    }
    Ok(())
}

fn note_state(archive: &mut Archive<'_>, state: State, kind: &'static str, what: &str) {
    let mut such = archive.members.iter().filter(|member| member.state == state);
    let Some(first) = such.next() else { return };
    let message = format!(
        "{} archive members {what} and are not read; the first is `{}`",
        such.count().saturating_add(1),
        shortened(archive.name(first), 80)
    );
    archive.findings.push(Finding::general(kind, message));
}
