//! The marker of a directory that we wrote: `.weigh.json` lists its files and their sizes.
//!
//! A directory is replaced only if it is empty, or if everything in it is listed there and has the
//! stated size; and only what is listed is ever removed. The marker belongs to the one directory it
//! lies in: it is not copied along with a model's other files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use serde_json::{Value, json};

use crate::error::{Error, Remedy, Result};
use crate::text::escaped;

/// The name of the marker.
pub(crate) const MARKER: &str = ".weigh.json";

/// How many of the names in the way a message lists.
const MOST_NAMES: usize = 3;

/// The most bytes of a marker that is read.
const MOST_BYTES: u64 = 64 << 20;

/// The files of a directory, with `/` between the parts of a name, and their sizes.
pub(super) type Files = BTreeMap<String, u64>;

/// Writes the marker of a directory.
pub(super) fn write(folder: &Path, files: &Files) -> Result<()> {
    let files: Vec<_> =
        files.iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect();
    let marker = json!({ "version": env!("CARGO_PKG_VERSION"), "files": files });
    let path = folder.join(MARKER);
    let written = fs::write(&path, format!("{marker:#}\n"))
        .and_then(|()| fs::File::open(&path))
        .and_then(|file| file.sync_all());
    written.map_err(|e| Error::io(e, "cannot write").in_file(&path))
}

/// What the marker of a directory lists; `None` if it has none, or one that is not ours.
fn read(folder: &Path) -> Option<Files> {
    let path = folder.join(MARKER);
    path.symlink_metadata().ok().filter(|about| about.is_file() && about.len() <= MOST_BYTES)?;
    let marker: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let files = marker.get("files")?.as_array()?.iter();
    let file = |file: &Value| {
        let name = file["name"].as_str().filter(|name| is_inside(name))?;
        Some((name.to_owned(), file["bytes"].as_u64()?))
    };
    files.map(file).collect()
}

/// Whether a name leads to nothing outside: a marker may have come with a model from anywhere.
fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// An error if what has the name of the output is not a directory of ours: that is never replaced.
pub(crate) fn refuse_foreign(target: &Path) -> Result<()> {
    let Ok(about) = target.metadata() else { return Ok(()) };
    let refused =
        |problem: String| Error::usage(problem).in_file(target).remedy(Remedy::AnotherTarget);
    if !about.is_dir() {
        return Err(refused("is not a directory, and never replaced by one".to_owned()));
    }
    let found = foreign(target).map_err(|e| Error::io(e, "cannot read").in_file(target))?;
    match found.is_empty() {
        true => Ok(()),
        false => {
            let what = "it holds what was not written by this program";
            let error = refused(format!("is never replaced: {what}: {}", listed(&found)));
            Err(error.hint("remove those files yourself if they are no longer needed"))
        }
    }
}

/// Names of what is not ours in a directory: everything if it has no marker, else what the marker
/// does not list, and files of another size. What lies in folders that are not ours is not looked at.
fn foreign(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    collect(folder, "", read(folder).as_ref(), &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(
    folder: &Path,
    under: &str,
    ours: Option<&Files>,
    found: &mut Vec<String>,
) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{under}{}", entry.file_name().to_string_lossy());
        let about = entry.metadata()?;
        let Some(ours) = ours else {
            found.push(name);
            continue;
        };
        let inside = format!("{name}/");
        if about.is_dir() && ours.keys().any(|file| file.starts_with(&inside)) {
            collect(&entry.path(), &inside, Some(ours), found)?;
        } else if !about.is_file() || !(is_own(&name) || ours.get(&name) == Some(&about.len())) {
            found.push(name);
        }
    }
    Ok(())
}

/// Whether a file of a directory with a marker is there for us alone: the marker, or the stamp that
/// a run was about to remove.
fn is_own(name: &str) -> bool {
    name == MARKER || name == super::partial_folder::STAMP
}

/// Removes a directory that is empty or ours. What appeared in it meanwhile stays, and the
/// directory with it; returns whether all of it is gone.
pub(super) fn remove(folder: &Path) -> bool {
    let is_ours = foreign(folder).is_ok_and(|found| found.is_empty());
    let files = read(folder).filter(|_| is_ours).unwrap_or_default();
    let mut folders = Vec::new();
    for name in files.keys() {
        let path = folder.join(name);
        let _ = fs::remove_file(&path);
        let parents = Path::new(name).ancestors().skip(1).filter(|p| !p.as_os_str().is_empty());
        folders.extend(parents.map(|parent| folder.join(parent)));
    }
    // The innermost first; one that is not empty stays.
    folders.sort();
    folders.dedup();
    for inner in folders.iter().rev() {
        let _ = fs::remove_dir(inner);
    }
    if !files.is_empty() {
        for own in [super::partial_folder::STAMP, MARKER] {
            let _ = fs::remove_file(folder.join(own));
        }
    }
    fs::remove_dir(folder).is_ok()
}

fn listed(names: &[String]) -> String {
    let first: Vec<_> = names.iter().take(MOST_NAMES).map(|name| escaped(name)).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_ours() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("out");
        fs::create_dir_all(folder.join("inner/deep")).unwrap();
        assert_eq!(foreign(&folder).unwrap(), ["inner"]);
        for name in ["a", "inner/deep/b"] {
            fs::write(folder.join(name), "12").unwrap();
        }
        let files = [("a", 2), ("inner/deep/b", 2)].map(|(name, len)| (name.to_owned(), len));
        write(&folder, &files.into()).unwrap();
        assert!(foreign(&folder).unwrap().is_empty() && refuse_foreign(&folder).is_ok());
        for (name, contents) in [("c", "12"), ("inner/c", "1"), ("a", "123")] {
            let before = fs::read(folder.join(name)).ok();
            fs::write(folder.join(name), contents).unwrap();
            assert_eq!(foreign(&folder).unwrap(), [name]);
            assert!(refuse_foreign(&folder).unwrap_err().message().ends_with(name));
            assert!(!remove(&folder) && folder.join("inner/deep/b").exists());
            match before {
                Some(before) => fs::write(folder.join(name), before).unwrap(),
                None => fs::remove_file(folder.join(name)).unwrap(),
            }
        }
        fs::create_dir(folder.join("empty")).unwrap();
        assert_eq!(foreign(&folder).unwrap(), ["empty"]);
        fs::remove_dir(folder.join("empty")).unwrap();
        assert!(remove(&folder) && !folder.exists());
    }

    const OUTSIDE: &str = r#"{"files": [{"name": "../out/a", "bytes": 0}]}"#;

    #[test]
    fn a_marker_that_is_not_ours_lists_nothing() {
        let place = tempfile::tempdir().unwrap();
        for text in ["", "{}", r#"{"files": [{"name": "a"}]}"#, OUTSIDE] {
            fs::write(place.path().join(MARKER), text).unwrap();
            fs::write(place.path().join("a"), "").unwrap();
            assert_eq!(foreign(place.path()).unwrap(), [MARKER, "a"]);
        }
    }
}
