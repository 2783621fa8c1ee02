//! Windows.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle as _;
use std::path::Path;

pub(super) fn standard_input() -> io::Result<File> {
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// The standard library does not say which file a handle belongs to.
pub(super) fn is_file_at(_file: &File, _path: &Path) -> bool {
    false
}
