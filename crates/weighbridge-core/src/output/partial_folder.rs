//! A directory being written: its files gather in `OUT.weigh-partial` beside the target, and appear
//! under the final name together, when all of them are complete.
//!
//! What is finished stays there when the work is interrupted. A stamp says what the files were made
//! for, and which of them are complete: only the same work may go on with them. When all are, the
//! marker takes its place, and the directory gets its name. A partial directory with neither is not
//! ours, and is left alone; so is one that holds anything else.
//!
//! A directory that is replaced is first called `OUT.PID.weigh-old`, and is removed when the new one
//! has its name. A process that dies between these steps leaves it there; the next run that
//! finishes the same output removes it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::finished::Finished;
use super::local_folder::Leftover;
use super::lock::Lock;
use super::marker::{self, Files, Marker, listed};
use super::partial_file::{PARTIAL, refuse_existing};
use super::stamp::{self, PartialState, STAMP};
use super::{FoundFile, REPLACED, beside, parts, refuse_foreign};
use crate::error::{Error, Remedy, Result};
use crate::stop::lock;
use crate::sys::sync_folder_of;
use crate::text::escaped;

/// A directory under construction.
pub(super) struct PartialFolder {
    partial: PathBuf,
    target: PathBuf,
    /// The CRC-32 of the stamp.
    plan: u32,
    /// Its files that are complete.
    pub(super) finished: Finished,
    /// What makes it, for the marker.
    pub(super) made_by: &'static str,
    /// Directories that earlier runs replaced and left behind, and this one removed.
    removed: Mutex<Vec<PathBuf>>,
    /// Released last.
    lock: Lock,
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
        let lock = Lock::take(target)?;
        let (partial, removed) = (beside(target, PARTIAL), Mutex::default());
        let finished = Finished::new(partial.join(STAMP));
        let plan = crc32fast::hash(stamp.as_bytes());
        match (PartialState::at(&partial), leftover) {
            (PartialState::Nothing, _) => start(&partial, stamp)?,
            (PartialState::Empty, _) => stamp::write(&partial, stamp)?,
            (PartialState::Ours(left), Leftover::Discard) => {
                refuse_others(&left.foreign(&partial)?, &partial)?;
                let failed = |e| Error::io(e, "cannot remove").in_file(&partial);
                fs::remove_dir_all(&partial).map_err(failed)?;
                start(&partial, stamp)?;
            }
            (PartialState::Complete(_), Leftover::Discard) => {
                refuse_foreign(&partial)?;
                marker::remove(&partial);
                start(&partial, stamp)?;
            }
            (PartialState::Ours(left), Leftover::Resume) if left.stamp == stamp => {
                refuse_others(&left.foreign(&partial)?, &partial)?;
                finished.go_on(&left.lines)?;
                stamp::remove_unfinished(&partial, &finished.begun());
            }
            (PartialState::Complete(marker), Leftover::Resume) if marker.plan == Some(plan) => {
                stamp::restore(&partial, stamp, &marker)?;
                if let PartialState::Ours(left) = PartialState::at(&partial) {
                    refuse_others(&left.foreign(&partial)?, &partial)?;
                    finished.read(&left.lines);
                }
            }
            (found, _) => return Err(refused(&found, leftover, target, &partial)),
        }
        let target = target.to_owned();
        Ok(Self { partial, target, plan, finished, made_by: "", removed, lock })
    }

    /// Where it lies until it is finished.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Where a file of that name is written.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// What an earlier run has left of a file.
    pub fn found(&self, name: &str, len: u64) -> FoundFile {
        self.finished.check(name, &self.path_of(name), len)
    }

    /// Deletes all that was written.
    pub fn discard(&self) {
        let _ = stamp::remove(&self.partial, &self.finished.begun());
    }

    /// What is finished is kept for another run. With nothing finished there is nothing to keep.
    pub fn remove_if_empty(&self) {
        // Folders in which nothing was finished; one that is not empty stays.
        for entry in fs::read_dir(&self.partial).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        let Ok(mut entries) = fs::read_dir(&self.partial) else { return };
        if entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == STAMP)) {
            let _ = fs::remove_file(self.path_of(STAMP));
            let _ = fs::remove_dir(&self.partial);
        }
    }

    /// Marks the directory as ours, with these files, and gives it its name. What has this name
    /// already is replaced, if that is wanted and it is ours.
    pub fn finish(&self, replace: bool, files: &Files) -> Result<()> {
        if replace {
            refuse_foreign(&self.target)?;
        } else {
            refuse_existing(&self.target)?;
        }
        // Whoever finds the directory before it has its name knows it by the stamp or by the marker;
        // under its name only the marker is left.
        let (plan, made_by) = (Some(self.plan), self.made_by.to_owned());
        let marker = Marker { plan, made_by, files: files.clone() };
        marker::write(&self.partial, &marker)?;
        let stamp = self.path_of(STAMP);
        sync_folder_of(&stamp);
        fs::remove_file(&stamp).map_err(|e| Error::io(e, "cannot remove").in_file(&stamp))?;
        sync_folder_of(&stamp);
        let old = beside(&self.target, &format!(".{}{REPLACED}", std::process::id()));
        let replaced = replace && fs::rename(&self.target, &old).is_ok();
        fs::rename(&self.partial, &self.target).map_err(|e| {
            let error = Error::io(e, "cannot rename the finished directory").in_file(&self.target);
            let is_lost = replaced && fs::rename(&old, &self.target).is_err();
            if is_lost { error.hint(set_aside(&old)) } else { error }
        })?;
        sync_folder_of(&self.target);
        self.remove_replaced(&old)
    }

    /// Gives each of its files a name of its own beside the directory, which goes.
    pub fn finish_parts(&self, replace: bool, names: &[&str]) -> Result<()> {
        parts::publish(&self.partial, names, replace)?;
        sync_folder_of(&self.target);
        stamp::remove(&self.partial, &self.finished.begun()).map(drop)
    }

    /// Removes the directory that was replaced, and those that earlier runs left behind.
    fn remove_replaced(&self, own: &Path) -> Result<()> {
        for old in replaced(&self.target) {
            let is_link = old.symlink_metadata().is_ok_and(|about| about.is_symlink());
            // What a link leads to is not ours to remove; a link that this run did not replace
            // may be anybody's.
            let removed = if is_link {
                old == own && fs::remove_file(&old).is_ok()
            } else {
                marker::remove(&old)
            };
            match (removed, old == own) {
                (true, true) => {}
                (true, false) => lock(&self.removed).push(old),
                (false, true) => {
                    let message = "is complete, but the directory it replaced could not be removed";
                    return Err(Error::usage(message).in_file(&self.target).hint(set_aside(&old)));
                }
                (false, false) => {}
            }
        }
        Ok(())
    }

    /// What earlier runs left and this one has removed.
    pub fn notes(&self) -> Vec<String> {
        let note = |path: &PathBuf| {
            let path = path.to_string_lossy();
            format!("removed {}, replaced by an earlier run", escaped(&path))
        };
        self.lock.notes().into_iter().chain(lock(&self.removed).iter().map(note)).collect()
    }
}

