//! Windows.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle as _;
use std::path::Path;

pub(super) const SPEAKS_UNICODE: bool = true;

pub(super) fn standard_input() -> io::Result<File> {
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

/// The standard library does not say which file a handle belongs to.
pub(super) fn is_file_at(_file: &File, _path: &Path) -> bool {
    false
}

/// Always false: without a standard output, writing fails by itself.
pub(super) fn standard_output_was_closed() -> bool {
    false
}

/// Always false: standard output has no path.
pub(super) fn is_piped_to(_path: &Path) -> bool {
    false
}

/// The exit code of Ctrl-C on other systems. Windows does not tell what ended the process.
const INTERRUPTED: u8 = 130;

pub(super) fn on_request_to_end(mut stop: impl FnMut(u8) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || stop(INTERRUPTED)).map_err(io::Error::other)
}
