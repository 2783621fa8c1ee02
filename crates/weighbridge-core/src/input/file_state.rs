//! Whether a file is still what it was.

use std::fs::Metadata;
use std::time::SystemTime;

use crate::sys;

/// What tells that a file was written to, or is another one: its length, the time of its last change
/// as anybody may set it, the system's own, which nobody can put back, and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    pub len: u64,
    pub modified: Option<SystemTime>,
    pub changed: Option<i128>,
    /// Which file of which disk it is.
    number: Option<(u64, u64)>,
}

impl FileState {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            changed: sys::change_time(metadata),
            number: sys::file_number(metadata),
        }
    }
}
