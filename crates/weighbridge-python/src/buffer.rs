//! Python buffers that are read or filled here.
#![allow(unsafe_code)]

use std::io;

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use weighbridge::ReadAt;

use crate::errors;

/// From this length on, large pages are faster.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// The granularity of advice: a multiple of every page size.
#[cfg(target_os = "linux")]
const PAGE: usize = 64 << 10;

/// Caller's memory that is filled. Holding the buffer pins it: an exported array cannot be resized.
pub(crate) struct Writable(PyBuffer<u8>);

impl Writable {
    /// The bytes of an object; an error if they are read-only or not contiguous.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        let refuse = |why| Err(errors::usage(object.py(), why, None));
        if buffer.readonly() {
            return refuse("the memory to read into is read-only");
        }
        if !buffer.is_c_contiguous() {
            return refuse("the memory to read into is not C-contiguous");
        }
        let writable = Self(buffer);
        writable.ask_for_large_pages();
        Ok(writable)
    }

    /// Asks for large pages. Page faults dominate the time to fill new memory, and large pages have
    /// fewer. numpy asks for them itself, torch does not.
    fn ask_for_large_pages(&self) {
        #[cfg(target_os = "linux")]
        if self.len() >= LARGE {
            let start = (self.0.buf_ptr() as usize).next_multiple_of(PAGE);
            let end = (self.0.buf_ptr() as usize + self.len()) / PAGE * PAGE;
            // SAFETY: whole pages within a buffer that is held. It is advice: no byte is changed, and
            // a system that does not want to follow it is no worse than before.
            unsafe {
                libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// The bytes, while the buffer is held.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        match self.len() {
            0 => &mut [],
            // SAFETY: the buffer is held, so the memory stays valid, writable and in its place. That
            // nobody else uses it meanwhile is what every function that fills an array asks of its
            // caller; the arrays that this package makes are known to nobody else yet.
            len => unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), len) },
        }
    }
}

/// Caller's memory that is read as a file. Other code may write to it, so bytes are copied and never
/// borrowed.
pub(crate) struct Readable(PyBuffer<u8>);

impl Readable {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        if buffer.is_c_contiguous() {
            Ok(Self(buffer))
        } else {
            Err(errors::usage(object.py(), "the buffer is not C-contiguous", None))
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// Copies bytes from `offset` on; `false` if there are not enough.
    pub(crate) fn copy(&self, offset: usize, out: &mut [u8]) -> bool {
        if offset.checked_add(out.len()).is_none_or(|end| end > self.len()) {
            return false;
        }
        let start = self.0.buf_ptr().cast::<u8>();
        // SAFETY: the range lies within the buffer, which is held. `out` may be a part of it, where a
        // caller reads a model into the memory that it was opened from.
        unsafe { std::ptr::copy(start.add(offset), out.as_mut_ptr(), out.len()) };
        true
    }
}

impl ReadAt for Readable {
    fn len(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if usize::try_from(offset).is_ok_and(|offset| self.copy(offset, out)) {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}
