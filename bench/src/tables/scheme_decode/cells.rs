//! How the figures of a scheme are written into its line.

use super::Measured;
use crate::decoding::{LIMIT_HEAD, limit_cells};

/// How to read them.
pub const LEGEND: &str = "Times are in ms, median with the best in brackets; `x` is times the limit \
     (bold over its target), by median with the best in brackets. The limit reads the same bytes, \
     scales included, and writes the same number of bytes with ordinary stores.";

/// The columns.
pub fn head() -> Vec<String> {
    let mut head = vec!["scheme".to_owned()];
    head.extend(LIMIT_HEAD.map(str::to_owned));
    head
}

/// The line of one scheme.
pub fn line(one: &Measured) -> Vec<String> {
    let mut cells = vec![one.case.name.to_owned()];
    cells.extend(limit_cells(&one.own, Some(one.case.class.factors)));
    cells
}
