//! The marker of a directory that we wrote: `.weigh.json` lists its files and their sizes, and says
//! which verb made it.
//!
//! A directory is replaced only if it is empty, or if everything in it is listed there and has the
//! stated size; and only what is listed is ever removed. The marker belongs to the one directory it
//! lies in: it is not copied along with a model's other files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use serde_json::{Value, json};

use super::stamp::{STAMP, is_stamp};
use crate::error::{Error, Remedy, Result};
use crate::text::escaped;

/// The name of the marker.
pub const MARKER: &str = ".weigh.json";

/// How many of the names in the way a message lists.
const MOST_NAMES: usize = 3;

/// The most bytes of a marker that is read.
const MOST_BYTES: u64 = 64 << 20;

/// The files of a directory, with `/` between the parts of a name.
pub(super) type Files = BTreeMap<String, ListedFile>;

/// What a marker says about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListedFile {
    pub(super) bytes: u64,
    /// Where one was made while the file was written.
    pub(super) checksum: Option<u32>,
}

/// What a marker says.
pub(super) struct Marker {
    /// The CRC-32 of the stamp of the work that wrote the directory.
    pub(super) plan: Option<u32>,
    /// The verb that made it.
    pub(super) made_by: String,
    pub(super) files: Files,
}

/// Writes the marker of a directory.
pub(super) fn write(folder: &Path, marker: &Marker) -> Result<()> {
    let file = |(name, file): (&String, &ListedFile)| match file.checksum {
        Some(sum) => json!({ "name": name, "bytes": file.bytes, "checksum": sum }),
        None => json!({ "name": name, "bytes": file.bytes }),
    };
    let files: Vec<_> = marker.files.iter().map(file).collect();
    let version = env!("CARGO_PKG_VERSION");
    let marker = json!({ "version": version, "plan": marker.plan, "made_by": marker.made_by, "files": files });
    let path = folder.join(MARKER);
    let written = fs::write(&path, format!("{marker:#}\n"))
        .and_then(|()| fs::File::open(&path))
        .and_then(|file| file.sync_all());
    written.map_err(|e| Error::io(e, "cannot write").in_file(&path))
}

fn document(folder: &Path) -> Option<Value> {
    let path = folder.join(MARKER);
    path.symlink_metadata().ok().filter(|about| about.is_file() && about.len() <= MOST_BYTES)?;
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Which verb made a directory; `None` if its marker does not say.
pub fn made_by(folder: &Path) -> Option<String> {
    let verb = document(folder)?.get("made_by")?.as_str()?.to_owned();
    Some(verb).filter(|verb| !verb.is_empty())
}

/// The marker of a directory; `None` if it has none, or one that is not ours.
pub(super) fn read(folder: &Path) -> Option<Marker> {
    let marker = document(folder)?;
    let files = marker.get("files")?.as_array()?.iter();
    let file = |file: &Value| {
        let name = file["name"].as_str().filter(|name| is_inside(name))?;
        let sum = |sum: &Value| sum.as_u64().and_then(|sum| u32::try_from(sum).ok());
        let (bytes, checksum) = (file["bytes"].as_u64()?, sum(&file["checksum"]));
        Some((name.to_owned(), ListedFile { bytes, checksum }))
    };
    let plan = marker.get("plan").and_then(Value::as_u64).and_then(|plan| u32::try_from(plan).ok());
    let made_by = marker.get("made_by").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Marker { plan, made_by, files: files.map(file).collect::<Option<_>>()? })
}

/// Whether a name leads to nothing outside: a marker, and a folder that is copied, may have come from
/// anywhere.
pub(super) fn is_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// An error if what has the name of the output is not a directory of ours: that is never replaced.
pub fn refuse_foreign(target: &Path) -> Result<()> {
    let Ok(about) = target.metadata() else { return Ok(()) };
    let refused =
        |problem: String| Error::usage(problem).in_file(target).remedy(Remedy::AnotherTarget);
    if !about.is_dir() {
        return Err(refused("is not a directory and is never replaced by one".to_owned()));
    }
    let found = foreign(target).map_err(|e| Error::io(e, "cannot read").in_file(target))?;
    if found.is_empty() {
        Ok(())
    } else {
        let what = "it has files not written by this program or changed since";
        let error = refused(format!("is never replaced: {what}: {}", listed(&found)));
        Err(error.hint("remove those files yourself if you do not need them"))
    }
}

/// Names of what is not ours in a directory: everything if it has no marker, else what the marker
/// does not list, and files of another size. What lies in folders that are not ours is not looked at.
fn foreign(folder: &Path) -> std::io::Result<Vec<String>> {
    let files = read(folder).map(|marker| marker.files);
    let is_stamped = is_stamp(&folder.join(STAMP));
    // There for us alone: the marker, or a stamp.
    let is_own = |name: &str| name == MARKER || name == STAMP && is_stamped;
    let is_ours = |name: &str, bytes: u64| {
        let listed = |files: &Files| files.get(name).is_some_and(|file| file.bytes == bytes);
        files.as_ref().is_some_and(|files| is_own(name) || listed(files))
    };
    let holds_ours = |inside: &str| {
        files.as_ref().is_some_and(|files| files.keys().any(|file| file.starts_with(inside)))
    };
    foreign_in(folder, &is_ours, &holds_ours)
}

/// Says of a file's name and size whether it is ours.
type IsOurs<'a> = &'a dyn Fn(&str, u64) -> bool;

/// Sorted names of what is not ours in a directory. `holds_ours` says of the beginning of names
/// whether files of ours have it: other folders are foreign as a whole.
pub(super) fn foreign_in(
    folder: &Path,
    is_ours: IsOurs<'_>,
    holds_ours: &dyn Fn(&str) -> bool,
) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, under)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{under}{}", entry.file_name().to_string_lossy());
            let (about, inside) = (entry.metadata()?, format!("{name}/"));
            if about.is_dir() && holds_ours(&inside) {
                folders.push((entry.path(), inside));
            } else if !about.is_file() || !is_ours(&name, about.len()) {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a directory that is empty or ours. What appeared in it meanwhile stays, and the
/// directory with it; returns whether all of it is gone.
pub(super) fn remove(folder: &Path) -> bool {
    let is_ours = foreign(folder).is_ok_and(|found| found.is_empty());
    let files = read(folder).filter(|_| is_ours).map(|marker| marker.files).unwrap_or_default();
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
        for own in [STAMP, MARKER] {
            let _ = fs::remove_file(folder.join(own));
        }
    }
    fs::remove_dir(folder).is_ok()
}

/// The first few names, and how many more there are.
pub(super) fn listed(names: &[String]) -> String {
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
        let file = ListedFile { bytes: 2, checksum: None };
        let files = ["a", "inner/deep/b"].map(|name| (name.to_owned(), file));
        write(&folder, &Marker { plan: None, made_by: "verb".to_owned(), files: files.into() })
            .unwrap();
        assert_eq!(made_by(&folder).as_deref(), Some("verb"));
        assert!(foreign(&folder).unwrap().is_empty() && refuse_foreign(&folder).is_ok());
        let others =
            [("c", "12"), ("inner/c", "1"), ("a", "123"), ("plan.json", "{}"), (STAMP, "{}")];
        for (name, contents) in others {
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
        // A stamp of ours may be left by a run that died when all was complete.
        super::super::stamp::write(&folder, "one").unwrap();
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
