//! Standard input as a model.

use std::fs::File;
use std::io;

use weighbridge::{Error, Model, OpenOptions};

/// What standard input is called in reports and messages.
const NAME: &str = "stdin";

/// A file that was redirected to us can be sought in; a pipe is read from its start.
pub(super) fn open(opener: &OpenOptions) -> Result<Model, Error> {
    let file = own().map_err(|e| Error::io(e, "cannot read standard input"))?;
    match file.metadata() {
        Ok(about) if about.is_file() => opener.open_reader(file, NAME),
        _ => opener.open_stream(file, NAME),
    }
}

#[cfg(unix)]
fn own() -> io::Result<File> {
    use std::os::fd::AsFd as _;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn own() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Whether standard input reads the file of this name.
#[cfg(unix)]
pub(super) fn is_file(path: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let about = (own().and_then(|file| file.metadata()), path.metadata());
    matches!(about, (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Whether standard input reads the file of this name, which cannot be told here.
#[cfg(windows)]
pub(super) fn is_file(_path: &std::path::Path) -> bool {
    false
}
