//! Names of weights, from the headers of models.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::CompletionCandidate;
use weighbridge::OpenOptions;

use crate::commands::stdin;

/// The names in these models that start with what was typed. What cannot be opened has none.
pub(super) fn starting_with(typed: &OsStr, models: &[PathBuf]) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    // Standard input is not there to be read while a line is typed.
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
