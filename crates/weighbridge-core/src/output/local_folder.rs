//! A directory on disk.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use super::finished::Noted;
use super::marker::{Files, ListedFile, is_inside};
use super::partial_file::PartialFile;
use super::partial_folder::PartialFolder;
use super::{Destination, FoundFile, Kept, OutputFile, refuse_full_disk};
use crate::crc::FileChecksum;
use crate::error::{Error, Result};
use crate::stop::lock;

/// What to do with the leftovers of an interrupted run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leftover {
    /// Keep them and stop with an error.
    #[default]
    Refuse,
    /// Keep the finished files and write the others.
    Resume,
    /// Delete them and start over.
    Discard,
}

/// A directory on disk, which gets its name only when all of its files are complete.
pub struct LocalFolder {
    target: PathBuf,
    leftover: Leftover,
    replace: bool,
    made_by: &'static str,
    /// Whether its files get their names beside the target, and the directory goes.
    are_parts: bool,
    partial: OnceLock<PartialFolder>,
    /// What was written, for the marker.
    files: Mutex<Files>,
}

impl LocalFolder {
    /// Creates a destination for the directory at this path. With `replace`, an existing directory
    /// is replaced once the new one is complete.
    #[must_use]
    pub fn new(target: &Path, leftover: Leftover, replace: bool) -> Self {
        let (partial, files) = (OnceLock::new(), Mutex::default());
        let (target, made_by, are_parts) = (target.to_owned(), "", false);
        Self { target, leftover, replace, made_by, are_parts, partial, files }
    }

    /// Creates a destination for the parts of the file at this path. They gather in a directory
    /// beside it, and all get their own names next to it when all are complete. With `replace`, old
    /// parts of these names are replaced then.
    #[must_use]
    pub fn of_parts(target: &Path, leftover: Leftover, replace: bool) -> Self {
        Self { are_parts: true, ..Self::new(target, leftover, replace) }
    }

    /// Sets the command recorded in the marker file.
    #[must_use]
    pub fn made_by(mut self, verb: &'static str) -> Self {
        self.made_by = verb;
        self
    }

    fn partial(&self) -> Result<&PartialFolder> {
        self.partial.get().ok_or_else(|| Error::usage("the directory has not been started"))
    }

    /// Adds a file to what the marker lists.
    fn list(&self, name: &str, bytes: u64) {
        lock(&self.files).insert(with_slashes(name), ListedFile { bytes, checksum: None });
    }

    /// Where a file is written, in a folder that exists. From now on it is known as ours.
    fn path_of(&self, name: &str) -> Result<PathBuf> {
        if !is_inside(name) {
            let outside = "the name leads outside the output directory";
            return Err(Error::usage(outside).in_file(Path::new(name)));
        }
        let partial = self.partial()?;
        partial.finished.begin(&with_slashes(name))?;
        let path = partial.path_of(name);
        if let Some(parent) = path.parent().filter(|_| Path::new(name).components().count() > 1) {
            std::fs::create_dir_all(parent)
                .map_err(|e| Error::io(e, "cannot create").in_file(parent))?;
        }
        Ok(path)
    }
}

impl Destination for LocalFolder {
    fn begin(&self, stamp: &dyn Fn() -> String) -> Result<()> {
        let mut partial = PartialFolder::create(&self.target, &stamp(), self.leftover)?;
        partial.made_by = self.made_by;
        let begun = self.partial.set(partial);
        begun.map_err(|_| Error::usage("the directory has already been started"))
    }

    fn found(&self, name: &str, len: u64) -> FoundFile {
        let Some(partial) = self.partial.get() else { return FoundFile::Nothing };
        let found = partial.found(name, len);
        if found == FoundFile::Complete {
            self.list(name, len);
        }
        found
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        refuse_full_disk(&self.target, bytes)
    }

    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        self.list(name, len);
        let file = PartialFile::create(&self.path_of(name)?, len)?;
        let (partial, checksum) = (self.partial()?, FileChecksum::new(len));
        Ok(Box::new(SummedFile { file, checksum, name: name.to_owned(), len, of: partial }))
    }

    /// Lets the system copy: it keeps the file's permissions and is fastest.
    fn copy(&self, name: &str, from: &Path) -> Result<()> {
        let to = self.path_of(name)?;
        // What an interrupted run has copied may be write-protected, as its original is.
        let _ = std::fs::remove_file(&to);
        let copied = std::fs::copy(from, &to);
        self.list(name, copied.map_err(|e| Error::io(e, "cannot copy").in_file(from))?);
        let synced = std::fs::File::open(&to).and_then(|file| file.sync_all());
        synced.map_err(|e| Error::io(e, "cannot write").in_file(&to))
    }

    fn unnamed(&self) -> Option<PathBuf> {
        self.partial.get().map(|partial| partial.path().to_owned())
    }

    fn finish(&self) -> Result<()> {
        let mut files = lock(&self.files);
        let partial = self.partial()?;
        if self.are_parts {
            let names: Vec<&str> = files.keys().map(String::as_str).collect();
            return partial.finish_parts(self.replace, &names);
        }
        for (name, file) in files.iter_mut() {
            file.checksum = partial.finished.checksum(name);
        }
        partial.finish(self.replace, &files)
    }

    fn notes(&self) -> Vec<String> {
        self.partial.get().map(PartialFolder::notes).unwrap_or_default()
    }

    fn discard(&self) {
        if let Some(partial) = self.partial.get() {
            partial.discard();
        }
    }

    fn kept(&self) -> Option<Kept> {
        let partial = self.partial.get()?;
        Some(Kept { path: partial.path().to_owned(), names: partial.finished.names() })
    }

    fn abort(&self) {
        if let Some(partial) = self.partial.get() {
            partial.remove_if_empty();
        }
    }
}

/// A file of the directory, with the checksum by which another run will know it.
struct SummedFile<'a> {
    file: PartialFile,
    checksum: FileChecksum,
    name: String,
    len: u64,
    of: &'a PartialFolder,
}

/// Inside the partial directory a name is free, or that of a file that was not finished.
impl OutputFile for SummedFile<'_> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.checksum.add(offset, bytes);
        self.file.write_at(offset, bytes)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.finish(true)?;
        let noted = Noted { len: self.len, checksum: self.checksum.value() };
        self.of.finished.note(&self.name, noted)
    }
}

/// A name as markers and stamps have it, on every system.
fn with_slashes(name: &str) -> String {
    let parts: Vec<_> = Path::new(name).iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
