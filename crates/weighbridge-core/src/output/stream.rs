//! Sequential output: a pipe, a socket, a `Vec<u8>`.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use super::{Destination, OutputFile, WriteOrder};
use crate::error::{Error, Result};
use crate::stop::{self, lock};
use crate::sys::{self, SpecialFile};

/// A destination that writes one file sequentially.
pub struct Stream<W> {
    /// What messages call it.
    name: Option<PathBuf>,
    end: Mutex<End<W>>,
}

struct End<W> {
    writer: W,
    /// Bytes that were written.
    len: u64,
}

impl<W: Write + Send> Stream<W> {
    /// Creates a stream that writes to `writer`.
    pub fn new(writer: W) -> Self {
        Self { name: None, end: Mutex::new(End { writer, len: 0 }) }
    }

    fn failed(&self, error: io::Error) -> Error {
        let is_closed = error.kind() == ErrorKind::BrokenPipe;
        let error = Error::io(error, "cannot write to the stream");
        let error = if is_closed {
            error.hint("the reader closed the stream before everything was written")
        } else {
            error
        };
        self.name.iter().fold(error, |error, name| error.in_file(name))
    }

    /// Sets the name used in messages.
    pub fn named(self, name: impl Into<PathBuf>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

impl Stream<File> {
    /// Opens an existing pipe or device. Opening a pipe waits for a reader, or until the work of
    /// this thread is stopped.
    pub fn to_special_file(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(e, "cannot open").in_file(path);
        let file = open_special(path).map_err(failed)?.ok_or_else(stop::stopped)?;
        let refused = |problem| Err(Error::usage(problem).in_file(path));
        // What was a pipe when the work was planned may be something else now.
        if sys::special_file(&file.metadata().map_err(failed)?).is_none() {
            return refused("is no longer a pipe or a device");
        }
        if file.is_terminal() {
            refused("is a terminal; models are not written to terminals")
        } else {
            Ok(Self::new(file).named(path))
        }
    }
}

/// The interval between attempts to open a pipe without a reader.
const LOOK: Duration = Duration::from_millis(20);

/// Opens what can be written front to back; `None` if the work was stopped while a pipe had no
/// reader. (A signal does not end a wait in `open` itself: the system restarts it.)
fn open_special(path: &Path) -> io::Result<Option<File>> {
    if sys::special_file(&path.metadata()?) != Some(SpecialFile::Pipe) {
        return File::options().write(true).open(path).map(Some);
    }
    while !stop::is_stopped() {
        if let Some(pipe) = sys::open_pipe(path)? {
            return Ok(Some(pipe));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}

impl<W: Write + Send> Destination for Stream<W> {
    fn order(&self) -> WriteOrder {
        WriteOrder::FrontToBack
    }

    fn create(&self, name: &str, _len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let end = lock(&self.end);
        match end.len {
            0 => Ok(Box::new(StreamFile { of: self })),
            _ => Err(Error::usage(format!("a stream holds one file, but {name} is a second one"))),
        }
    }

    fn finish(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {}
}

struct StreamFile<'a, W> {
    of: &'a Stream<W>,
}

impl<W: Write + Send> OutputFile for StreamFile<'_, W> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut end = lock(&self.of.end);
        if offset != end.len {
            return Err(Error::usage("a stream must be written in order").at(offset));
        }
        end.writer.write_all(bytes).map_err(|e| self.of.failed(e))?;
        end.len += bytes.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let mut end = lock(&self.of.end);
        end.writer.flush().map_err(|e| self.of.failed(e))
    }
}
