//! Standard input as a model.

use std::path::Path;

use weighbridge::{Error, Model, OpenOptions};

use crate::sys;

/// What standard input is called in reports and messages.
const NAME: &str = "stdin";

/// Opens standard input: a redirected file is read at any position, a pipe from front to back.
pub(super) fn open(opener: &OpenOptions) -> Result<Model, Error> {
    let file = sys::standard_input().map_err(|e| Error::io(e, "cannot read standard input"))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => opener.open_reader(file, NAME),
        _ => opener.open_stream(file, NAME),
    }
}

/// Whether standard input reads the file of this name.
pub(super) fn is_file(path: &Path) -> bool {
    sys::standard_input().is_ok_and(|file| sys::is_file_at(&file, path))
}
