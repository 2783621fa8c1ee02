//! Standard output as a place for bytes rather than for text.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use weighbridge::Error;

use crate::sys;

/// An error if standard output is not something that `what` can be written to.
pub(super) fn check(what: &str) -> Result<(), Error> {
    let refused =
        |problem: String| Err(Error::usage(problem).in_file(Path::new("standard output")));
    if sys::standard_output_was_closed() {
        return refused(format!("is closed, so {what} cannot be written to it"));
    }
    match io::stdout().is_terminal() {
        false => Ok(()),
        true => refused(format!("is a terminal, and {what} is not written to one"))
            .map_err(|error| error.hint("redirect it into a file or a pipe, or name a file")),
    }
}
