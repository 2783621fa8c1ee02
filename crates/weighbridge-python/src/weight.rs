//! Weights: their facts, and reading them into the caller's memory.

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use weighbridge::internals::source::Slab;
use weighbridge::ops::{self, ReadInto, Work};
use weighbridge::{DType, Error};

use crate::buffer::Writable;
use crate::errors;
use crate::model::{Handle, Model};
use crate::run::{briefly, briefly_if_near, patiently};
use crate::tensor::Tensor;

/// Up to this many bytes, decoding is too quick to need Ctrl-C.
const SHORT: usize = 16 << 20;

/// A stored tensor of a weight: name, role, type, shape, file, offset, bytes.
type Part = (String, &'static str, String, Vec<u64>, std::ffi::OsString, Option<u64>, u64);

/// A logical weight. Its facts stay available after the model is closed; its values do not.
#[pyclass(frozen, module = "weighbridge._weighbridge")]
pub(crate) struct Weight {
    model: Py<Model>,
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    shape: Vec<u64>,
    #[pyo3(get)]
    scheme: &'static str,
    #[pyo3(get)]
    variant: String,
    /// The type that the scheme's own library decodes to.
    #[pyo3(get)]
    dtype: Option<&'static str>,
    #[pyo3(get)]
    stored_bytes: u64,
    #[pyo3(get)]
    undecodable: Option<String>,
}

impl Weight {
    pub(crate) fn new(model: Py<Model>, weight: &weighbridge::Weight) -> Self {
        Self {
            model,
            name: weight.name().to_owned(),
            shape: weight.shape().to_vec(),
            scheme: weight.scheme(),
            variant: weight.variant().to_owned(),
            dtype: weight.native().map(DType::name),
            stored_bytes: weight.stored_bytes(),
            undecodable: weight.undecodable(),
        }
    }

    fn get(&self) -> Result<weighbridge::Weight, Error> {
        let named = |error: Error| error.in_tensor(&self.name);
        self.handle().get().map_err(named)?.weight(&self.name)
    }

    fn handle(&self) -> &Handle {
        &self.model.get().handle
    }

    fn rows(&self, rows: Option<(u64, u64)>) -> std::ops::Range<u64> {
        let (start, end) = rows.unwrap_or((0, self.shape.first().copied().unwrap_or(1)));
        start..end
    }

    fn read(
        &self,
        py: Python<'_>,
        dtype: DType,
        rows: Option<(u64, u64)>,
        out: &mut [u8],
    ) -> PyResult<()> {
        let rows = self.rows(rows);
        let job = |work: &Work, out: &mut [u8]| {
            let request = ReadInto::new(self.get()?, dtype, out).rows(rows);
            ops::read(vec![request], work)
        };
        if out.len() <= SHORT && !self.handle().is_far {
            briefly(py, || job(&Work::new(), out))
        } else {
            patiently(py, None, |work| job(work, out))
        }
    }
}

/// The type of that name.
pub(crate) fn dtype_of(py: Python<'_>, name: &str) -> PyResult<DType> {
    let unknown = || errors::usage(py, &format!("unknown type {name}"), None);
    DType::from_name(name).ok_or_else(unknown)
}

#[pymethods]
impl Weight {
    /// A file object may refer back to the weights of the model that reads it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.model)
    }

    /// The stored tensors that encode it.
    fn parts(&self, py: Python<'_>) -> PyResult<Vec<Part>> {
        briefly(py, || {
            let weight = self.get()?;
            let part = |(role, source, info): (
                _,
                &weighbridge::Source,
                &weighbridge::catalog::TensorInfo,
            )| {
                let file = source.input().name().as_os_str().to_owned();
                let (name, stored) = (info.name.to_string(), info.stored.name().to_owned());
                (name, role, stored, info.shape.to_vec(), file, info.file_offset(), info.bytes)
            };
            Ok(weight.parts().map(part).collect())
        })
    }

    /// Decodes some rows, or all, into the caller's memory.
    fn read_into(
        &self,
        py: Python<'_>,
        dtype: &str,
        rows: Option<(u64, u64)>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let mut out = Writable::new(out)?;
        let dtype = dtype_of(py, dtype)?;
        self.read(py, dtype, rows, out.bytes())
    }

    /// Decodes some rows, or all, into new memory.
    fn tensor(&self, py: Python<'_>, dtype: &str, rows: Option<(u64, u64)>) -> PyResult<Tensor> {
        let dtype = dtype_of(py, dtype)?;
        let mut shape = self.shape.clone();
        if let (Some((start, end)), Some(first)) = (rows, shape.first_mut()) {
            *first = end.saturating_sub(start);
        }
        Tensor::filled(py, dtype, shape, |out| self.read(py, dtype, rows, out))
    }

    /// Its bytes in place, if it is plain and its file is mapped or in memory.
    fn view(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        let checked = || {
            let weight = self.get()?;
            ops::refuse_unreadable(weight.model(), &[weight.name()])?;
            Ok(weight)
        };
        let weight = briefly_if_near(py, self.handle().is_far, checked)?;
        let dtype = self.dtype.and_then(DType::from_name);
        Ok(dtype.and_then(|dtype| Tensor::lent(weight, dtype, self.shape.clone())))
    }

    /// The raw bytes of one stored tensor.
    fn stored(&self, py: Python<'_>, part: usize) -> PyResult<Vec<u8>> {
        briefly_if_near(py, self.handle().is_far, || {
            let weight = self.get()?;
            let mut parts = weight.parts();
            let (_, source, info) =
                parts.nth(part).ok_or_else(|| Error::usage("the weight has no such part"))?;
            let (slab, mut scratch) = (Slab::whole(0, 0, info.bytes), Vec::new());
            Ok(source.fetch(info, &slab, &mut scratch)?.bytes().to_vec())
        })
    }
}

/// Reads several weights in parallel into the caller's memory: name, type, memory.
#[pyfunction]
#[pyo3(signature = (model, requests, progress=None))]
pub(crate) fn read_many(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    requests: Vec<(String, String, Bound<'_, PyAny>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let mut wanted = Vec::with_capacity(requests.len());
    for (name, dtype, out) in &requests {
        wanted.push((name, dtype_of(py, dtype)?, Writable::new(out)?));
    }
    let handle = &model.get().handle;
    let total: usize = wanted.iter().map(|(_, _, out)| out.len()).sum();
    let mut job = |work: &Work| {
        let model = handle.get()?;
        ops::refuse_unreadable(&model, &[])?; // There may be no weight to ask about.
        let requests = wanted
            .iter_mut()
            .map(|(name, dtype, out)| Ok(ReadInto::new(model.weight(name)?, *dtype, out.bytes())));
        ops::read(requests.collect::<Result<_, Error>>()?, work)
    };
    if total <= SHORT && progress.is_none() && !handle.is_far {
        briefly(py, || job(&Work::new()))
    } else {
        patiently(py, progress, job)
    }
}
