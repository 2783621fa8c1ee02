//! Reports, for people and as JSON.
//!
//! Problems come first, then the summary, then the lists that were asked for. Text from files is
//! escaped. On a terminal, text is wrapped to its width; in a pipe it is not.

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

/// Lines shown of a list that may be very long, unless everything is asked for.
pub(crate) const MOST: usize = 10;

/// How a report is laid out.
pub(crate) struct Page {
    /// Columns of the terminal; `None` when there is no terminal.
    pub(crate) width: Option<usize>,
    /// Show lists in full.
    pub(crate) verbose: bool,
}

impl Page {
    /// A page as wide as the terminal.
    pub(crate) fn on_terminal(verbose: bool) -> Self {
        Self { width: terminal::width(), verbose }
    }

    /// How many lines of a list of `len` to show.
    pub(crate) fn shown(&self, len: usize) -> usize {
        self.shown_of(len, MOST)
    }

    /// How many lines of a list of `len` to show, if at most `most` are wanted.
    pub(crate) fn shown_of(&self, len: usize, most: usize) -> usize {
        // Cutting off a single line would not shorten anything.
        if self.verbose || len <= most + 1 { len } else { most }
    }
}
