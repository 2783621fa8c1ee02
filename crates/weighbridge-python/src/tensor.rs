//! Decoded values in our own memory, which other libraries take over without a copy.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::sync::Arc;

use memmap2::MmapMut;
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use weighbridge::DType;

use crate::{dlpack, errors};

/// From this length on, memory comes directly from the system, which clears each page on the first
/// write, on the thread that writes.
const LARGE: usize = 1 << 20;

/// The alignment that array libraries expect; jax copies otherwise.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line([u8; 64]);

// SAFETY: bytes, as many as it is aligned to: no value is invalid, and nothing lies between them.
unsafe impl bytemuck::Zeroable for Line {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Line {}

/// The memory of a tensor.
pub(crate) enum Memory {
    Small(Vec<Line>, usize),
    Large(MmapMut),
    /// In a mapped file, or in bytes that the model was opened from. The weight keeps them alive.
    Lent(weighbridge::Weight),
}

impl Memory {
    fn new(len: usize) -> PyResult<Self> {
        if len < LARGE {
            return Ok(Self::Small(vec![Line([0; 64]); len.div_ceil(64)], len));
        }
        let no_memory = |_| PyMemoryError::new_err(format!("cannot allocate {len} bytes"));
        let map = MmapMut::map_anon(len).map_err(no_memory)?;
        #[cfg(target_os = "linux")]
        // Large pages are filled faster. A failure is harmless.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self::Large(map))
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Small(lines, len) => &mut bytemuck::cast_slice_mut(lines)[..*len],
            Self::Large(map) => map,
            Self::Lent(_) => &mut [],
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Small(lines, len) => &bytemuck::cast_slice(lines)[..*len],
            Self::Large(map) => map,
            Self::Lent(weight) => weight.bytes().unwrap_or_default(),
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Lent(_))
    }

    /// A copy of the bytes in new memory.
    pub(crate) fn copied(&self) -> PyResult<Self> {
        let mut copy = Self::new(self.bytes().len())?;
        copy.bytes_mut().copy_from_slice(self.bytes());
        Ok(copy)
    }
}

/// Values of one type and shape, in row-major order.
#[pyclass(frozen, module = "weighbridge._weighbridge")]
pub(crate) struct Tensor {
    memory: Arc<Memory>,
    dtype: DType,
    shape: Vec<u64>,
}

impl Tensor {
    /// New memory, filled by `fill`.
    pub(crate) fn filled(
        py: Python<'_>,
        dtype: DType,
        shape: Vec<u64>,
        fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
    ) -> PyResult<Self> {
        let elements = shape.iter().try_fold(1u64, |all, &side| all.checked_mul(side));
        let bytes = elements.and_then(|all| dtype.bytes_for(all));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| {
            let why = format!("{shape:?} values of {dtype} do not fill whole bytes");
            errors::usage(py, &why, Some("use 'f32', 'bf16' or 'f16'"))
        })?;
        let mut memory = Memory::new(bytes)?;
        fill(memory.bytes_mut())?;
        Ok(Self { memory: Arc::new(memory), dtype, shape })
    }

    /// The bytes of a weight in place; `None` if they cannot be lent.
    pub(crate) fn lent(weight: weighbridge::Weight, dtype: DType, shape: Vec<u64>) -> Option<Self> {
        weight.bytes()?;
        Some(Self { memory: Arc::new(Memory::Lent(weight)), dtype, shape })
    }
}

#[pymethods]
impl Tensor {
    fn __repr__(&self) -> String {
        format!("<Tensor: {:?} {}>", self.shape, self.dtype)
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    #[getter]
    fn dtype(&self) -> &'static str {
        self.dtype.name()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.memory.bytes().len()
    }

    #[getter]
    fn readonly(&self) -> bool {
        self.memory.is_read_only()
    }

    /// The memory itself, as bytes.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let memory = &slf.get().memory;
        let (start, len) = (memory.bytes().as_ptr(), memory.bytes().len());
        let len = ffi::Py_ssize_t::try_from(len)?;
        let read_only = c_int::from(memory.is_read_only());
        // SAFETY: `view` is the interpreter's, to be filled in. It keeps a reference to this object,
        // whose memory neither moves nor ends before.
        let done = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                start.cast_mut().cast(),
                len,
                read_only,
                flags,
            )
        };
        match done {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }

    /// The DLPack number of the CPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::DEVICE
    }

    /// A DLPack capsule for another library.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Streams are for devices that run asynchronously.
        drop(stream);
        dlpack::check_device(dl_device)?;
        let version = max_version.filter(|version| version.0 >= 1);
        // The older form has no read-only flag.
        let must_copy = copy == Some(true) || (self.memory.is_read_only() && version.is_none());
        if must_copy && copy == Some(false) {
            let why =
                "read-only memory needs DLPack 1.0 or a copy, and copy=False forbids the copy";
            return Err(pyo3::exceptions::PyBufferError::new_err(why));
        }
        let memory = if must_copy { Arc::new(self.memory.copied()?) } else { self.memory.clone() };
        let exported = dlpack::Exported::new(memory, self.dtype, &self.shape, must_copy)?;
        exported.capsule(py, version.is_some())
    }
}
