//! The files of a partial directory that are complete, with their checksums.
//!
//! They are noted below the stamp, one line when a file is begun and one when it is complete. What an
//! earlier run has noted is taken over only if the file still has its length and its checksum. A line
//! that was cut off is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};

use super::FoundFile;
use crate::crc::FileChecksum;
use crate::error::{Error, Result};
use crate::stop::lock;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// The files that are complete, by name.
pub(super) struct Finished {
    /// Where they are noted.
    path: PathBuf,
    files: Mutex<BTreeMap<String, Noted>>,
    /// Every file of which anything may have been written.
    begun: Mutex<BTreeSet<String>>,
}

/// What is noted of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) len: u64,
    pub(super) checksum: u32,
}

impl Finished {
    /// None yet; they will be noted at the end of the file at `path`.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, files: Mutex::default(), begun: Mutex::default() }
    }

    /// Goes on with what an earlier run has noted. What is noted from now on begins a line of its own.
    pub(super) fn go_on(&self, lines: &str) -> Result<()> {
        self.read(lines);
        if lines.is_empty() || lines.ends_with('\n') { Ok(()) } else { self.append("\n") }
    }

    /// Takes over what an earlier run has noted.
    pub(super) fn read(&self, lines: &str) {
        for line in lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            lock(&self.files).extend(complete(&line));
            lock(&self.begun).extend(begun(&line));
        }
    }

    /// Notes that a file is about to be written.
    pub(super) fn begin(&self, name: &str) -> Result<()> {
        if lock(&self.begun).insert(name.to_owned()) {
            self.append(&format!("{}\n", json!({ "begun": name })))
        } else {
            Ok(())
        }
    }

    /// The files of which anything may have been written.
    pub(super) fn begun(&self) -> BTreeSet<String> {
        lock(&self.begun).clone()
    }

    /// Notes that a file is complete.
    pub(super) fn note(&self, name: &str, noted: Noted) -> Result<()> {
        let Noted { len, checksum } = noted;
        let mut files = lock(&self.files);
        let line = json!({ "name": name, "bytes": len, "checksum": checksum });
        self.append(&format!("{line}\n"))?;
        files.insert(name.to_owned(), noted);
        Ok(())
    }

    fn append(&self, text: &str) -> Result<()> {
        let file = OpenOptions::new().append(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| Error::io(e, "cannot write").in_file(&self.path))
    }

    /// The checksum of a file that is complete.
    pub(super) fn checksum(&self, name: &str) -> Option<u32> {
        lock(&self.files).get(name).map(|noted| noted.checksum)
    }

    /// What there is of a file of `len` bytes at `path`. A file that is no longer what was written
    /// is struck off the list.
    pub(super) fn check(&self, name: &str, path: &Path, len: u64) -> FoundFile {
        let Some(noted) = lock(&self.files).get(name).copied() else { return FoundFile::Nothing };
        let is_right = noted.len == len
            && path.metadata().is_ok_and(|about| about.is_file() && about.len() == len)
            && checksum(path, len).is_ok_and(|checksum| checksum == noted.checksum);
        if is_right {
            return FoundFile::Complete;
        }
        lock(&self.files).remove(name);
        FoundFile::Damaged
    }

    /// The names of the files that are complete.
    pub(super) fn names(&self) -> Vec<String> {
        lock(&self.files).keys().cloned().collect()
    }
}

fn begun(line: &Value) -> Option<String> {
    Some(line.get("begun")?.as_str()?.to_owned())
}

fn complete(line: &Value) -> Option<(String, Noted)> {
    let checksum = u32::try_from(line.get("checksum")?.as_u64()?).ok()?;
    let noted = Noted { len: line.get("bytes")?.as_u64()?, checksum };
    Some((line.get("name")?.as_str()?.to_owned(), noted))
}

/// The checksum of a file on disk.
fn checksum(path: &Path, len: u64) -> io::Result<u32> {
    let (mut file, sum) = (File::open(path)?, FileChecksum::new(len));
    let (mut buffer, mut at) = (vec![0; READ_BYTES], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.value()),
            read => {
                sum.add(at, &buffer[..read]);
                at += read as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_it_was_noted_is_damaged() {
        let place = tempfile::tempdir().unwrap();
        let [stamp, a] = ["stamp", "a"].map(|name| place.path().join(name));
        std::fs::write(&stamp, "stamp\n").unwrap();
        std::fs::write(&a, "done").unwrap();
        let (finished, sum) = (Finished::new(stamp.clone()), FileChecksum::new(4));
        sum.add(0, b"done");
        finished.note("a", Noted { len: 4, checksum: sum.value() }).unwrap();
        let text = std::fs::read_to_string(&stamp).unwrap();
        let lines = text.strip_prefix("stamp\n").unwrap();
        let again = |lines: &str| {
            let finished = Finished::new(stamp.clone());
            finished.read(lines);
            (finished.check("a", &a, 4), finished.names())
        };
        assert_eq!(again(lines), (FoundFile::Complete, vec!["a".to_owned()]));
        assert_eq!(again(&lines[..lines.len() - 3]).0, FoundFile::Nothing);
        // What follows a line that was cut off is not lost with it.
        std::fs::write(&stamp, &lines[..3]).unwrap();
        finished.go_on(&lines[..3]).unwrap();
        finished.begin("b").unwrap();
        let gone_on = Finished::new(stamp.clone());
        gone_on.read(&std::fs::read_to_string(&stamp).unwrap());
        assert!(gone_on.begun().contains("b"));
        for other in ["dome", "\0\0\0\0", "don"] {
            std::fs::write(&a, other).unwrap();
            assert_eq!(again(lines), (FoundFile::Damaged, Vec::new()));
        }
        std::fs::remove_file(&a).unwrap();
        assert_eq!(again(lines).0, FoundFile::Damaged);
    }
}
