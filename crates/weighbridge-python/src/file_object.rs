//! Python file objects as byte sources.

use std::io::{self, Read, Seek, SeekFrom};

use pyo3::prelude::*;

/// Any object with `read` and `seek`. Each call takes the interpreter lock.
pub(crate) struct FileObject(pub(crate) Py<PyAny>);

impl Read for FileObject {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let read = self.0.bind(py).call_method1("read", (out.len(),))?;
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
        Python::attach(|py| {
            let object = self.0.bind(py);
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
