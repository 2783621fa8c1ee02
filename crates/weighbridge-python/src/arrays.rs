//! The caller's arrays as a model, so that they can be converted like any other.

use std::io;
use std::sync::Arc;

use pyo3::prelude::*;
use weighbridge::{OpenOptions, ReadAt};

use crate::buffer::Readable;
use crate::model::Model;
use crate::run::briefly;

/// A safetensors file with our header and the caller's arrays as data.
struct Arrays {
    header: Vec<u8>,
    /// The arrays with their offsets.
    arrays: Vec<(u64, Readable)>,
    len: u64,
}

impl ReadAt for Arrays {
    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn read_at(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        if let Some(rest) = usize::try_from(offset).ok().and_then(|at| self.header.get(at..)) {
            let len = rest.len().min(out.len());
            out[..len].copy_from_slice(&rest[..len]);
            (offset, out) = (offset + len as u64, &mut out[len..]);
        }
        while !out.is_empty() {
            let next = self.arrays.partition_point(|(start, _)| *start <= offset);
            let (start, array) = next
                .checked_sub(1)
                .map(|at| &self.arrays[at])
                .ok_or(io::ErrorKind::UnexpectedEof)?;
            let inside = usize::try_from(offset - start).map_err(io::Error::other)?;
            let len = array.len().saturating_sub(inside).min(out.len());
            let (here, rest) = out.split_at_mut(len);
            if len == 0 || !array.copy(inside, here) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (offset, out) = (offset + len as u64, rest);
        }
        Ok(())
    }
}

/// Opens arrays: `header` is a safetensors header, and the arrays are its data in order.
#[pyfunction]
pub(crate) fn open_arrays(
    py: Python<'_>,
    header: Vec<u8>,
    arrays: Vec<Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let mut placed = Vec::with_capacity(arrays.len());
    let mut len = header.len() as u64;
    for array in &arrays {
        let array = Readable::new(array)?;
        // An empty array would hide the next one at the same offset.
        if array.len() > 0 {
            let bytes = array.len() as u64;
            placed.push((len, array));
            len += bytes;
        }
    }
    let source = Arc::new(Arrays { header, arrays: placed, len });
    briefly(py, || OpenOptions::new().open_read_at(source, "arrays")).map(Model::new)
}
