//! How the figures of a scheme are written into its line.

use super::Measured;
use super::peers::{SAME, WHOLE};
use super::targets::peer_over_ours;
use crate::anamnesis::ANAMNESIS;
use crate::decoding::{LIMIT_HEAD, find, limit_cells};

/// How to read them.
pub const LEGEND: &str = "Times are in ms, median with the best in brackets; `x` is times the limit \
     (bold over its target), by median with the best in brackets. The limit reads the same bytes, \
     scales included, and writes the same number of bytes with ordinary stores. \
     anamnesis decodes to bf16, its times are followed by what they are times ours in the same \
     contest; warm is with malloc keeping its pages. Its functions for GPTQ and AWQ leave the \
     result as [in, out], ours gives [out, in].";

/// The columns.
pub fn head() -> Vec<String> {
    let mut head = vec!["scheme".to_owned()];
    head.extend(LIMIT_HEAD.map(str::to_owned));
    head.extend(ANAMNESIS.map(str::to_owned));
    head
}

/// The line of one scheme.
pub fn line(one: &Measured) -> Vec<String> {
    let mut cells = vec![one.case.name.to_owned()];
    cells.extend(limit_cells(&one.own, Some(one.case.class.factors)));
    for peer in ANAMNESIS {
        let cell = find(&one.anamnesis, peer).zip(peer_over_ours(&one.anamnesis, peer, "bf16"));
        cells.push(cell.map_or("-".into(), |(row, (median, best))| {
            format!("{:.1}, {median:.1}x ({best:.1}x)", row.median * 1e3)
        }));
    }
    cells
}

/// What anamnesis makes of each file, and how long its whole way takes where its function is not
/// all of it.
pub fn notes(all: &[Measured]) -> Vec<String> {
    let checked =
        |one: &Measured| one.checked.as_deref().map(|told| (one.case.name, told.to_owned()));
    let (same, other): (Vec<_>, Vec<_>) =
        all.iter().filter_map(checked).partition(|(_, told)| told == SAME);
    let mut notes = Vec::new();
    if !same.is_empty() {
        let names: Vec<_> = same.iter().map(|(name, _)| *name).collect();
        notes.push(format!("given the file, anamnesis has the same bits: {}", names.join(", ")));
    }
    notes.extend(
        other.iter().map(|(name, told)| format!("given the file, anamnesis on {name}: {told}")),
    );
    for one in all {
        let rows = &one.anamnesis;
        if let Some((row, (median, best))) =
            find(rows, WHOLE).zip(peer_over_ours(rows, WHOLE, "bf16"))
        {
            let (name, time) = (one.case.name, row.median * 1e3);
            notes.push(format!("{WHOLE}, on {name}: {time:.1} ms, {median:.1}x ({best:.1}x)"));
        }
    }
    notes
}
