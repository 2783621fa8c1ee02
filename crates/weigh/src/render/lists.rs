//! Lists that several reports share: labelled facts, notes, dropped tensors.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;
use weighbridge::internals::text::escaped;
use weighbridge::ops::Dropped;

use super::units::grouped;
use super::wrap::wrapped;
use super::{LABEL, Page};

/// Lines of a label and its value.
pub(crate) fn labelled(
    out: &mut dyn Write,
    page: &Page,
    facts: &[(&str, String)],
) -> io::Result<()> {
    let widest = facts.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
    for (label, value) in facts {
        write!(out, "  {LABEL}{label:widest$}{LABEL:#}  ")?;
        wrapped(out, page.width, widest + 4, widest + 4, value)?;
    }
    Ok(())
}

/// The notes.
pub(crate) fn remarks(out: &mut dyn Write, page: &Page, notes: &[String]) -> io::Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let shown = page.shown(notes.len());
    for note in &notes[..shown] {
        write!(out, "  {LABEL}note:{LABEL:#} ")?;
        wrapped(out, page.width, 8, 8, &escaped(note))?;
    }
    more(out, notes.len() - shown)
}

/// Stored tensors that no weight needs.
pub(crate) fn dropped(out: &mut dyn Write, page: &Page, all: &[Dropped]) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {LABEL}no weight needs{LABEL:#}")?;
    let shown = page.shown(all.len());
    for tensor in &all[..shown] {
        let text = format!("{}: {}", escaped(&tensor.name), escaped(&tensor.reason));
        write!(out, "    ")?;
        wrapped(out, page.width, 6, 4, &text)?;
    }
    more(out, all.len() - shown)
}

pub(crate) fn more(out: &mut dyn Write, rest: usize) -> io::Result<()> {
    match rest {
        0 => Ok(()),
        rest => {
            let rest = grouped(rest as u64);
            writeln!(out, "    {LABEL}and {rest} more, see --verbose or --json{LABEL:#}")
        }
    }
}
