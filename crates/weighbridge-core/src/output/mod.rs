//! Output destinations: a file or a directory on disk, a stream, memory.
//!
//! A [`Destination`] takes whole files. The length of each is known when it is started, and several
//! threads write it at once. Nothing has its final name before [`Destination::finish`], so an
//! incomplete output never appears under that name.

mod finished;
mod local_file;
mod local_folder;
mod lock;
mod marker;
mod memory;
mod partial_file;
mod partial_folder;
mod parts;
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
pub use parts::refuse_taken;
pub use stream::Stream;

/// The order in which a destination accepts the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOrder {
    /// Any order: each call gives the offset of its bytes.
    Any,
    /// In order, without gaps, from one thread at a time, one file after another.
    FrontToBack,
}

/// The state of a file that an interrupted run left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundFile {
    /// Not finished.
    Nothing,
    /// Complete.
    Complete,
    /// Finished, but changed since.
    Damaged,
}

/// The part of an incomplete output that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where it is.
    pub path: PathBuf,
    /// The files that are complete.
    pub names: Vec<String>,
}

/// Options for sending an output to a remote destination.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Whether the address names a folder of several files or one file.
    pub is_folder: bool,
    /// The limit on bytes waiting to be sent.
    pub memory: u64,
    /// Whether existing files may be overwritten.
    pub force: bool,
    /// Whether to resume an interrupted run.
    pub resume: bool,
    /// Whether files must be written in order because their formats need it.
    pub in_turn: bool,
}

/// A destination for the files of an output. Names may contain folders, separated by `/`.
///
/// Calls come in this order: `begin`, `found` and `reserve`, then for each file `create`, its
/// writes and its `finish`. The last call is `finish`, `discard` if the output is wrong, or `abort`
/// after an error.
pub trait Destination: Sync {
    /// Returns the order in which it accepts the bytes of a file.
    fn order(&self) -> WriteOrder {
        WriteOrder::Any
    }

    /// Called before anything is written. The stamp identifies this conversion, so that only the
    /// same conversion resumes an interrupted run.
    fn begin(&self, _stamp: &dyn Fn() -> String) -> Result<()> {
        Ok(())
    }

    /// Returns what an interrupted run left of this file.
    fn found(&self, _name: &str, _len: u64) -> FoundFile {
        FoundFile::Nothing
    }

    /// Returns an error if there is not enough space for this many bytes.
    fn reserve(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Starts a file of `len` bytes. Unwritten bytes are zero.
    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>>;

    /// Copies a file from disk.
    fn copy(&self, name: &str, from: &Path) -> Result<()> {
        copy_in_pieces(self, name, from)
    }

    /// Returns where the output can be read once all files are complete, before it has its final
    /// name. If that is [impossible](Self::is_read_when_finished), this is where it can be read
    /// after `finish`.
    fn unnamed(&self) -> Option<PathBuf> {
        None
    }

    /// Returns whether the output can be read only after `finish`.
    fn is_read_when_finished(&self) -> bool {
        false
    }

    /// Gives all files, which are complete, their final names.
    fn finish(&self) -> Result<()>;

    /// Returns notes on other actions, such as removing leftovers of an earlier run.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what could not be cleaned up after the work ended early.
    fn left_behind(&self) -> Vec<String> {
        Vec::new()
    }

    /// Deletes the output, because it is wrong.
    fn discard(&self) {
        self.abort();
    }

    /// Returns what another run could resume if the work ended now.
    fn kept(&self) -> Option<Kept> {
        None
    }

    /// Ends the work early. Keeps what can be resumed and deletes the rest.
    fn abort(&self);
}

/// A file that is being written. Dropping it before `finish` deletes it.
pub trait OutputFile: Send + Sync {
    /// Writes bytes at `offset`. Any thread may call this, in the destination's [`WriteOrder`].
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Completes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The ending of the name that a replaced file or directory has until the new one is in its place.
const REPLACED: &str = ".weigh-old";

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
    if at == len {
        file.finish()
    } else {
        Err(Error::usage("changed while being copied").in_file(from))
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
