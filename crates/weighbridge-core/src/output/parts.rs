//! Files that get their names together: the parts of one model, in a folder of other files.
//!
//! Under the final names there are never parts of two runs. Old parts are set aside first, all of
//! them; then the new ones get their names, the first part last, since readers begin with it. An
//! interruption leaves an incomplete set, which readers reject. The new parts stay where they were
//! written, so that the run can be resumed.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::partial_file::{PARTIAL, refuse_existing, refuse_special};
use super::{REPLACED, beside};
use crate::error::{Error, Result};
use crate::sys::is_same_file;

/// An error if one of these names, beside `target`, is taken by anything but a part that an
/// interrupted run of the same output has named already.
pub fn refuse_taken(target: &Path, names: &[&str]) -> Result<()> {
    let partial = beside(target, PARTIAL);
    names
        .iter()
        .try_for_each(|name| refuse_other(&partial.join(name), &target.with_file_name(name)))
}

fn refuse_other(part: &Path, named: &Path) -> Result<()> {
    if is_same_file(part, named) { Ok(()) } else { refuse_existing(named) }
}

/// What was done, so that it can be undone.
#[derive(Default)]
struct Done {
    /// Old parts: their names, and where they are now.
    aside: Vec<(PathBuf, PathBuf)>,
    /// New parts: where they were written, and their names.
    named: Vec<(PathBuf, PathBuf)>,
}

/// Gives the complete files of a folder these names beside the folder. Old files of these names are
/// replaced, if that is wanted.
pub(super) fn publish(folder: &Path, names: &[&str], replace: bool) -> Result<()> {
    let mut done = Done::default();
    let published = done.publish(folder, names, replace);
    match published {
        Ok(()) => names.iter().for_each(|name| remove_old(&folder.with_file_name(name))),
        Err(_) => done.undo(),
    }
    published
}

impl Done {
    fn publish(&mut self, folder: &Path, names: &[&str], replace: bool) -> Result<()> {
        if replace {
            names.iter().try_for_each(|name| self.set_aside(&folder.with_file_name(name)))?;
        }
        let mut names = names.to_vec();
        names.sort_unstable();
        let last_first = names.into_iter().rev();
        last_first.map(|name| (folder.join(name), folder.with_file_name(name))).try_for_each(
            |(part, named)| {
                give_name(&part, &named)?;
                self.named.push((part, named));
                Ok(())
            },
        )
    }

    fn set_aside(&mut self, named: &Path) -> Result<()> {
        refuse_special(named)?;
        let aside = beside(named, &format!(".{}{REPLACED}", std::process::id()));
        match fs::rename(named, &aside) {
            Ok(()) => self.aside.push((named.to_owned(), aside)),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(e, "cannot replace").in_file(named)),
        }
        Ok(())
    }

    /// New names go before the old ones come back.
    fn undo(&self) {
        for (part, named) in &self.named {
            // Where links are not supported, the part itself has the name.
            let _ = if part.exists() { fs::remove_file(named) } else { fs::rename(named, part) };
        }
        for (named, aside) in self.aside.iter().rev() {
            let _ = fs::rename(aside, named);
        }
    }
}

/// Names a part, which stays where it is under its other name until all are named. A link, unlike a
/// rename, replaces nothing that appeared meanwhile.
fn give_name(part: &Path, named: &Path) -> Result<()> {
    let failed = |e| Error::io(e, "cannot name the finished file").in_file(named);
    match fs::hard_link(part, named) {
        Ok(()) => Ok(()),
        Err(_) if is_same_file(part, named) => Ok(()),
        // Also where links are not supported.
        Err(_) => refuse_existing(named).and_then(|()| fs::rename(part, named).map_err(failed)),
    }
}

/// Removes what this run, and earlier ones that died, have set aside of a name.
fn remove_old(named: &Path) {
    let name = named.file_name().unwrap_or_default();
    let folder = named.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_old(&entry.file_name(), name)) {
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether a file is `NAME.77.weigh-old`.
fn is_old(file: &OsStr, name: &OsStr) -> bool {
    let rest = file.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
    let number = rest.and_then(|rest| {
        rest.strip_prefix(b".").and_then(|rest| rest.strip_suffix(REPLACED.as_bytes()))
    });
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["m-1.part", "m-2.part"];

    /// A folder with new parts, and old ones beside it.
    fn place(old: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let folder = beside(&place.path().join("m"), PARTIAL);
        fs::create_dir(&folder).unwrap();
        NAMES.iter().for_each(|name| fs::write(folder.join(name), "new").unwrap());
        old.iter().for_each(|name| fs::write(place.path().join(name), "old").unwrap());
        (place, folder)
    }

    fn texts(place: &Path) -> Vec<(String, String)> {
        let files = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
        let text = |path: PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            path.is_file().then(|| (name, fs::read_to_string(&path).unwrap()))
        };
        let mut texts: Vec<_> = files.filter_map(text).collect();
        texts.sort();
        texts
    }

    fn all(text: &str) -> Vec<(String, String)> {
        NAMES.iter().map(|name| ((*name).to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn old_and_new_parts_never_meet() {
        let (place, folder) = place(&NAMES);
        let error = publish(&folder, &NAMES, false).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        assert_eq!(texts(place.path()), all("old"));
        // A run that died has set a part aside.
        fs::write(place.path().join("m-1.part.77.weigh-old"), "older").unwrap();
        publish(&folder, &NAMES, true).unwrap();
        assert_eq!(texts(place.path()), all("new"));
    }

    #[test]
    fn what_fails_halfway_is_undone() {
        // The second part gets its name first; that of the first is taken.
        let (place, folder) = place(&NAMES[..1]);
        assert!(publish(&folder, &NAMES, false).is_err());
        assert_eq!(texts(place.path()), [("m-1.part".to_owned(), "old".to_owned())]);
        assert_eq!(texts(&folder), all("new"));
        // One of the new parts is missing.
        fs::write(place.path().join("m-2.part"), "old").unwrap();
        fs::remove_file(folder.join("m-1.part")).unwrap();
        assert!(publish(&folder, &NAMES, true).is_err());
        assert_eq!(texts(place.path()), all("old"));
    }

    #[test]
    fn a_run_that_died_while_naming_parts_can_go_on() {
        let (place, folder) = place(&[]);
        let target = place.path().join("m");
        fs::hard_link(folder.join(NAMES[1]), place.path().join(NAMES[1])).unwrap();
        refuse_taken(&target, &NAMES).unwrap();
        publish(&folder, &NAMES, false).unwrap();
        assert_eq!(texts(place.path()), all("new"));
        fs::write(folder.join(NAMES[1]), "newer").unwrap();
        fs::remove_file(place.path().join(NAMES[1])).unwrap();
        fs::write(place.path().join(NAMES[1]), "theirs").unwrap();
        assert!(refuse_taken(&target, &NAMES).is_err());
    }
}
