//! How the figures of a scheme are written into its line.

use super::Measured;
use super::canonical::{CANONICAL, NATIVE, library};
use super::peers::{SAME, WHOLE};
use super::targets::peer_over_ours;
use crate::anamnesis::ANAMNESIS;
use crate::decoding::{LIMIT_HEAD, find, limit_cells};
use crate::harness::Row;

/// How to read them.
pub const LEGEND: &str = "Times are in ms, median with the best in brackets; `x` is times the limit \
     (bold over its target), by median with the best in brackets. The limit reads the same bytes, \
     scales included, and writes the same number of bytes with ordinary stores. \
     anamnesis decodes to bf16; each of its times is followed by its multiple of ours in the \
     same contest; warm is with malloc keeping its pages. Its functions for GPTQ and AWQ leave the \
     result as [in, out], ours gives [out, in]. \
     Python is the library that owns the scheme, in one thread, to its own type and against ours \
     at that type, the transposition included.";

/// The columns.
pub fn head() -> Vec<String> {
    let mut head = vec!["scheme".to_owned()];
    head.extend(LIMIT_HEAD.map(str::to_owned));
    head.extend(ANAMNESIS.map(str::to_owned));
    head.push(CANONICAL.to_owned());
    head
}

/// The line of one scheme.
pub fn line(one: &Measured) -> Vec<String> {
    let mut cells = vec![one.case.name.to_owned()];
    cells.extend(limit_cells(&one.own, Some(one.case.class.factors)));
    cells.extend(ANAMNESIS.map(|peer| against(&one.anamnesis, peer, "bf16")));
    let python = against(&one.canonical.rows, CANONICAL, NATIVE);
    cells.push(format!("{}: {python}", library(one.case.kind)));
    cells
}

/// A peer's time, also as a multiple of ours.
fn against(rows: &[Row], peer: &str, ours: &str) -> String {
    find(rows, peer)
        .zip(peer_over_ours(rows, peer, ours))
        .map_or("-".into(), |(row, (median, best))| {
            format!("{:.1}, {median:.1}x ({best:.1}x)", row.median * 1e3)
        })
}

/// What the others make of each file, and how long anamnesis takes in all where its function does
/// only part of the work.
pub fn notes(all: &[Measured]) -> Vec<String> {
    let mut notes = Vec::new();
    results(&mut notes, "anamnesis, given the file", all, |one| one.checked.as_deref());
    results(&mut notes, "the scheme's own library", all, |one| one.canonical.checked.as_deref());
    for one in all {
        let whole = against(&one.anamnesis, WHOLE, "bf16");
        if whole != "-" {
            notes.push(format!("{WHOLE}, on {}: {whole}", one.case.name));
        }
    }
    notes
}

/// Which results equal ours bit for bit, and how the others differ.
fn results(
    notes: &mut Vec<String>,
    who: &str,
    all: &[Measured],
    told: impl Fn(&Measured) -> Option<&str>,
) {
    let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in all {
        let Some(told) = told(one) else { continue };
        match kinds.iter_mut().find(|(kind, _)| *kind == told) {
            Some((_, names)) => names.push(one.case.name),
            None => kinds.push((told, vec![one.case.name])),
        }
    }
    kinds.sort_by_key(|(kind, _)| *kind != SAME);
    notes.extend(kinds.iter().map(|(kind, names)| format!("{who}: {kind}: {}", names.join(", "))));
}
