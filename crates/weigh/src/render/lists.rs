//! Lists shared by several reports: labelled facts, notes, dropped tensors.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;
use weighbridge::internals::text::escaped;
use weighbridge::ops::{Dropped, LeftBehind, Warning};

use super::units::grouped;
use super::wrap::wrapped;
use super::{ALARM, LABEL, Page};
use crate::remedy;

/// Writes lines of a label and its value.
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

/// Writes the notes.
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

/// Writes the warnings. All of them are shown: each is a difference that nothing else tells.
pub(crate) fn warned(out: &mut dyn Write, page: &Page, warnings: &[Warning]) -> io::Result<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for warning in warnings {
        let text = format!("{}: {}", warning.subject(), warning.message);
        write!(out, "  {ALARM}warning:{ALARM:#} ")?;
        wrapped(out, page.width, 8, 11, &escaped(&text))?;
    }
    Ok(())
}

/// Lists stored tensors that no weight uses.
pub(crate) fn dropped(out: &mut dyn Write, page: &Page, all: &[Dropped]) -> io::Result<()> {
    let all: Vec<_> = all.iter().map(|tensor| (&*tensor.name, &*tensor.reason)).collect();
    with_reasons(out, page, "unused tensors", &all)
}

/// Lists unreadable weights that were skipped.
pub(crate) fn skipped(out: &mut dyn Write, page: &Page, all: &[Dropped]) -> io::Result<()> {
    let all: Vec<_> = all.iter().map(|weight| (&*weight.name, &*weight.reason)).collect();
    with_reasons(out, page, "skipped, unreadable", &all)
}

/// Lists files that were not copied, and the option that copies them.
pub(crate) fn left_behind(out: &mut dyn Write, page: &Page, all: &[LeftBehind]) -> io::Result<()> {
    let named: Vec<_> = all.iter().map(|file| (&*file.name, &*file.reason)).collect();
    with_reasons(out, page, "not copied", &named)?;
    match all.iter().find_map(|file| remedy::words(file.remedy?)) {
        Some(words) => writeln!(out, "    {words}"),
        None => Ok(()),
    }
}

/// Lists names with reasons below a label.
pub(crate) fn with_reasons(
    out: &mut dyn Write,
    page: &Page,
    label: &str,
    all: &[(&str, &str)],
) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {LABEL}{label}{LABEL:#}")?;
    let shown = page.shown(all.len());
    for (name, reason) in &all[..shown] {
        let text = format!("{}: {}", escaped(name), escaped(reason));
        write!(out, "    ")?;
        wrapped(out, page.width, 6, 4, &text)?;
    }
    more(out, all.len() - shown)
}

/// Counts the lines that are not shown.
pub(crate) fn more(out: &mut dyn Write, rest: usize) -> io::Result<()> {
    match rest {
        0 => Ok(()),
        rest => {
            let rest = grouped(rest as u64);
            writeln!(out, "    {LABEL}and {rest} more (--verbose shows all){LABEL:#}")
        }
    }
}
