//! What differs from one operating system to the next: each has a file with the same functions.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::fs::File;
use std::io;
use std::path::Path;

/// Standard input without a buffer, as a file that may be a pipe.
pub(crate) fn standard_input() -> io::Result<File> {
    system::standard_input()
}

/// Whether this open file has this path, as far as the system says so.
pub(crate) fn is_file_at(file: &File, path: &Path) -> bool {
    system::is_file_at(file, path)
}
