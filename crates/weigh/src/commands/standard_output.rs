//! Checks that standard output can take binary data.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use weighbridge::Error;

use crate::sys;

/// Rejects a closed standard output and a terminal; `what` is the data in the message.
pub(super) fn check(what: &str) -> Result<(), Error> {
    let rejected =
        |problem: String| Err(Error::usage(problem).in_file(Path::new("standard output")));
    if sys::standard_output_was_closed() {
        return rejected(format!("closed; cannot write {what}"));
    }
    if io::stdout().is_terminal() {
        return rejected(format!("cannot write {what} to a terminal"))
            .map_err(|error| error.hint("redirect it to a file or a pipe, or name a file"));
    }
    Ok(())
}