fn start(partial: &Path, stamp: &str) -> Result<()> {
    fs::create_dir(partial).map_err(|e| Error::io(e, "cannot create").in_file(partial))?;
    stamp::write(partial, stamp)
}

/// An error if an unfinished directory holds what its run did not write.
fn refuse_others(names: &[String], partial: &Path) -> Result<()> {
    match names {
        [] => Ok(()),
        names => {
            let what = "has files not written by the unfinished run, so it is not removed";
            Err(Error::usage(format!("{what}: {}", listed(names)))
                .in_file(partial)
                .hint("move those files away or remove them yourself")
                .remedy(Remedy::AnotherTarget))
        }
    }
}

/// Why this run does not go on with what was found.
fn refused(found: &PartialState, leftover: Leftover, target: &Path, partial: &Path) -> Error {
    let (problem, hint, remedies): (_, Option<&str>, &[Remedy]) = match (found, leftover) {
        (PartialState::Ours(_) | PartialState::Complete(_), Leftover::Resume) => (
            "belongs to another conversion: the options, sources or version differ",
            None,
            &[Remedy::DiscardUnfinished],
        ),
        (PartialState::Ours(_) | PartialState::Complete(_), _) => (
            "is left over from an unfinished conversion",
            None,
            &[Remedy::Resume, Remedy::DiscardUnfinished],
        ),
        _ => (
            "was not left by an unfinished conversion (it has no plan file) and is never \
                 removed",
            Some("rename it or remove it yourself"),
            &[Remedy::AnotherTarget],
        ),
    };
    let aside: Vec<String> = replaced(target).iter().map(|old| set_aside(old)).collect();
    let problem = [&[problem.to_owned()], &aside[..]].concat().join("; ");
    let error = remedies.iter().fold(Error::usage(problem), |error, &one| error.remedy(one));
    let error = error.in_file(partial);
    hint.into_iter().fold(error, Error::hint)
}

fn set_aside(old: &Path) -> String {
    format!("the directory to be replaced is now {}", old.display())
}

