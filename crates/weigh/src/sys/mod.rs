//! Code that depends on the operating system. Each system has a file with the same functions.

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

/// Whether terminals show characters beyond ASCII regardless of the locale.
pub(crate) const SPEAKS_UNICODE: bool = system::SPEAKS_UNICODE;

/// Unbuffered standard input, as a file that may be a pipe.
pub(crate) fn standard_input() -> io::Result<File> {
    system::standard_input()
}

/// Whether standard output was closed when the process started. The standard library replaces it by
/// `/dev/null`, so writing to it does not fail.
pub(crate) fn standard_output_was_closed() -> bool {
    system::standard_output_was_closed()
}

/// Whether this path is the pipe of standard output, such as `/dev/stdout`.
pub(crate) fn is_piped_to(path: &Path) -> bool {
    system::is_piped_to(path)
}

/// Calls `stop` on Ctrl-C and on other termination signals, with the exit code for the signal.
pub(crate) fn on_request_to_end(stop: impl FnMut(u8) + Send + 'static) -> io::Result<()> {
    system::on_request_to_end(stop)
}

/// Whether this open file is at this path, as far as the system can tell.
pub(crate) fn is_file_at(file: &File, path: &Path) -> bool {
    system::is_file_at(file, path)
}
