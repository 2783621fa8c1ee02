//! The stamp of a directory that is being written, `.weigh-plan.json`: what the work is, which files
//! were begun, and which are complete. It tells what a run has left from anything else of that name, so
//! only what it lists is ever removed.
//!
//! Its first line says that it is ours and how long the stamp is; then come the stamp itself and the
//! lines of [`Finished`]. It goes before the directory gets its name; from then on the marker
//! stands for it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};

use super::finished::{Finished, Noted};
use super::marker;
use super::partial_file::PARTIAL;
use crate::error::{Error, Result};
use crate::sys::sync_folder_of;

/// The file that says what a partial directory is for. Hidden, because hidden files are never copied
/// along with a model: no file of one can come to lie in its place.
pub(super) const STAMP: &str = ".weigh-plan.json";

/// The key of its first line.
const OURS: &str = "weighbridge_stamp_bytes";

/// What has the name of a partial directory.
pub(super) enum PartialState {
    Nothing,
    /// An empty directory, or one with the beginning of a stamp: a run had no time to stamp it, or it
    /// is anybody's. Nothing is lost.
    Empty,
    /// What a run has left.
    Ours(Left),
    /// A run was about to give it its name: all files are complete.
    Complete(marker::Marker),
    /// Anything else.
    Foreign,
}

/// What a run has left in a partial directory.
pub(super) struct Left {
    pub(super) stamp: String,
    /// What it noted about its files.
    pub(super) lines: String,
}

impl PartialState {
    pub(super) fn at(partial: &Path) -> Self {
        let Ok(about) = partial.symlink_metadata() else { return Self::Nothing };
        if !about.is_dir() {
            return Self::Foreign;
        }
        if let Some(left) = Left::read(&partial.join(STAMP)) {
            return Self::Ours(left);
        }
        match marker::read(partial) {
            _ if is_empty(partial) => Self::Empty,
            Some(marker) => Self::Complete(marker),
            None => Self::Foreign,
        }
    }
}

/// Whether nothing is there but, at most, a stamp that was begun.
fn is_empty(partial: &Path) -> bool {
    let is_it = |entry: fs::DirEntry| entry.file_name() == STAMP && is_stamp(&entry.path());
    fs::read_dir(partial).is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(is_it)))
}

/// Whether a file is a stamp, or the beginning of one: its run may have died while it was written.
pub(super) fn is_stamp(path: &Path) -> bool {
    let first = format!("{{\"{OURS}\":");
    let mut start = Vec::new();
    let read = |file: fs::File| file.take(first.len() as u64).read_to_end(&mut start);
    path.symlink_metadata().is_ok_and(|about| about.is_file())
        && fs::File::open(path).and_then(read).is_ok()
        && first.as_bytes().starts_with(&start)
}

impl Left {
    fn read(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let text = fs::read_to_string(path).ok()?;
        let (first, rest) = text.split_once('\n')?;
        let len = serde_json::from_str::<Value>(first).ok()?.get(OURS)?.as_u64()?;
        let (stamp, lines) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        Some(Self { stamp: stamp.to_owned(), lines: lines.to_owned() })
    }

    /// What lies in the directory and was not begun by the run that left it.
    pub(super) fn foreign(&self, partial: &Path) -> Result<Vec<String>> {
        let finished = Finished::new(partial.join(STAMP));
        finished.read(&self.lines);
        foreign(partial, &finished.begun())
    }
}

/// Starts the stamp of a directory.
pub(super) fn write(partial: &Path, stamp: &str) -> Result<()> {
    let path = partial.join(STAMP);
    let written = fs::write(&path, format!("{}\n{stamp}", json!({ OURS: stamp.len() })));
    written.map_err(|e| Error::io(e, "cannot write").in_file(&path))
}

/// Stamps a directory whose files are all complete once more, so that its run can be taken up.
pub(super) fn restore(partial: &Path, stamp: &str, marker: &marker::Marker) -> Result<()> {
    let finished = Finished::new(partial.join(STAMP));
    write(partial, stamp)?;
    for (name, file) in &marker.files {
        finished.begin(name)?;
        if let Some(checksum) = file.checksum {
            finished.note(name, Noted { len: file.bytes, checksum })?;
        }
    }
    sync_folder_of(&partial.join(STAMP));
    Ok(())
}

/// Removes a directory with the files that were begun in it. Nothing is removed if there is
/// anything else; then these names are returned.
pub(super) fn remove(partial: &Path, begun: &BTreeSet<String>) -> Result<Vec<String>> {
    let foreign = foreign(partial, begun)?;
    if foreign.is_empty() {
        let failed = |e| Error::io(e, "cannot remove").in_file(partial);
        fs::remove_dir_all(partial).map_err(failed)?;
    }
    Ok(foreign)
}

/// Removes files that were begun and not finished.
pub(super) fn remove_unfinished(partial: &Path, begun: &BTreeSet<String>) {
    let names = marker::foreign_in(partial, &|name, _| unfinished(name).is_none(), &|inside| {
        begun.iter().any(|file| file.starts_with(inside))
    });
    let is_ours = |name: &&String| unfinished(name).is_some_and(|name| begun.contains(name));
    for name in names.unwrap_or_default().iter().filter(is_ours) {
        let _ = fs::remove_file(partial.join(name));
    }
}

fn foreign(partial: &Path, begun: &BTreeSet<String>) -> Result<Vec<String>> {
    let is_ours = |name: &str| {
        let own = name == STAMP || name == marker::MARKER;
        own || begun.contains(name) || unfinished(name).is_some_and(|name| begun.contains(name))
    };
    let holds_ours = |inside: &str| begun.iter().any(|file| file.starts_with(inside));
    let found = marker::foreign_in(partial, &|name, _| is_ours(name), &holds_ours);
    found.map_err(|e| Error::io(e, "cannot read").in_file(partial))
}

/// `a/b` of `a/b.77.weigh-partial` and `a/b.77.1.weigh-partial`.
fn unfinished(name: &str) -> Option<&str> {
    let name = name.strip_suffix(PARTIAL)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (front, _) = name.rsplit_once('.').filter(|(_, last)| is_number(last))?;
    match front.rsplit_once('.') {
        Some((first, process)) if is_number(process) => Some(first),
        _ => Some(front),
    }
}