/// Old copies of the target, from runs that died while replacing it.
fn replaced(target: &Path) -> Vec<PathBuf> {
    let (Some(place), Some(name)) = (target.parent(), target.file_name()) else {
        return Vec::new();
    };
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    let starts = [name.as_encoded_bytes(), b"."].concat();
    let is_ours = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        let middle =
            name.strip_prefix(&starts[..]).and_then(|n| n.strip_suffix(REPLACED.as_bytes()));
        middle.is_some_and(|process| process.iter().all(u8::is_ascii_digit))
    };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name()).filter(|name| is_ours(name));
    names.map(|name| target.with_file_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finished::Noted;
    use super::super::marker::ListedFile;
    use super::*;
    use crate::crc::FileChecksum;

    /// Writes a file, and notes it as complete.
    fn complete(folder: &PartialFolder, name: &str, text: &str) {
        fs::write(folder.path_of(name), text).unwrap();
        let checksum = FileChecksum::new(text.len() as u64);
        checksum.add(0, text.as_bytes());
        folder.finished.begin(name).unwrap();
        let noted = Noted { len: text.len() as u64, checksum: checksum.value() };
        folder.finished.note(name, noted).unwrap();
    }

    /// Files of four bytes.
    fn files(names: &[&str]) -> Files {
        let file = ListedFile { bytes: 4, checksum: None };
        names.iter().map(|name| ((*name).to_owned(), file)).collect()
    }

    /// Marks a folder as ours, with files of four bytes.
    fn mark(folder: &Path, names: &[&str]) {
        marker::write(folder, &Marker { plan: None, made_by: String::new(), files: files(names) })
            .unwrap();
    }

    #[test]
    fn only_the_same_work_goes_on() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let create = |stamp, leftover| PartialFolder::create(&target, stamp, leftover);
        let folder = create("one", Leftover::Refuse).unwrap();
        complete(&folder, "a", "done");
        folder.finished.begin("b").unwrap();
        fs::write(folder.path_of("b.7.weigh-partial"), "half").unwrap();
        drop(folder);
        let error = create("one", Leftover::Refuse).err().unwrap();
        assert_eq!(error.remedies(), [Remedy::Resume, Remedy::DiscardUnfinished], "{error}");
        assert!(create("two", Leftover::Resume).is_err());
        let folder = create("one", Leftover::Resume).unwrap();
        assert_eq!(folder.found("b", 4), FoundFile::Nothing);
        assert_eq!(folder.found("a", 4), FoundFile::Complete);
        assert_eq!(folder.found("a", 5), FoundFile::Damaged);
        assert!(!folder.path_of("b.7.weigh-partial").exists());
        folder.finish(false, &files(&["a"])).unwrap();
        drop(folder);
        let mut names: Vec<_> =
            fs::read_dir(&target).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".weigh.json", "a"]);
        let folder = create("three", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("c"), "newer").unwrap();
        folder.finish(true, &files(&["c"])).unwrap();
        drop(folder);
        assert!(target.join("c").exists() && !target.join("a").exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn discarding_starts_anew() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        complete(&folder, "a", "done");
        drop(folder);
        let folder = PartialFolder::create(&target, "two", Leftover::Discard).unwrap();
        assert_eq!(folder.found("a", 4), FoundFile::Nothing);
    }

    #[test]
    fn a_run_that_is_refused_touches_nothing() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        for leftover in [Leftover::Refuse, Leftover::Resume, Leftover::Discard] {
            let error = PartialFolder::create(&target, "one", leftover).err().unwrap();
            assert!(error.to_string().contains("written by another run"), "{error}");
        }
        assert!(folder.path_of(STAMP).exists());
    }

    #[test]
    fn nothing_is_removed_without_a_stamp() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let partial = place.path().join("out.weigh-partial");
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("a"), "mine").unwrap();
        for plan in [None, Some("{}\none"), Some("one")] {
            if let Some(plan) = plan {
                fs::write(partial.join(STAMP), plan).unwrap();
            }
            for leftover in [Leftover::Refuse, Leftover::Resume, Leftover::Discard] {
                let error = PartialFolder::create(&target, "one", leftover).err().unwrap();
                assert_eq!(error.remedies(), [Remedy::AnotherTarget], "{error}");
            }
        }
        assert_eq!(fs::read(partial.join("a")).unwrap(), b"mine");
    }

    #[test]
    fn what_somebody_put_among_unfinished_files_is_neither_removed_nor_published() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let create = |leftover| PartialFolder::create(&target, "one", leftover);
        let folder = create(Leftover::Refuse).unwrap();
        complete(&folder, "a", "done");
        let mine = folder.path_of("deep/mine.7.weigh-partial");
        fs::create_dir(mine.parent().unwrap()).unwrap();
        fs::write(&mine, "mine").unwrap();
        folder.discard();
        drop(folder);
        for leftover in [Leftover::Resume, Leftover::Discard] {
            let error = create(leftover).err().unwrap();
            assert!(error.message().ends_with("is not removed: deep"), "{error}");
        }
        assert_eq!(fs::read(&mine).unwrap(), b"mine");
        fs::remove_dir_all(mine.parent().unwrap()).unwrap();
        assert_eq!(create(Leftover::Resume).unwrap().found("a", 4), FoundFile::Complete);
        drop(create(Leftover::Discard).unwrap());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    /// As a process leaves it that dies just before the directory gets its name.
    #[test]
    fn a_directory_that_only_lacks_its_name_is_taken_up() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let create = |stamp, leftover| PartialFolder::create(&target, stamp, leftover);
        for discard in [false, true] {
            let folder = create("one", Leftover::Refuse).unwrap();
            complete(&folder, "a", "done");
            let mut files = files(&["a"]);
            files.get_mut("a").unwrap().checksum = folder.finished.checksum("a");
            // It cannot be given its name: something is in the way.
            fs::create_dir_all(target.join("mine")).unwrap();
            let marker = Marker { plan: Some(folder.plan), made_by: String::new(), files };
            marker::write(folder.path(), &marker).unwrap();
            fs::remove_file(folder.path_of(STAMP)).unwrap();
            drop(folder);
            fs::remove_dir_all(&target).unwrap();
            let error = create("one", Leftover::Refuse).err().unwrap();
            assert_eq!(error.remedies(), [Remedy::Resume, Remedy::DiscardUnfinished], "{error}");
            assert!(create("two", Leftover::Resume).is_err());
            if discard {
                let folder = create("two", Leftover::Discard).unwrap();
                assert_eq!(folder.found("a", 4), FoundFile::Nothing);
                continue;
            }
            let folder = create("one", Leftover::Resume).unwrap();
            assert_eq!(folder.found("a", 4), FoundFile::Complete);
            folder.finish(false, &marker.files).unwrap();
            assert_eq!(fs::read_dir(&target).unwrap().count(), 2);
            fs::remove_dir_all(&target).unwrap();
        }
    }

    #[test]
    fn what_a_run_left_in_its_last_steps_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let at = |name: &str| place.path().join(name);
        for (name, is_ours) in [("out.77.weigh-old", true), ("out.78.weigh-old", false)] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("a"), "four").unwrap();
            if is_ours {
                mark(&at(name), &["a"]);
            }
        }
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("c"), "four").unwrap();
        folder.finish(false, &files(&["c"])).unwrap();
        assert!(!at("out.77.weigh-old").exists() && at("out.78.weigh-old/a").exists());
        let notes = folder.notes();
        assert!(notes.len() == 1 && notes[0].contains("out.77.weigh-old"), "{notes:?}");
    }

    #[test]
    fn a_name_with_a_point_keeps_all_of_it_when_replaced() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("Llama-3.1");
        let old = place.path().join(format!("Llama-3.{}.weigh-old", std::process::id()));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("a"), "four").unwrap();
        mark(&target, &["a"]);
        // Another model's directory, which must not be taken for this one's.
        fs::create_dir(&old).unwrap();
        fs::write(old.join("b"), "another").unwrap();
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("c"), "new").unwrap();
        folder.finish(true, &files(&["c"])).unwrap();
        drop(folder);
        assert!(target.join("c").exists() && !target.join("a").exists());
        assert!(old.join("b").exists(), "another model's directory was removed");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_was_set_aside_is_named() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("Llama-3.1");
        // As a process that dies between the two renames leaves it.
        fs::create_dir(place.path().join("Llama-3.1.77.weigh-old")).unwrap();
        fs::create_dir(place.path().join("Llama-3.1.more.weigh-old")).unwrap();
        let partial = place.path().join("Llama-3.1.weigh-partial");
        fs::create_dir(&partial).unwrap();
        stamp::write(&partial, "two").unwrap();
        for leftover in [Leftover::Refuse, Leftover::Resume] {
            let error = PartialFolder::create(&target, "one", leftover).err().unwrap();
            assert!(error.message().contains("Llama-3.1.77.weigh-old"), "{error}");
            assert!(!error.message().contains("more"), "{error}");
        }
    }

    #[test]
    fn a_target_that_appears_meanwhile_leaves_the_work_to_resume() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("out");
        let folder = PartialFolder::create(&target, "one", Leftover::Refuse).unwrap();
        complete(&folder, "a", "done");
        fs::create_dir(&target).unwrap();
        assert!(folder.finish(false, &files(&["a"])).is_err());
        drop(folder);
        fs::remove_dir(&target).unwrap();
        let folder = PartialFolder::create(&target, "one", Leftover::Resume).unwrap();
        assert_eq!(folder.found("a", 4), FoundFile::Complete);
    }
}
