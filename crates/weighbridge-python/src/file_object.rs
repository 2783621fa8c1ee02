//! Python file objects as byte sources.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::exit;

/// The only reference to a file object: its reader has it, and so has the model, which shows it to the
/// garbage collector.
pub(crate) struct Shared(Mutex<Option<Py<PyAny>>>);

impl Shared {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Self(Mutex::new(Some(object)))
    }

    /// Who holds the lock is about to call the object, which is then no garbage.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock().as_deref() {
            Ok(Some(object)) => visit.call(object),
            _ => Ok(()),
        }
    }

    /// Gives the object up: it was found to be garbage.
    pub(crate) fn clear(&self) {
        let object = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(object); // Its own code may run, and must not wait for the lock.
    }

    /// Does something with the object, with the interpreter lock.
    fn with<T>(&self, job: impl FnOnce(&Bound<'_, PyAny>) -> io::Result<T>) -> io::Result<T> {
        let done = exit::attached(|py| {
            let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let object = held.as_ref().map(|object| object.clone_ref(py));
            drop(held);
            let object = object.ok_or_else(|| io::Error::other("the file object was deleted"))?;
            job(object.bind(py))
        });
        done.unwrap_or_else(|| Err(io::Error::other("the interpreter is exiting")))
    }
}

/// Any object with `read` and `seek`. Each call takes the interpreter lock.
pub(crate) struct FileObject(pub(crate) Arc<Shared>);

impl Read for FileObject {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.with(|object| {
            let read = object.call_method1("read", (out.len(),))?;
            let read = read.extract::<pyo3::pybacked::PyBackedBytes>().map_err(|_| {
                io::Error::other("read() did not return bytes; open the file in binary mode")
            })?;
            let len = read.len().min(out.len());
            out[..len].copy_from_slice(&read[..len]);
            Ok(len)
        })
    }
}

impl Seek for FileObject {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (offset, whence) = match to {
            SeekFrom::Start(offset) => (i64::try_from(offset).map_err(io::Error::other)?, 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        self.0.with(|object| {
            let position = object.call_method1("seek", (offset, whence))?;
            // Some older file objects return None.
            if position.is_none() {
                Ok(object.call_method0("tell")?.extract()?)
            } else {
                Ok(position.extract()?)
            }
        })
    }
}

/// An open file that is read by position, so the position of the file object does not move.
#[cfg(unix)]
pub(crate) struct OpenFile {
    file: std::fs::File,
    len: u64,
    modified: Option<std::time::SystemTime>,
}

#[cfg(unix)]
impl OpenFile {
    pub(crate) fn new(file: std::fs::File) -> io::Result<Self> {
        let about = file.metadata()?;
        Ok(Self { file, len: about.len(), modified: about.modified().ok() })
    }
}

#[cfg(unix)]
impl weighbridge::ReadAt for OpenFile {
    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, out, offset)
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        let about = self.file.metadata()?;
        Ok((about.len(), about.modified().ok()) == (self.len, self.modified))
    }
}
