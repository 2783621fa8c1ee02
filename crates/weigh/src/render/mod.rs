//! Reports for people, and the same as JSON.
//!
//! What is odd about a model comes first, then what it is, then the lists that were asked for.
//! Everything that came out of a file is escaped. On a terminal, text is fitted to its width; in
//! a pipe nothing is wrapped.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use weighbridge::Model;
use weighbridge::internals::text::escaped;
use weighbridge::ops::Report;

mod convert;
mod diff;
mod diff_cost;
mod json;
mod metadata;
mod problems;
mod summary;
mod table;
mod tensors;
mod units;
mod verify;
mod wrap;

pub(crate) use convert::{plan_line, write as convert};
pub(crate) use diff::write as diff;
pub(crate) use json::json;
pub(crate) use verify::write as verify;

const TITLE: Style = Style::new().bold();
const LABEL: Style = Style::new().dimmed();
const ALARM: Style = AnsiColor::Yellow.on_default().bold();

/// Lines shown of a list that may be very long, unless everything is asked for.
const MOST: usize = 10;

/// How a report shall look.
pub(crate) struct Page {
    /// Columns of the terminal; `None` when there is no terminal.
    pub(crate) width: Option<usize>,
    /// Only what is wrong.
    pub(crate) quiet: bool,
    /// Everything, however long.
    pub(crate) verbose: bool,
    /// Metadata too.
    pub(crate) metadata: bool,
    /// Metadata in full.
    pub(crate) full_metadata: bool,
}

impl Page {
    /// How many lines of a list of `len` to show.
    fn shown(&self, len: usize) -> usize {
        self.shown_of(len, MOST)
    }

    /// The same where not even [`MOST`] fit.
    fn shown_of(&self, len: usize, most: usize) -> usize {
        // Cutting off a single line would not shorten anything.
        if self.verbose || len <= most + 1 { len } else { most }
    }
}

/// Writes the report on one model.
pub(crate) fn report(
    out: &mut dyn Write,
    page: &Page,
    model: &Model,
    report: &Report,
) -> io::Result<()> {
    if page.quiet && report.problems.is_empty() {
        return Ok(());
    }
    writeln!(out, "{TITLE}{}{TITLE:#}", escaped(&report.path))?;
    problems::write(out, page, &report.problems)?;
    if page.quiet {
        return Ok(());
    }
    if !report.problems.is_empty() {
        writeln!(out)?;
    }
    summary::write(out, page, report)?;
    if let Some(tensors) = &report.tensors {
        tensors::write(out, page, tensors)?;
    }
    if page.metadata {
        metadata::write(out, page, model)?;
    }
    Ok(())
}
