//! A progress bar on standard error, if that is a terminal.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use weighbridge::ops::{Conversion, OnProgress};

use super::convert::plan_line;
use crate::terminal;

/// Bytes done, speed, time left.
const TEMPLATE: &str =
    "{bar:30} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";

/// A progress bar for a conversion, below a line with its plan; `None` without a terminal.
pub(super) fn bar(conversion: &Conversion) -> Option<ProgressBar> {
    if std::io::stderr().is_terminal() {
        terminal::note(&plan_line(conversion.report()));
    }
    bar_of(conversion.data_bytes())
}

/// A progress bar for this many bytes; `None` without a terminal.
pub(super) fn bar_of(bytes: u64) -> Option<ProgressBar> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    Some(bar)
}

/// Shows the library's progress on the bar.
pub(super) fn shown_on(bar: &ProgressBar) -> OnProgress {
    let bar = bar.clone();
    Arc::new(move |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    })
}
