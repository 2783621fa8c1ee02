//! Linux, macOS and their family.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

pub(super) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

pub(super) fn is_file_at(file: &File, path: &Path) -> bool {
    let both = (file.metadata(), path.metadata());
    matches!(both, (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
}
