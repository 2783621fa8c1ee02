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

/// Whether a terminal shows characters beyond ASCII whatever the locale says.
pub(crate) const SPEAKS_UNICODE: bool = system::SPEAKS_UNICODE;

/// Standard input without a buffer, as a file that may be a pipe.
pub(crate) fn standard_input() -> io::Result<File> {
    system::standard_input()
}

/// Whether standard output was closed when the process began. The standard library opens `/dev/null`
/// in its place, so that nothing written to it fails.
pub(crate) fn standard_output_was_closed() -> bool {
    system::standard_output_was_closed()
}

/// Whether standard output is a pipe that has this path too, such as `/dev/stdout`.
pub(crate) fn is_piped_to(path: &Path) -> bool {
    system::is_piped_to(path)
}

/// Calls `stop` whenever the process is asked to end, by Ctrl-C or from outside, with the exit code
/// that says by what.
pub(crate) fn on_request_to_end(stop: impl FnMut(u8) + Send + 'static) -> io::Result<()> {
    system::on_request_to_end(stop)
}

/// Whether this open file has this path, as far as the system says so.
pub(crate) fn is_file_at(file: &File, path: &Path) -> bool {
    system::is_file_at(file, path)
}
