//! A file on disk while it is written, at planned offsets in any order.
//!
//! It is written next to its target as `NAME.PID.weigh-partial`. [`PartialFile::finish`] gives it
//! its final name; dropping it earlier deletes it. Call [`discard_unfinished`] before exiting
//! without unwinding.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Remedy, Result};
use crate::stop::lock;
use crate::sys;

/// How many names are tried for the partial file: earlier processes may have had the same number.
const MOST_NAMES: u32 = 1000;

/// The ending of the name of what is unfinished.
pub(super) const PARTIAL: &str = ".weigh-partial";

/// The partial files of this process, and its locks.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has a file removed by [`discard_unfinished`].
pub(super) fn remember(path: &Path) {
    lock(&UNFINISHED).push(path.to_owned());
}

/// The opposite of [`remember`].
pub(super) fn forget(path: &Path) {
    lock(&UNFINISHED).retain(|unfinished| unfinished != path);
}

/// Removes every unfinished file of this process. Call it before exiting without unwinding, such as
/// after a second Ctrl-C; later writes are lost.
pub fn discard_unfinished() {
    for partial in lock(&UNFINISHED).drain(..) {
        let _ = std::fs::remove_file(partial);
    }
}

/// So many bytes at a time go on their way to the disk while others are made; left to itself, the
/// system begins late, and all of them are waited for at the end.
const ON_THE_WAY: u64 = 32 << 20;

/// A file under construction.
pub struct PartialFile {
    file: File,
    written: AtomicU64,
    partial: PathBuf,
    target: PathBuf,
}

impl PartialFile {
    /// Starts a file of `len` bytes that will be called `target`.
    pub fn create(target: &Path, len: u64) -> Result<Self> {
        Self::create_noted(target, len, &|_| Ok(()))
    }

    /// Starts a file like [`create`](Self::create), and passes the partial file's name to `note`
    /// just before the file exists.
    pub fn create_noted(
        target: &Path,
        len: u64,
        note: &dyn Fn(&Path) -> Result<()>,
    ) -> Result<Self> {
        let (file, partial) = create_partial(target, note)?;
        let written = AtomicU64::new(0);
        let file = Self { file, written, partial, target: target.to_owned() };
        file.file.set_len(len).map_err(|e| file.failed(e))?;
        Ok(file)
    }

    /// Where it lies until it is finished.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Writes bytes at their place. Any thread may, at any time.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        sys::write_file_at(&self.file, bytes, offset).map_err(|e| self.failed(e).at(offset))?;
        let len = bytes.len() as u64;
        let before = self.written.fetch_add(len, Ordering::Relaxed);
        if before / ON_THE_WAY != (before + len) / ON_THE_WAY {
            sys::start_writing(&self.file);
        }
        Ok(())
    }

    /// Makes the file durable and gives it its name. What has this name already is replaced, if
    /// that is wanted; a link is replaced itself, and what it leads to is left alone.
    pub fn finish(self, replace: bool) -> Result<()> {
        self.file.sync_all().map_err(|e| self.failed(e))?;
        let named = if replace { self.rename() } else { self.take_free_name() };
        named?;
        sys::sync_folder_of(&self.target);
        Ok(())
    }

    fn rename(&self) -> Result<()> {
        refuse_special(&self.target)?;
        let failed = |e| Error::io(e, "cannot rename the finished file").in_file(&self.target);
        std::fs::rename(&self.partial, &self.target).map_err(failed)
    }

    /// A rename would replace a file that appeared meanwhile; a hard link fails instead. The partial
    /// name is removed when `self` is dropped.
    fn take_free_name(&self) -> Result<()> {
        match std::fs::hard_link(&self.partial, &self.target) {
            Ok(()) => Ok(()),
            // Also where the name is taken and links are not supported.
            Err(_) => refuse_existing(&self.target).and_then(|()| self.rename()),
        }
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io(error, "cannot write").in_file(&self.partial)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After a rename the partial name is gone already.
        let _ = std::fs::remove_file(&self.partial);
        forget(&self.partial);
    }
}

/// A new file beside the target, under a name that is free.
fn create_partial(target: &Path, note: &dyn Fn(&Path) -> Result<()>) -> Result<(File, PathBuf)> {
    let name = target.file_name().ok_or_else(|| Error::usage("the output needs a file name"))?;
    let process = std::process::id();
    let mut attempt = 0;
    loop {
        let mut partial = name.to_owned();
        match attempt {
            0 => partial.push(format!(".{process}{PARTIAL}")),
            n => partial.push(format!(".{process}.{n}{PARTIAL}")),
        }
        let partial = target.with_file_name(partial);
        if partial.symlink_metadata().is_ok() && attempt < MOST_NAMES {
            attempt += 1;
            continue;
        }
        note(&partial)?;
        // Locked until the file exists, so that `discard_unfinished` misses none.
        let mut unfinished = lock(&UNFINISHED);
        match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(file) => {
                unfinished.push(partial.clone());
                return Ok((file, partial));
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists && attempt < MOST_NAMES => attempt += 1,
            Err(e) => return Err(Error::io(e, "cannot create").in_file(&partial)),
        }
    }
}

/// An error if the name is that of a pipe, a device or a socket: none is ever replaced.
pub(super) fn refuse_special(target: &Path) -> Result<()> {
    if target.symlink_metadata().is_ok_and(|about| sys::special_file(&about).is_some()) {
        Err(Error::usage("is not a regular file and is never replaced")
            .in_file(target)
            .remedy(Remedy::AnotherTarget))
    } else {
        Ok(())
    }
}

/// An error if the name is taken.
pub fn refuse_existing(target: &Path) -> Result<()> {
    match target.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => Err(Error::usage("already exists").in_file(target).remedy(Remedy::Overwrite)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_leftover_of_the_same_process_number_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let leftover = format!("out.{}.weigh-partial", std::process::id());
        std::fs::write(folder.path().join(&leftover), "old").unwrap();
        let output = PartialFile::create(&folder.path().join("out"), 3).unwrap();
        output.write_at(0, b"new").unwrap();
        output.finish(false).unwrap();
        assert_eq!(names(folder.path()), ["out".to_owned(), leftover.clone()]);
        assert_eq!(std::fs::read(folder.path().join("out")).unwrap(), b"new");
        assert_eq!(std::fs::read(folder.path().join(leftover)).unwrap(), b"old");
    }

    #[test]
    fn what_appeared_meanwhile_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let output = PartialFile::create(&target, 3).unwrap();
        std::fs::write(&target, "theirs").unwrap();
        let error = output.finish(false).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), ["out"]);
        PartialFile::create(&target, 3).unwrap().finish(true).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), [0; 3]);
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn errors_name_the_file_they_are_about() {
        let folder = tempfile::tempdir().unwrap();
        let error = PartialFile::create(&folder.path().join("nowhere/out"), 3).err().unwrap();
        assert!(error.path().unwrap().to_string_lossy().ends_with(".weigh-partial"), "{error}");
    }

    #[test]
    fn what_is_unfinished_can_be_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let output = PartialFile::create(&folder.path().join("out"), 3).unwrap();
        assert_eq!(names(folder.path()).len(), 1);
        // Not all of them: other tests of this process are at work.
        let path = output.partial.clone();
        assert!(lock(&UNFINISHED).contains(&path));
        drop(output);
        assert!(!lock(&UNFINISHED).contains(&path));
        assert!(names(folder.path()).is_empty());
    }
}
