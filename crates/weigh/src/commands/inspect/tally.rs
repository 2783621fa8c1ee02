//! Counts over all inspected models, and the exit code.

use std::fmt;

use weighbridge::ops::Report;

use super::Outcome;
use crate::render::units::{grouped, plural};

/// The problem kind of malicious files.
pub(super) const DANGEROUS: &str = "dangerous-global";

/// The counts. The field names are those of the JSON summary.
#[derive(Debug, Default, serde::Serialize)]
pub(super) struct Tally {
    /// Models that were inspected.
    pub(super) models: u64,
    /// Files that were looked at.
    pub(super) files: u64,
    /// Models with problems.
    pub(super) with_problems: u64,
    /// Models with dangerous problems; `with_problems` includes them.
    pub(super) dangerous: u64,
    /// Models and files that cannot be read.
    pub(super) unreadable: u64,
}

impl Tally {
    /// Counts a model.
    pub(super) fn add(&mut self, report: &Report) {
        let is_dangerous = report.problems.iter().any(|problem| problem.kind == DANGEROUS);
        self.models += 1;
        self.with_problems += u64::from(!report.problems.is_empty());
        self.dangerous += u64::from(is_dangerous);
    }

    /// The outcome. In a scan of a tree, unreadable files are usual, so a problem outweighs them.
    pub(super) fn outcome(&self, recursive: bool) -> Outcome {
        match (self.with_problems, self.unreadable) {
            (0, 0) => Outcome::Done,
            (0, _) => Outcome::Failed,
            (_, 1..) if !recursive => Outcome::Failed,
            _ => Outcome::Found,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (models, files) = (plural(self.models, "model"), plural(self.files, "file"));
        let [problems, dangerous, unreadable] =
            [self.with_problems, self.dangerous, self.unreadable].map(grouped);
        write!(f, "{models}, {files}, {problems} with problems, {dangerous} dangerous, ")?;
        write!(f, "{unreadable} unreadable")
    }
}
