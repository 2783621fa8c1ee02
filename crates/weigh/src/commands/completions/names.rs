//! Completes weight names from model headers.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use weighbridge::OpenOptions;

use crate::commands::stdin;

/// The weight names in these models that start with `typed`. Models that cannot be opened are
/// skipped.
pub(super) fn starting_with(typed: &OsStr, models: &[PathBuf]) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    // Standard input is the terminal while a line is typed.
    let paths = models.iter().filter(|path| !stdin::is_meant(path));
    let opened = paths.flat_map(|path| OpenOptions::new().open_all(path).unwrap_or_default());
    let names: BTreeSet<String> = opened
        .flat_map(|model| {
            model.weights().map(|weight| weight.name().to_owned()).collect::<Vec<_>>()
        })
        .filter(|name| name.starts_with(typed))
        .collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}
