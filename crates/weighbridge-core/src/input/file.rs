//! A file on disk, read by position, whole, or through a map.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use super::ReadAt;
use super::map::MappedFile;
use super::memory::Memory;
use super::open_files;
use super::positioned::PositionedFile;
use crate::error::{Error, Remedy};

/// Files up to this size are read whole instead of mapped: one read costs less than a map, its
/// page faults and its undoing.
const READ_WHOLE: u64 = 64 << 10;

/// How a file on disk is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// Through a memory map: bytes are lent, not copied.
    #[default]
    Map,
    /// By positioned reads: a file that shrinks under us is an error, not a signal.
    Read,
}

/// Opens a regular file. A folder is `IsADirectory`; other things, such as pipes, are refused
/// without waiting for them.
pub(super) fn open(path: &Path, access: FileAccess) -> io::Result<Arc<dyn ReadAt>> {
    let file = open_files::open(path)?;
    let metadata = file.metadata()?;
    of_file(file, &metadata, path, access)
}

/// A file that is open already.
pub(super) fn of_file(
    file: File,
    metadata: &Metadata,
    path: &Path,
    access: FileAccess,
) -> io::Result<Arc<dyn ReadAt>> {
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other(
            Error::usage("not a regular file").remedy(Remedy::OpenAsStream),
        ));
    }
    let source: Arc<dyn ReadAt> = match access {
        FileAccess::Map if metadata.len() > READ_WHOLE => {
            let map = MappedFile::new(&file, metadata, path);
            Arc::new(map.map_err(|error| io::Error::other(Error::io(error, "cannot map")))?)
        }
        FileAccess::Map => Arc::new(Memory(read_whole(&file, metadata.len())?)),
        FileAccess::Read => Arc::new(PositionedFile::new(file, metadata, path)),
    };
    Ok(source)
}

fn read_whole(mut file: &File, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    file.read_exact(&mut bytes)
        .map_err(|error| io::Error::other(Error::io(error, "cannot read")))?;
    Ok(bytes)
}
