//! Models: opening them, their reports and their metadata.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::UNIX_EPOCH;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pyo3::{PyTraverseError, PyVisit};
use weighbridge::ops::{self, InspectOptions};
use weighbridge::{Error, OpenOptions};

use crate::buffer::Readable;
use crate::errors;
use crate::exit;
use crate::file_object::{FileObject, Shared};
use crate::options::{Asked, select};
use crate::run::{briefly, briefly_if_near};
use crate::values;
use crate::weight::Weight;

/// A model until it is closed. Readers clone the model, so closing does not wait for them.
pub(crate) struct Handle {
    model: RwLock<Option<weighbridge::Model>>,
    /// Whether reads go over a network.
    pub(crate) is_far: bool,
    /// The file object that it reads, if it was opened from one.
    object: Option<Arc<Shared>>,
}

impl Handle {
    /// The model; an error if it was closed.
    pub(crate) fn get(&self) -> Result<weighbridge::Model, Error> {
        let held = self.model.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        held.clone().ok_or_else(|| Error::usage("the model is closed"))
    }
}

/// An opened model.
#[pyclass(frozen, module = "weighbridge._weighbridge")]
pub(crate) struct Model {
    pub(crate) handle: Handle,
    path: OsString,
    files: Vec<FileState>,
    metadata: OnceLock<HashMap<String, (usize, usize)>>,
}

/// A file: path, size, modification time, and remote version.
type FileState = (OsString, u64, Option<u128>, Option<String>);

impl Model {
    pub(crate) fn new(model: weighbridge::Model) -> Self {
        Self::reading(model, None)
    }

    fn reading(model: weighbridge::Model, object: Option<Arc<Shared>>) -> Self {
        let path = model.path().as_os_str().to_owned();
        let files = model.sources().iter().map(|source| state_of(&model, source)).collect();
        let is_far = model.has_latency();
        let handle = Handle { model: RwLock::new(Some(model)), is_far, object };
        Self { handle, path, files, metadata: OnceLock::new() }
    }

    /// Runs a short job with the model.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&weighbridge::Model) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        briefly(py, || job(&self.handle.get()?))
    }
}

#[pymethods]
impl Model {
    #[getter]
    fn path(&self) -> OsString {
        self.path.clone()
    }

    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |model| Ok(model.format()))
    }

    #[getter]
    fn closed(&self) -> bool {
        self.handle.get().is_err()
    }

    /// Ends reading. Memory that was lent stays valid.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        exit::detached(py, || {
            // Dropping a model may wait for the interpreter lock, whose holder may wait for this lock.
            // So the lock is released first.
            let taken =
                self.handle.model.write().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            drop(taken);
        })
    }

    /// The number of weights.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |model| Ok(model.weights().len()))
    }

    /// The names of the weights, in file order.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |model| Ok(model.weights().map(|weight| weight.name().to_owned()).collect()))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.with(py, |model| Ok(model.weight(name).is_ok()))
    }

    /// The weight of that name.
    fn weight(slf: &Bound<'_, Self>, name: &str) -> PyResult<Weight> {
        let py = slf.py();
        let model = slf.get().handle.get().map_err(|error| errors::exception(py, &error))?;
        match model.weight(name) {
            Ok(weight) => Ok(Weight::new(slf.clone().unbind(), &weight)),
            Err(missing) => {
                let error = exit::detached(py, || with_close_names(&model, name, missing))?;
                Err(errors::no_such_tensor(py, &error))
            }
        }
    }

    /// The report of `weigh inspect --json`.
    #[pyo3(signature = (tensors, full_metadata, include, exclude))]
    fn report(
        &self,
        py: Python<'_>,
        tensors: bool,
        full_metadata: bool,
        include: Vec<String>,
        exclude: Vec<String>,
    ) -> PyResult<String> {
        let select = select(py, &include, &exclude)?;
        briefly_if_near(py, self.handle.is_far, || {
            let model = self.handle.get()?;
            let report = ops::inspect(&model, &InspectOptions { tensors, full_metadata, select })?;
            weigh::report_text(report).map_err(|error| Error::io(error, "cannot write JSON"))
        })
    }

    /// The keys of its metadata.
    fn metadata_keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |model| {
            Ok(model.metadata().into_iter().map(|(key, ..)| key.to_owned()).collect())
        })
    }

    /// The value of one of those keys. Arrays are read now.
    fn metadata_value<'py>(
        &self,
        py: Python<'py>,
        key: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let model = self.handle.get().map_err(|error| errors::exception(py, &error))?;
        let places = self.metadata.get_or_init(|| metadata_places(&model));
        let Some(&(file, entry)) = places.get(key) else { return Ok(None) };
        let source = &model.sources()[file];
        let value = source.catalog().metadata.entry(entry);
        let is_far = self.handle.is_far;
        value.map(|(_, value)| values::of(py, value, source, is_far)).transpose()
    }

    /// A file object may refer back to the model that reads it.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.handle.object.as_ref().map_or(Ok(()), |object| object.traverse(&visit))
    }

    fn __clear__(&self) {
        if let Some(object) = &self.handle.object {
            object.clear();
        }
    }

    /// Its files as they were when the model was opened: path, size, modification time in
    /// nanoseconds (`None` for files that are not local), and remote version.
    #[getter]
    fn files(&self) -> Vec<FileState> {
        self.files.clone()
    }
}

