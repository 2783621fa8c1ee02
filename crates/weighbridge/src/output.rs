//! A file being written: tiles land at their planned offsets, in any order.
//!
//! The file appears under its final name only when [`Output::finish`] is called; dropped before
//! that, it leaves nothing behind.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A file under construction.
pub struct Output {
    file: File,
    partial: PathBuf,
    target: PathBuf,
    finished: bool,
}

impl Output {
    /// Starts a file of `len` bytes that will be called `target`.
    pub fn create(target: &Path, len: u64) -> Result<Self> {
        let name =
            target.file_name().ok_or_else(|| Error::usage("the output needs a file name"))?;
        let mut partial_name = name.to_owned();
        partial_name.push(format!(".{}.weigh-partial", std::process::id()));
        let partial = target.with_file_name(partial_name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&partial)
            .map_err(|e| Error::io(e, "cannot create").in_file(target))?;
        let output = Self { file, partial, target: target.to_owned(), finished: false };
        output.file.set_len(len).map_err(|e| output.failed(e))?;
        Ok(output)
    }

    /// Writes a tile at its place. Any thread may, at any time.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        write_all_at(&self.file, bytes, offset).map_err(|e| self.failed(e).at(offset))
    }

    /// Makes the file durable and gives it its name. What has this name already is replaced, if
    /// that is wanted.
    pub fn finish(mut self, replace: bool) -> Result<()> {
        self.file.sync_all().map_err(|e| self.failed(e))?;
        if !replace {
            refuse_existing(&self.target)?;
        }
        std::fs::rename(&self.partial, &self.target).map_err(|e| self.failed(e))?;
        self.finished = true;
        Ok(())
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io(error, "cannot write").in_file(&self.target)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.finished {
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// An error if there is something of that name.
pub(crate) fn refuse_existing(target: &Path) -> Result<()> {
    match target.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(_) => Err(Error::usage("exists already")
            .in_file(target)
            .hint("--force replaces it, once the new file is complete")),
    }
}

/// Whether two paths lead to one file, through links of any kind.
#[cfg(unix)]
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// Whether two paths lead to one file.
#[cfg(not(unix))]
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> std::io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        let written = file.seek_write(bytes, offset)?;
        bytes = &bytes[written..];
        offset += written as u64;
    }
    Ok(())
}
