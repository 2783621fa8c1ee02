//! What holds across tensors: names, order, overlap, and where the file ends.

use crate::catalog::{Catalog, Finding};
use crate::input::Input;
use crate::text::escaped;
use crate::{note_truncation, repeated, start_of};

/// Findings about names that occur twice and data that two tensors share.
pub(super) fn tensors(catalog: &mut Catalog) {
    let mut findings = Vec::new();
    for name in repeated(catalog.tensors.iter().map(|tensor| &*tensor.name)) {
        let message = "the index lists this name twice, so the tensor is ambiguous";
        findings.push(Finding::of(name, "duplicate-name", message));
    }
    let range =
        |tensor| start_of(tensor).map(|at| (at, at.saturating_add(tensor.bytes), &*tensor.name));
    let filled = catalog.tensors.iter().filter(|tensor| tensor.bytes > 0);
    let mut ranges: Vec<(u64, u64, &str)> = filled.filter_map(range).collect();
    ranges.sort_unstable();
    let mut last: Option<(u64, &str)> = None;
    for (start, end, name) in ranges {
        if let Some((before, other)) = last.filter(|(before, _)| *before > start) {
            let message = format!(
                "data starts at byte {start}, inside `{}`, which ends at byte {before}",
                escaped(other)
            );
            findings.push(Finding::of(name, "overlap", message));
        }
        if last.is_none_or(|(before, _)| end > before) {
            last = Some((end, name));
        }
    }
    catalog.findings.extend(findings);
}

/// Compares the end of the data with the end of the file. Data starts at `data`, each tensor is
/// padded to a multiple of `align`, and a checksum of four bytes follows.
pub(super) fn end_of_file(input: &Input, data: u64, align: u64, catalog: &mut Catalog) {
    let (mut bare, mut padded) = (data, data);
    for tensor in &catalog.tensors {
        let Some(start) = start_of(tensor) else { continue };
        let whole = tensor.bytes.checked_next_multiple_of(align).unwrap_or(tensor.bytes);
        bare = bare.max(start.saturating_add(tensor.bytes));
        padded = padded.max(start.saturating_add(whole));
    }
    let full = padded.saturating_add(4);
    let Some(len) = input.len() else {
        catalog.declared_len = Some(full);
        return;
    };
    catalog.declared_len = Some(full.min(len.max(bare)));
    if len > full {
        let extra = len.saturating_sub(full);
        let message =
            format!("{extra} bytes follow the checksum that ends the file at byte {full}");
        catalog.findings.push(Finding::general("trailing-bytes", message));
    } else if len < full && len >= bare {
        let message = if len == padded || len == bare {
            "the file has no trailing checksum; some writers omit it"
        } else {
            "the file ends inside the padding or checksum after its last tensor"
        };
        catalog.notes.push(message.to_owned());
    }
    if len < bare && catalog.tensors.is_empty() {
        let message = format!("data starts at byte {data}, but the file ends at byte {len}");
        catalog.findings.push(Finding::general("truncated", message));
    }
    note_truncation(catalog, len);
}
