//! Where finished files go: a file or a directory on disk, a stream, memory.
//!
//! A [`Destination`] takes whole files, each of a length that is known when it is started, and
//! written by several threads at once. Nothing has its final name before
//! [`Destination::finish`]: an output that could not be completed leaves nothing there.

mod finished;
mod local_file;
mod local_folder;
mod lock;
mod marker;
mod memory;
mod partial_file;
mod partial_folder;
mod stamp;
mod stream;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub use local_file::LocalFile;
pub use local_folder::{Leftover, LocalFolder};
pub use marker::{MARKER, made_by, refuse_foreign};
pub use memory::Memory;
pub use partial_file::{PartialFile, discard_unfinished, refuse_existing};
pub use stream::Stream;

/// In which order a destination takes the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// In any: each call says where its bytes go.
    Any,
    /// From front to back, without gaps, by one thread at a time. Files come one after the other.
    FrontToBack,
}

/// What an interrupted run has left of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundFile {
    /// Nothing: it was not finished.
    Nothing,
    /// All of it.
    Complete,
    /// It was finished, but is no longer what was written.
    Damaged,
}

/// What is kept of an output that was not completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where it is.
    pub path: PathBuf,
    /// The files that are complete.
    pub names: Vec<String>,
}

/// How an output is sent to a place elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Several files below the address, or one that it names.
    pub is_folder: bool,
    /// The most bytes that wait to be sent.
    pub memory: u64,
    /// Whether what exists may be replaced.
    pub force: bool,
    /// Whether to go on with what an interrupted run has finished.
    pub resume: bool,
    /// Whether files are written front to back, because their formats need that.
    pub in_turn: bool,
}

/// Where the files of an output go. Names may have folders in them, with `/` between.
///
/// The calls come in this order: `begin`, `found` and `reserve`, then for each file `create`, its
/// writes, and its `finish`; at the end `finish`, or `discard` if what was written is wrong, or,
/// after an error, `abort`.
pub trait Destination: Sync {
    /// In which order it takes the bytes of a file.
    fn order(&self) -> WriteOrder {
        WriteOrder::Any
    }

    /// Called before anything is written. The stamp tells this work from any other, so that only
    /// the same work goes on with what an interrupted run has finished.
    fn begin(&self, _stamp: &dyn Fn() -> String) -> Result<()> {
        Ok(())
    }

    /// What an interrupted run has left of this file.
    fn found(&self, _name: &str, _len: u64) -> FoundFile {
        FoundFile::Nothing
    }

    /// An error if there is not enough space for this many bytes.
    fn reserve(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Starts a file of `len` bytes. What is never written is zero.
    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>>;

    /// Copies a file from disk.
    fn copy(&self, name: &str, from: &Path) -> Result<()> {
        copy_in_pieces(self, name, from)
    }

    /// Where the output can be read when all files are complete, before it has its final name; where
    /// that is [impossible](Self::is_read_when_finished), when it is finished.
    fn unnamed(&self) -> Option<PathBuf> {
        None
    }

    /// Whether it can be read only when it is finished.
    fn is_read_when_finished(&self) -> bool {
        false
    }

    /// All files are complete; they get their final names.
    fn finish(&self) -> Result<()>;

    /// What it did besides writing, such as removing what an earlier run had left.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What could not be cleaned away after the work had ended early.
    fn left_behind(&self) -> Vec<String> {
        Vec::new()
    }

    /// What was written is wrong: all of it is deleted.
    fn discard(&self) {
        self.abort();
    }

    /// What another run could go on with, if the work ended now.
    fn kept(&self) -> Option<Kept> {
        None
    }

    /// The work has ended early. What may be resumed is kept, everything else is deleted.
    fn abort(&self);
}

/// A file that is being written. Dropped before it is finished, it leaves nothing behind.
pub trait OutputFile: Send + Sync {
    /// Writes bytes at their place. Any thread may, in the destination's [`WriteOrder`].
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// The file is complete.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// `path` with more at the end of its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

fn copy_in_pieces<D: Destination + ?Sized>(to: &D, name: &str, from: &Path) -> Result<()> {
    let failed = |e| Error::io(e, "cannot copy").in_file(from);
    let mut source = File::open(from).map_err(failed)?;
    let len = source.metadata().map_err(failed)?.len();
    let file = to.create(name, len)?;
    let (mut buffer, mut at) = (vec![0; COPY_BYTES], 0);
    loop {
        let read = source.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        file.write_at(at, &buffer[..read])?;
        at += read as u64;
    }
    match at == len {
        true => file.finish(),
        false => Err(Error::usage("changed while being copied").in_file(from)),
    }
}

/// Writes a small file at once.
pub fn write_whole(to: &dyn Destination, name: &str, bytes: &[u8]) -> Result<()> {
    let file = to.create(name, bytes.len() as u64)?;
    file.write_at(0, bytes)?;
    file.finish()
}

/// An error if the disk of `target` cannot take this many bytes.
fn refuse_full_disk(target: &Path, bytes: u64) -> Result<()> {
    match crate::sys::free_space_beside(target) {
        Some(free) if free < bytes => Err(Error::io(
            std::io::ErrorKind::StorageFull.into(),
            &format!("the output needs {bytes} bytes, but only {free} are free"),
        )
        .in_file(target)
        .hint("free some space or choose another output path")),
        _ => Ok(()),
    }
}