/// The error for a missing weight, with the names that may be meant.
fn with_close_names(model: &weighbridge::Model, name: &str, missing: Error) -> Error {
    let hint = match model.find(name) {
        Ok(weight) => format!("did you mean {}?", weight.name()),
        Err(error) if error.message() == missing.message() => return error,
        // Several names end with it, and the message lists them.
        Err(error) => format!("use a full name: {}", error.message()),
    };
    Error::usage(missing.message()).in_tensor(name).in_file(model.path()).hint(hint)
}

/// The file and entry of each metadata key. The first file wins.
fn metadata_places(model: &weighbridge::Model) -> HashMap<String, (usize, usize)> {
    let mut places = HashMap::new();
    for (file, source) in model.sources().iter().enumerate() {
        for (entry, (key, _)) in source.catalog().metadata.iter().enumerate() {
            places.entry(key.to_owned()).or_insert((file, entry));
        }
    }
    places
}

fn state_of(model: &weighbridge::Model, source: &weighbridge::Source) -> FileState {
    let path = source.input().name();
    let changed = std::fs::metadata(path).and_then(|about| about.modified()).ok();
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed = changed.map(|time| time.as_nanos());
    (path.as_os_str().to_owned(), source.file_bytes(), changed, model.version_of(source))
}

/// Whether a path looks like an address.
fn is_far(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.contains("://"))
}

/// Opens a path, a name or an address.
#[pyfunction]
pub(crate) fn open_path(py: Python<'_>, path: PathBuf, asked: Asked<'_>) -> PyResult<Model> {
    let options = asked.opening()?;
    briefly_if_near(py, is_far(&path), || options.open(path)).map(Model::new)
}

/// Opens every model in a place.
#[pyfunction]
pub(crate) fn open_paths(py: Python<'_>, path: PathBuf, asked: Asked<'_>) -> PyResult<Vec<Model>> {
    let options = asked.opening()?;
    let models = briefly_if_near(py, is_far(&path), || options.open_all(path))?;
    Ok(models.into_iter().map(Model::new).collect())
}

/// Opens the components of a pipeline; `None` if it is not one.
#[pyfunction]
pub(crate) fn open_pipeline(
    py: Python<'_>,
    path: PathBuf,
    asked: Asked<'_>,
) -> PyResult<Option<Vec<Model>>> {
    let options = asked.opening()?;
    let models = briefly_if_near(py, is_far(&path), || {
        if path.is_dir() || !path.exists() { options.open_pipeline(path) } else { Ok(None) }
    })?;
    Ok(models.map(|models| models.into_iter().map(Model::new).collect()))
}

/// Opens bytes. A `bytes` object is immutable, so it is not copied.
#[pyfunction]
pub(crate) fn open_buffer(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    name: &str,
    asked: Asked<'_>,
) -> PyResult<Model> {
    let options = asked.opening()?;
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let bytes = PyBackedBytes::from(bytes.clone());
        return briefly(py, || options.open_bytes(bytes, name)).map(Model::new);
    }
    let source = Arc::new(Readable::new(object)?);
    briefly(py, || options.open_read_at(source, name)).map(Model::new)
}

/// Opens an object with `read` and `seek`.
#[pyfunction]
pub(crate) fn open_file_object(
    py: Python<'_>,
    object: Py<PyAny>,
    name: &str,
    asked: Asked<'_>,
) -> PyResult<Model> {
    let options = asked.opening()?;
    let object = Arc::new(Shared::new(object));
    let file = FileObject(object.clone());
    let model = briefly(py, || options.open_reader(file, name))?;
    Ok(Model::reading(model, Some(object)))
}

/// Opens a file by a duplicate of its descriptor.
#[pyfunction]
#[allow(unsafe_code)]
pub(crate) fn open_descriptor(
    py: Python<'_>,
    descriptor: i32,
    name: &str,
    asked: Asked<'_>,
) -> PyResult<Model> {
    #[cfg(unix)]
    {
        let options: OpenOptions = asked.opening()?;
        let failed = |error| Error::io(error, "cannot open").in_file(Path::new(name));
        // SAFETY: the caller holds the file object whose descriptor this is until the call returns.
        let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
        let file = borrowed.try_clone_to_owned().map_err(failed);
        let file = file.map_err(|error| errors::exception(py, &error))?;
        briefly(py, || {
            let file = crate::file_object::OpenFile::new(file.into()).map_err(failed)?;
            options.open_read_at(Arc::new(file), name)
        })
        .map(Model::new)
    }
    #[cfg(not(unix))]
    {
        let _ = (descriptor, name, asked);
        Err(errors::usage(py, "opening files by descriptor is not supported on this system", None))
    }
}
