//! Opens a model from standard input.

use std::path::Path;

use weighbridge::{Error, Model, OpenOptions};

use crate::sys;

/// The name of standard input in reports and messages.
const NAME: &str = "stdin";

/// Whether a name means standard input, or standard output.
pub(super) fn is_meant(name: &Path) -> bool {
    name.as_os_str() == "-"
}

/// Opens a model by its name, or standard input.
pub(super) fn or_named(opener: &OpenOptions, name: &Path) -> Result<Model, Error> {
    if is_meant(name) { open(opener) } else { opener.open(name) }
}

/// Opens all models behind a name, or standard input.
pub(super) fn or_all_named(opener: &OpenOptions, name: &Path) -> Result<Vec<Model>, Error> {
    if is_meant(name) { Ok(vec![open(opener)?]) } else { opener.open_all(name) }
}

/// Opens standard input. A redirected file allows random access; a pipe is read in order.
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
