//! A directory being written: its files gather in `OUT.weigh-partial` beside the target, and appear
//! under the final name together, when all of them are complete.
//!
//! What is finished stays there when the work is interrupted. A stamp (`plan.json`) says what the
//! files were made for: only the same work may go on with them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::{refuse_existing, sync_folder};

/// The file that says what a partial directory is for.
const STAMP: &str = "plan.json";

/// What to do with a partial directory that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftover {
    /// Leave it, and stop.
    #[default]
    Refuse,
    /// Go on with what is finished in it.
    Resume,
    /// Start anew.
    Discard,
}

/// A directory under construction.
pub struct OutputFolder {
    partial: PathBuf,
    target: PathBuf,
}

/// What is finished is kept for another run. With nothing finished there is nothing to keep.
impl Drop for OutputFolder {
    fn drop(&mut self) {
        let Ok(mut entries) = fs::read_dir(&self.partial) else { return };
        if entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == STAMP)) {
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

impl OutputFolder {
    /// Starts a directory that will be called `target`, or goes on with one that was started with
    /// the same `stamp`.
    pub fn create(target: &Path, stamp: &str, leftover: Leftover) -> Result<Self> {
        let name = target.file_name().ok_or_else(|| Error::usage("the output needs a name"))?;
        let mut partial = name.to_owned();
        partial.push(".weigh-partial");
        let folder = Self { partial: target.with_file_name(partial), target: target.to_owned() };
        if leftover == Leftover::Discard {
            remove(&folder.partial)?;
        }
        match fs::create_dir(&folder.partial) {
            Ok(()) => folder.stamp(stamp)?,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => folder.take_up(stamp, leftover)?,
            Err(e) => return Err(Error::io(e, "cannot create").in_file(&folder.partial)),
        }
        Ok(folder)
    }

    fn stamp(&self, stamp: &str) -> Result<()> {
        let path = self.path_of(STAMP);
        fs::write(&path, stamp).map_err(|e| Error::io(e, "cannot write").in_file(&path))
    }

    /// Goes on with what another run has left, if that is wanted and it was the same work.
    fn take_up(&self, stamp: &str, leftover: Leftover) -> Result<()> {
        let found = fs::read_to_string(self.path_of(STAMP)).ok();
        let (error, hint) = match (leftover, found.as_deref() == Some(stamp)) {
            (Leftover::Resume, true) => return self.sweep(),
            (Leftover::Resume, false) => (
                "was begun for another conversion: other options, other sources, or another version",
                "--force starts anew",
            ),
            _ => (
                "is what an unfinished conversion has left",
                "--resume goes on with it, --force starts anew",
            ),
        };
        Err(Error::usage(error).in_file(&self.partial).hint(hint))
    }

    /// Removes files that were not finished.
    fn sweep(&self) -> Result<()> {
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

    /// Gives the directory its name. What has this name already is replaced, if that is wanted.
    pub fn finish(self, replace: bool) -> Result<()> {
        let stamp = self.path_of(STAMP);
        fs::remove_file(&stamp).map_err(|e| Error::io(e, "cannot remove").in_file(&stamp))?;
        sync_folder(&stamp);
        if !replace {
            refuse_existing(&self.target)?;
        }
        let old = self.target.with_extension(format!("{}.weigh-old", std::process::id()));
        let replaced = replace && fs::rename(&self.target, &old).is_ok();
        let named = fs::rename(&self.partial, &self.target);
        if named.is_err() && replaced {
            let _ = fs::rename(&old, &self.target);
        }
        named.map_err(|e| {
            Error::io(e, "cannot give the directory its name").in_file(&self.target)
        })?;
        sync_folder(&self.target);
        if replaced {
            remove(&old)?;
        }
        Ok(())
    }
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
        let create = |stamp, leftover| OutputFolder::create(&target, stamp, leftover);
        let folder = create("one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("a"), "done").unwrap();
        fs::write(folder.path_of("b.7.weigh-partial"), "half").unwrap();
        drop(folder);
        let error = create("one", Leftover::Refuse).err().unwrap();
        assert!(error.hint_text().unwrap().contains("--resume"), "{error}");
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
        let folder = OutputFolder::create(&target, "one", Leftover::Refuse).unwrap();
        fs::write(folder.path_of("a"), "done").unwrap();
        let folder = OutputFolder::create(&target, "two", Leftover::Discard).unwrap();
        assert!(!folder.has("a", 4));
    }
}
