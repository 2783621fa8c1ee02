//! Files that belong together: a file alone, a counted series, the files of an index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::index::Index;
use super::listing::{Entry, Kind, Listing};
use super::shards::Shard;
use super::shown_name;
use crate::catalog::Finding;

/// So many missing members are findings of their own; the rest is counted.
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
    counted: Option<Shard>,
}

impl Set {
    pub(super) fn new(label: String) -> Self {
        Self { label, ..Self::default() }
    }

    fn of_one(entry: &Entry) -> Self {
        let mut set = Self::new(entry.name.clone());
        set.files.push(entry.path.clone());
        set
    }

    /// Whether this is a numbered series that no index vouches for.
    pub(super) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// The name that ranks it: `model` of `model-00001-of-00002.fp16.safetensors`, and
    /// whether something stands between it and the extension (`fp16`).
    pub(super) fn stem(&self) -> (&str, bool) {
        let (name, counted_variant) = match &self.counted {
            Some(shard) => (shard.stem(), shard.suffix.matches('.').count() > 1),
            None => (self.label.rsplit_once('.').map_or(&*self.label, |(stem, _)| stem), false),
        };
        // `model.safetensors.index.json` and `model.safetensors.index.fp16.json`
        if let Some((stem, rest)) =
            name.split_once(".safetensors.index").or(name.split_once(".bin.index"))
        {
            return (stem, !rest.is_empty());
        }
        match name.split_once('.') {
            Some((stem, _)) => (stem, true),
            None => (name, counted_variant),
        }
    }
}

/// Puts files that count together, in their order; every other file is a set of its own.
pub(super) fn group(candidates: &[&Entry]) -> Vec<Set> {
    let mut series: BTreeMap<_, (Shard, Vec<(u32, &Entry)>)> = BTreeMap::new();
    let mut sets = Vec::new();
    for &entry in candidates {
        match Shard::parse(&entry.name) {
            Some(shard) => {
                let index = shard.index;
                let (_, members) = series.entry(shard.set()).or_insert_with(|| (shard, Vec::new()));
                members.push((index, entry));
            }
            None if entry.kind == Kind::File => sets.push(Set::of_one(entry)),
            None => {}
        }
    }
    sets.extend(series.into_values().map(|(shard, members)| complete(shard, members)));
    sets.retain(|set| !set.files.is_empty());
    sets
}

/// A series in order, with what it lacks.
fn complete(shard: Shard, mut members: Vec<(u32, &Entry)>) -> Set {
    members.sort_by_key(|(index, _)| *index);
    let lowest = members.first().map_or(1, |(index, _)| *index);
    let there: Vec<u32> = members.iter().filter(|m| m.1.kind == Kind::File).map(|m| m.0).collect();
    let mut set = Set::new(shard.name(lowest));
    set.files =
        members.iter().filter(|m| m.1.kind == Kind::File).map(|m| m.1.path.clone()).collect();
    let folder = members.first().and_then(|m| m.1.path.parent()).unwrap_or(Path::new(""));
    let absent = |index: &u32| there.binary_search(index).is_err();
    let lacking = || shard.indices(lowest).filter(absent);
    for index in lacking().take(MOST_MISSING) {
        let whole = format!("{} of the {} files of this model are here", there.len(), shard.total);
        set.findings.push(missing_shard(&folder.join(shard.name(index)), &whole));
    }
    set.findings.extend(more_missing(lacking().count()));
    set.counted = Some(shard);
    set
}

/// The missing files that are too many to be listed.
pub(super) fn more_missing(count: usize) -> Option<Finding> {
    let more = count.checked_sub(MOST_MISSING).filter(|more| *more > 0)?;
    Some(Finding::general("missing-shard", format!("{more} more files are missing")))
}

/// The series that a file belongs to, completed from its folder.
pub(super) fn series_of(path: &Path, listing: &Listing) -> Option<Set> {
    let shard = Shard::parse(&path.file_name()?.to_string_lossy())?;
    let member = |entry: &&Entry| {
        entry.kind != Kind::Folder
            && Shard::parse(&entry.name).is_some_and(|s| s.set() == shard.set())
    };
    let members: Vec<&Entry> = listing.entries.iter().filter(member).collect();
    group(&members).pop()
}

/// A file that should be there and is not; `beside` says what its absence means.
pub(super) fn missing_shard(path: &Path, beside: &str) -> Finding {
    let name = shown_name(path);
    let state = if std::fs::symlink_metadata(path).is_ok() {
        " (its link leads nowhere)".to_owned()
    } else {
        unfinished_beside(path).map_or_else(String::new, |found| format!(" (unfinished: {found})"))
    };
    Finding::general(
        "missing-shard",
        format!("{name} is missing{state}; {beside}; fetch that file"),
    )
}

/// The unfinished download of a file, if one lies beside it.
pub(super) fn unfinished_beside(path: &Path) -> Option<String> {
    UNFINISHED.iter().find_map(|ending| {
        let mut name = path.file_name()?.to_owned();
        name.push(".");
        name.push(ending);
        let partial = path.with_file_name(name);
        partial.exists().then(|| shown_name(&partial))
    })
}
