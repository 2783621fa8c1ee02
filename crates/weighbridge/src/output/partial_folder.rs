//! A directory being written: its files gather in `OUT.weigh-partial` beside the target, and appear
//! under the final name together, when all of them are complete.
//!
//! What is finished stays there when the work is interrupted. A stamp (`plan.json`) says what the
//! files were made for: only the same work may go on with them. The stamp goes when all files are
//! there, just before the name is given.
//!
//! A directory that is replaced is first called `OUT.PID.weigh-old`, and is removed when the new one
//! has its name. A process that dies between these steps leaves it under that name; the next run
//! that finds the partial directory says so.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::local_folder::Leftover;
use super::partial_file::refuse_existing;
use crate::error::{Error, Remedy, Result};
use crate::sys::sync_folder_of;

/// The file that says what a partial directory is for.
const STAMP: &str = "plan.json";

/// The ending of the name that a replaced directory has until the new one is in its place.
const REPLACED: &str = ".weigh-old";

/// A directory under construction.
pub(super) struct PartialFolder {
    partial: PathBuf,
    target: PathBuf,
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        self.remove_if_empty();
    }
}

impl PartialFolder {
    /// Starts a directory that will be called `target`, or goes on with one that was started with
    /// the same `stamp`.
    pub fn create(target: &Path, stamp: &str, leftover: Leftover) -> Result<Self> {
        target.file_name().ok_or_else(|| Error::usage("the output needs a name"))?;
        let folder = Self { partial: beside(target, ".weigh-partial"), target: target.to_owned() };
        if leftover == Leftover::Discard {
            remove(&folder.partial)?;
        }
        match fs::create_dir(&folder.partial) {
            Ok(()) => folder.stamp(stamp)?,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => folder.resume(stamp, leftover)?,
            Err(e) => return Err(Error::io(e, "cannot create").in_file(&folder.partial)),
        }
        Ok(folder)
    }

    fn stamp(&self, stamp: &str) -> Result<()> {
        let path = self.path_of(STAMP);
        fs::write(&path, stamp).map_err(|e| Error::io(e, "cannot write").in_file(&path))
    }

    /// Continues what another run left, if that is wanted and it was the same work.
    fn resume(&self, stamp: &str, leftover: Leftover) -> Result<()> {
        let found = fs::read_to_string(self.path_of(STAMP)).ok();
        let (error, hint, remedies): (_, Option<&str>, &[Remedy]) = match (
            leftover,
            found.as_deref() == Some(stamp),
        ) {
            (Leftover::Resume, true) => return self.remove_unfinished(),
            _ if found.is_none() => (
                "has no plan.json, so it cannot be resumed: a run ended just before it renamed this directory, or this is not the output of a run",
                Some("rename it if its files are complete"),
                &[Remedy::DiscardUnfinished],
            ),
            (Leftover::Resume, false) => (
                "was started for another conversion: with other options, other sources, or another version",
                None,
                &[Remedy::DiscardUnfinished],
            ),
            _ => (
                "was left by an unfinished conversion",
                None,
                &[Remedy::Resume, Remedy::DiscardUnfinished],
            ),
        };
        let mut hints: Vec<String> = hint.map(str::to_owned).into_iter().collect();
        let old = self.replaced();
        hints.extend(
            old.iter().map(|old| {
                format!("the directory that was to be replaced is now {}", old.display())
            }),
        );
        let error = remedies.iter().fold(Error::usage(error), |error, &one| error.remedy(one));
        let error = error.in_file(&self.partial);
        Err(if hints.is_empty() { error } else { error.hint(hints.join("; ")) })
    }

