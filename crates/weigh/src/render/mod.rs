//! Reports as text and as JSON.
//!
//! Problems come first, then the summary, then the requested lists. Text from files is escaped. Text
//! is wrapped to the width of a terminal; in a pipe it is not wrapped.

use anstyle::{AnsiColor, Style};

use crate::terminal;

pub(crate) mod array;
mod failure;
pub(crate) mod json;
pub(crate) mod lists;
pub(crate) mod table;
pub(crate) mod units;
pub(crate) mod wrap;

pub(crate) use failure::Failure;

pub(crate) const TITLE: Style = Style::new().bold();
pub(crate) const LABEL: Style = Style::new().dimmed();
pub(crate) const ALARM: Style = AnsiColor::Yellow.on_default().bold();

/// Lines shown of a long list without `--verbose`.
pub(crate) const MOST: usize = 10;

/// The layout of a text report.
pub(crate) struct Page {
    /// Width of the terminal in columns; `None` without a terminal.
    pub(crate) width: Option<usize>,
    /// Show lists in full.
    pub(crate) verbose: bool,
}

impl Page {
    /// A page as wide as the terminal.
    pub(crate) fn on_terminal(verbose: bool) -> Self {
        Self { width: terminal::width(), verbose }
    }

    /// The number of lines to show of a list of `len`.
    pub(crate) fn shown(&self, len: usize) -> usize {
        self.shown_of(len, MOST)
    }

    /// The number of lines to show of a list of `len`, if at most `most` are wanted.
    pub(crate) fn shown_of(&self, len: usize, most: usize) -> usize {
        // Cutting a single line would save nothing.
        if self.verbose || len <= most + 1 { len } else { most }
    }
}
