//! Checks of a file whose header could be read: names, places, and where it ends.

use crate::catalog::{Catalog, Finding, TensorInfo};
use crate::dtype::StoredType;
use crate::error::Result;
use crate::limits::Budget;
use crate::text::shortened;

use super::reader::Reader;
use super::tensors::start;

/// Checks names, places and the end of the file. The cursor stands behind the list of tensors.
pub(super) fn check(catalog: &mut Catalog, reader: &Reader<'_>, alignment: u64) -> Result<()> {
    crate::refuse_duplicates(catalog)?;
    check_alignment(catalog, reader, alignment)?;
    let end = check_overlap(catalog, reader.budget)?;
    // Without data the padding before it may be missing, too.
    catalog.declared_len = Some(end.max(reader.cursor.position()));
    note_forks(catalog);
    if let Some(len) = reader.file_len {
        note_trailing(catalog, len, alignment);
        crate::note_truncation(catalog, len);
    }
    Ok(())
}

/// Adds a finding. A hostile list could have one for every tensor, so they are paid for.
pub(super) fn report(found: &mut Vec<Finding>, budget: &Budget, finding: Finding) -> Result<()> {
    let text = finding.message.len().saturating_add(finding.tensor.as_ref().map_or(0, String::len));
    let bytes = (size_of::<Finding>() as u64).saturating_add(text as u64);
    budget.charge(bytes, "the problem list")?;
    found.push(finding);
    Ok(())
}

fn check_alignment(catalog: &mut Catalog, reader: &Reader<'_>, alignment: u64) -> Result<()> {
    let data_start = reader.cursor.position().next_multiple_of(alignment);
    for tensor in &catalog.tensors {
        let offset = start(tensor).saturating_sub(data_start);
        if offset.checked_rem(alignment) != Some(0) {
            let message =
                format!("offset {offset} is not a multiple of the alignment ({alignment})");
            let finding = Finding::of(&tensor.name, "misaligned", message);
            report(&mut catalog.findings, reader.budget, finding)?;
        }
    }
    Ok(())
}

/// Reports tensors that begin before another one has ended; returns where the last one ends.
fn check_overlap(catalog: &mut Catalog, budget: &Budget) -> Result<u64> {
    let mut order: Vec<&TensorInfo> = catalog.tensors.iter().filter(|t| t.bytes > 0).collect();
    if !order.is_sorted_by_key(|t| start(t)) {
        order.sort_by_key(|t| start(t));
    }
    let mut last: Option<(&TensorInfo, u64)> = None;
    for tensor in order {
        let end = start(tensor).saturating_add(tensor.bytes);
        if let Some((before, before_end)) = last
            && start(tensor) < before_end
        {
            let message = format!(
                "it starts at byte {}, but `{}` ends at byte {before_end}",
                start(tensor),
                shortened(&before.name, 200)
            );
            report(&mut catalog.findings, budget, Finding::of(&tensor.name, "overlap", message))?;
        }
        if last.is_none_or(|(_, before_end)| end > before_end) {
            last = Some((tensor, end));
        }
    }
    Ok(last.map_or(0, |(_, end)| end))
}

/// Type numbers that were read as a fork means them.
fn note_forks(catalog: &mut Catalog) {
    const FORKS: [(&str, &str); 2] = [
        ("I2_S", "type 36 is read as BitNet's I2_S"),
        ("MXFP4", "type 4 is read as early Ollama's MXFP4, which orders nibbles differently"),
    ];
    for (name, note) in FORKS {
        let stored = StoredType::opaque(name);
        if catalog.tensors.iter().any(|tensor| tensor.stored == stored) {
            catalog.notes.push(note.to_owned());
        }
    }
}

/// Padding after the last tensor may be missing or there; more than that is noted.
fn note_trailing(catalog: &mut Catalog, len: u64, alignment: u64) {
    let end = catalog.declared_len.unwrap_or(len);
    let padded = end.checked_next_multiple_of(alignment).unwrap_or(end);
    if len > padded {
        let more = len.saturating_sub(padded);
        catalog.notes.push(format!("{more} bytes follow the last tensor and its padding"));
    }
}