    /// Old copies of the target, from runs that died while replacing it.
    fn replaced(&self) -> Vec<PathBuf> {
        let (Some(place), Some(name)) = (self.partial.parent(), self.target.file_name()) else {
            return Vec::new();
        };
        let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        let starts = [name.as_encoded_bytes(), b"."].concat();
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let middle =
                name.strip_prefix(&starts[..]).and_then(|n| n.strip_suffix(REPLACED.as_bytes()));
            middle.is_some_and(|process| process.iter().all(u8::is_ascii_digit))
        };
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(is_ours).collect()
    }

    /// Removes files that were not finished.
    fn remove_unfinished(&self) -> Result<()> {
        let failed = |e| Error::io(e, "cannot read").in_file(&self.partial);
        for entry in fs::read_dir(&self.partial).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "weigh-partial") {
                fs::remove_file(&path).map_err(|e| Error::io(e, "cannot remove").in_file(&path))?;
            }
        }
        Ok(())
    }

    /// Where a file of that name is written.
    #[must_use]
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Whether a file was finished before.
    #[must_use]
    pub fn has(&self, name: &str, len: u64) -> bool {
        self.path_of(name).metadata().is_ok_and(|about| about.is_file() && about.len() == len)
    }

    /// What is finished is kept for another run. With nothing finished there is nothing to keep.
    pub fn remove_if_empty(&self) {
        let Ok(mut entries) = fs::read_dir(&self.partial) else { return };
        if entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == STAMP)) {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }

    /// Gives the directory its name. What has this name already is replaced, if that is wanted.
    pub fn finish(&self, replace: bool) -> Result<()> {
        if !replace {
            refuse_existing(&self.target)?;
        }
        let stamp = self.path_of(STAMP);
        fs::remove_file(&stamp).map_err(|e| Error::io(e, "cannot remove").in_file(&stamp))?;
        sync_folder_of(&stamp);
        let old = beside(&self.target, &format!(".{}{REPLACED}", std::process::id()));
        let replaced = replace && fs::rename(&self.target, &old).is_ok();
        fs::rename(&self.partial, &self.target).map_err(|e| {
            let error = Error::io(e, "cannot give the directory its name").in_file(&self.target);
            let is_lost = replaced && fs::rename(&old, &self.target).is_err();
            let hint = || format!("the directory that was to be replaced is now {}", old.display());
            if is_lost { error.hint(hint()) } else { error }
        })?;
        sync_folder_of(&self.target);
        if replaced {
            remove(&old)?;
        }
        Ok(())
    }
}

/// `path` with more at the end of its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Removes a file or a directory, if it is there.
fn remove(path: &Path) -> Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(|e| Error::io(e, "cannot remove").in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_work_goes_on() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let create = |stamp, leftover| PartialFolder::create(&target, stamp, leftover);
        let folder = create("one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("a"), "done").unwrap();
        fs::write(folder.path_of("b.7.weigh-partial"), "half").unwrap();
        drop(folder);
        let error = create("one", Leftover::Refuse).err().unwrap();
        assert_eq!(error.remedies(), [Remedy::Resume, Remedy::DiscardUnfinished], "{error}");
        assert!(create("two", Leftover::Resume).is_err());
        let folder = create("one", Leftover::Resume).unwrap();
        assert!(folder.has("a", 4) && !folder.has("a", 5) && !folder.has("b", 4));
        assert!(!folder.path_of("b.7.weigh-partial").exists());
        folder.finish(false).unwrap();
        let names: Vec<_> =
            fs::read_dir(&target).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["a"]);
        let folder = create("three", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("c"), "new").unwrap();
        folder.finish(true).unwrap();
        assert!(target.join("c").exists() && !target.join("a").exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn discarding_starts_anew() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("a"), "done").unwrap();
        let folder = PartialFolder::create(&target, "two", Leftover::Discard).unwrap();
        assert!(!folder.has("a", 4));
    }
    #[test]
    fn a_name_with_a_point_keeps_all_of_it_when_replaced() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("Llama-3.1");
        let old = place.path().join(format!("Llama-3.{}.weigh-old", std::process::id()));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("a"), "old").unwrap();
        // Another model's directory, which must not be taken for this one's.
        fs::create_dir(&old).unwrap();
        fs::write(old.join("b"), "another").unwrap();
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("c"), "new").unwrap();
        folder.finish(true).unwrap();
        assert!(target.join("c").exists() && !target.join("a").exists());
        assert!(old.join("b").exists(), "another model's directory was removed");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_was_set_aside_is_named() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("Llama-3.1");
        // As a process leaves it that dies between the two renames.
        fs::create_dir(place.path().join("Llama-3.1.77.weigh-old")).unwrap();
        fs::create_dir(place.path().join("Llama-3.1.more.weigh-old")).unwrap();
        fs::create_dir(place.path().join("Llama-3.1.weigh-partial")).unwrap();
        for leftover in [Leftover::Refuse, Leftover::Resume] {
            let error = PartialFolder::create(&target, "one", leftover).err().unwrap();
            let hint = error.hint_text().unwrap();
            assert!(error.to_string().contains("no plan.json"), "{error}");
            assert!(hint.contains("Llama-3.1.77.weigh-old"), "{hint}");
            assert!(!hint.contains("more"), "{hint}");
            fs::create_dir_all(place.path().join("Llama-3.1.weigh-partial")).unwrap();
        }
    }

    #[test]
    fn a_target_that_appears_meanwhile_leaves_the_work_to_resume() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("a"), "done").unwrap();
        fs::create_dir(&target).unwrap();
        assert!(folder.finish(false).is_err());
        fs::remove_dir(&target).unwrap();
        let folder = PartialFolder::create(&target, "one", Leftover::Resume).unwrap();
        assert!(folder.has("a", 4));
    }
}
