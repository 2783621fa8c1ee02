//! Whether a file is still what it was.

use std::fs::Metadata;
use std::time::SystemTime;

use crate::sys;

/// What tells that a file was written to, or is another one: its length, the time of its last change
/// as anybody may set it, the system's own, which nobody can put back, and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Its length in bytes.
    pub len: u64,
    /// The modification time, which anybody may set.
    pub modified: Option<SystemTime>,
    /// The change time, which only the system sets.
    pub changed: Option<i128>,
    /// Which file of which disk it is.
    number: Option<(u64, u64)>,
}

impl FileState {
    /// The state that a file's metadata tell.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            changed: sys::change_time(metadata),
            number: sys::file_number(metadata),
        }
    }
}
