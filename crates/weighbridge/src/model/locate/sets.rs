//! Files that belong together: a file alone, a counted series, the files of an index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::index::Index;
use super::listing::{Entry, stem_of};
use super::search::Search;
use super::shards::Shard;
use super::shown_name;
use crate::catalog::Finding;
use crate::input::EntryKind;

/// How many missing files are listed one by one; the rest is counted.
pub(super) const MOST_MISSING: usize = 100;

/// The endings that downloaders give to what they have not finished.
pub(super) const UNFINISHED: &[&str] =
    &["incomplete", "part", "partial", "crdownload", "download", "aria2", "!ut"];

/// One way to read the weights of a folder.
#[derive(Debug, Default)]
pub(super) struct Set {
    /// What it is called in a message.
    pub(super) label: String,
    pub(super) files: Vec<PathBuf>,
    pub(super) missing: Vec<String>,
    pub(super) findings: Vec<Finding>,
    pub(super) index: Option<Index>,
    /// The name that ranks it, `model` of `model-00001-of-00002.fp16.safetensors`, and whether
    /// something stands between it and the extension (`fp16`).
    pub(super) stem: (String, bool),
    /// Whether this is a numbered series without an index.
    pub(super) is_counted: bool,
}

impl Set {
    pub(super) fn new(label: String) -> Self {
        Self { label, ..Self::default() }
    }
}

/// The part of a stem that ranks it, and whether something stands behind it (`fp16`).
fn ranked(stem: &str, variant: bool) -> (String, bool) {
    match stem.split_once('.') {
        Some((stem, _)) => (stem.to_owned(), true),
        None => (stem.to_owned(), variant),
    }
}

/// Puts files that count together, in their order; every other file is a set of its own.
pub(super) fn group(candidates: &[&Entry], search: &Search<'_>) -> Vec<Set> {
    let mut series: BTreeMap<_, (Shard, Vec<(u32, &Entry)>)> = BTreeMap::new();
    let mut sets = Vec::new();
    for &entry in candidates {
        match Shard::parse(&entry.name) {
            Some(shard) => {
                let index = shard.index;
                let (_, members) = series.entry(shard.set()).or_insert_with(|| (shard, Vec::new()));
                members.push((index, entry));
            }
            None => sets.extend(together(&[entry])),
        }
    }
    sets.extend(series.into_values().map(|(shard, members)| complete(&shard, members, search)));
    sets.retain(|set| !set.files.is_empty());
    sets
}

/// All of these files as one set, whatever they are called.
pub(super) fn together(entries: &[&Entry]) -> Option<Set> {
    let files: Vec<_> = entries.iter().filter(|e| e.is_file()).collect();
    let first = files.first()?;
    let mut set = Set::new(first.name.clone());
    set.stem = ranked(stem_of(&first.name), false);
    set.files = files.iter().map(|entry| entry.path.clone()).collect();
    Some(set)
}

/// A series in order, with the files that are missing.
fn complete(shard: &Shard, mut members: Vec<(u32, &Entry)>, search: &Search<'_>) -> Set {
    members.sort_by_key(|(index, _)| *index);
    let lowest = members.first().map_or(1, |(index, _)| *index);
    let there: Vec<u32> = members.iter().filter(|m| m.1.is_file()).map(|m| m.0).collect();
    let mut set = Set::new(shard.name(lowest));
    set.files = members.iter().filter(|m| m.1.is_file()).map(|m| m.1.path.clone()).collect();
    let folder = members.first().and_then(|m| m.1.path.parent()).unwrap_or(Path::new(""));
    let absent = |index: &u32| there.binary_search(index).is_err();
    let lacking = || shard.indices(lowest).filter(absent);
    for index in lacking().take(MOST_MISSING) {
        let whole = format!("{} of {} shards are present", there.len(), shard.total);
        set.findings.push(missing_shard(&folder.join(shard.name(index)), &whole, search));
    }
    set.findings.extend(more_missing(lacking().count()));
    set.stem = ranked(shard.stem(), shard.suffix.matches('.').count() > 1);
    set.is_counted = true;
    set
}

/// The missing files that are too many to be listed.
pub(super) fn more_missing(count: usize) -> Option<Finding> {
    let more = count.checked_sub(MOST_MISSING).filter(|more| *more > 0)?;
    Some(Finding::general("missing-shard", format!("{more} more shards are missing")))
}

/// The finding for a missing shard; `consequence` says what its absence means.
pub(super) fn missing_shard(path: &Path, consequence: &str, search: &Search<'_>) -> Finding {
    let name = shown_name(path);
    let state = if search.kind(path) == Some(EntryKind::BrokenLink) {
        " (broken link)".to_owned()
    } else {
        unfinished_beside(path, search)
            .map_or_else(String::new, |found| format!(" (unfinished: {found})"))
    };
    Finding::general(
        "missing-shard",
        format!("{name} is missing{state}; {consequence}; fetch that file"),
    )
}

/// The unfinished download of a file, if one lies beside it.
fn unfinished_beside(path: &Path, search: &Search<'_>) -> Option<String> {
    UNFINISHED.iter().find_map(|ending| {
        let mut name = path.file_name()?.to_owned();
        name.push(".");
        name.push(ending);
        let partial = path.with_file_name(name);
        search.is_there(&partial).then(|| shown_name(&partial))
    })
}
