//! One run at a time for each output.
//!
//! Whoever writes an output holds `OUT.weigh-lock` beside it, from before anything is touched until
//! the end. The system releases the lock when a process dies; the file then stays, and says what
//! that process was writing, so that the next run can remove it.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use super::partial_file::{forget, remember};
use super::{beside, partial_file::PARTIAL};
use crate::error::{Error, Remedy, Result};
use crate::sys::{self, Locked};
use crate::text::escaped;

/// The ending of the name of a lock.
const ENDING: &str = ".weigh-lock";

/// The first line of a lock: a file without it is not ours.
const FIRST_LINE: &str = "weighbridge\n";

/// The most bytes of a lock: a name and the first line.
const MOST_BYTES: u64 = 4096;

/// The right to write an output.
pub(super) struct Lock {
    /// `None` once it is released.
    file: Option<File>,
    path: PathBuf,
    target: PathBuf,
    /// What an earlier run left and this one has removed.
    removed: Option<PathBuf>,
}

impl Lock {
    /// Takes the right to write `target`; an error while another run has it. A half-written file
    /// that a dead run left is removed.
    pub fn take(target: &Path) -> Result<Self> {
        target.file_name().ok_or_else(|| Error::usage("the output needs a name"))?;
        let path = beside(target, ENDING);
        let (file, is_certain) = match sys::open_locked(&path) {
            Ok(Locked::Held(file)) => (file, true),
            Ok(Locked::Unsupported(file)) => (file, false),
            Ok(Locked::Busy) => {
                return Err(Error::usage("is being written by another run")
                    .in_file(target)
                    .remedy(Remedy::WaitForOther)
                    .remedy(Remedy::AnotherTarget));
            }
            // A link or a directory; a pipe can be opened.
            Err(_) if path.symlink_metadata().is_ok_and(|about| !about.is_file()) => {
                return Err(in_the_way(&path));
            }
            Err(e) => return Err(Error::io(e, "cannot create").in_file(&path)),
        };
        let (target, mut file) = (target.to_owned(), file);
        let text =
            contents(&mut file).filter(|text| text.is_empty() || text.starts_with(FIRST_LINE));
        let Some(text) = text else { return Err(in_the_way(&path)) };
        remember(&path);
        let mut lock = Self { file: Some(file), path, target, removed: None };
        if is_certain {
            lock.remove_leftover(&text);
        }
        lock.write(FIRST_LINE)?;
        Ok(lock)
    }

    /// Says which file is being written, for whoever comes after this process has died.
    pub fn note(&self, partial: &Path) -> Result<()> {
        let name = partial.file_name().unwrap_or_default().to_string_lossy();
        self.write(&format!("{FIRST_LINE}{name}"))
    }

    /// What an earlier run left and this one has removed.
    pub fn notes(&self) -> Vec<String> {
        let note = |path: &PathBuf| {
            let path = path.to_string_lossy();
            format!("removed {}, left unfinished by an earlier run", escaped(&path))
        };
        self.removed.iter().map(note).collect()
    }

    fn write(&self, text: &str) -> Result<()> {
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        let written = file.set_len(0).and_then(|()| file.rewind());
        let written = written.and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(|e| Error::io(e, "cannot write").in_file(&self.path))
    }

    /// Removes the file that a lock names, if it can only be what a run of ours has left.
    fn remove_leftover(&mut self, text: &str) {
        let Some(name) = text.strip_prefix(FIRST_LINE) else { return };
        let own = self.target.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(&*own).and_then(|rest| rest.strip_suffix(PARTIAL));
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        if !rest.is_some_and(|rest| rest.starts_with('.') && rest.chars().all(is_number)) {
            return;
        }
        let path = self.target.with_file_name(name);
        let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
        if is_file && std::fs::remove_file(&path).is_ok() {
            self.removed = Some(path);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            sys::remove_locked(file, &self.path);
        }
        forget(&self.path);
    }
}

fn in_the_way(path: &Path) -> Error {
    Error::usage("blocks the lock file: it was not created by this program")
        .in_file(path)
        .remedy(Remedy::AnotherTarget)
}

/// The text of a lock; `None` if it cannot be one.
fn contents(file: &mut File) -> Option<String> {
    file.metadata().ok().filter(|about| about.is_file() && about.len() <= MOST_BYTES)?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        let lock = Lock::take(&a).unwrap();
        let error = Lock::take(&a).err().unwrap();
        assert_eq!(error.remedies(), [Remedy::WaitForOther, Remedy::AnotherTarget], "{error}");
        assert!(Lock::take(&b).is_ok());
        drop(lock);
        assert!(Lock::take(&a).is_ok());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_run_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for (named, is_removed) in [
            ("out.7.weigh-partial", true),
            ("out.7.2.weigh-partial", true),
            ("out.mine.weigh-partial", false),
            ("other.7.weigh-partial", false),
            ("out.txt", false),
        ] {
            std::fs::write(at(named), "half").unwrap();
            std::fs::write(at("out.weigh-lock"), format!("{FIRST_LINE}{named}")).unwrap();
            let lock = Lock::take(&at("out")).unwrap();
            assert_eq!(!at(named).exists(), is_removed, "{named}");
            assert_eq!(lock.notes().len(), usize::from(is_removed), "{named}");
        }
        std::fs::write(at("out.weigh-lock"), "somebody's own").unwrap();
        assert!(Lock::take(&at("out")).err().unwrap().to_string().contains("blocks the lock file"));
        assert_eq!(std::fs::read(at("out.weigh-lock")).unwrap(), b"somebody's own");
        std::fs::remove_file(at("out.weigh-lock")).unwrap();
        std::fs::create_dir(at("out.weigh-lock")).unwrap();
        assert!(Lock::take(&at("out")).err().unwrap().to_string().contains("blocks the lock file"));
    }
}
