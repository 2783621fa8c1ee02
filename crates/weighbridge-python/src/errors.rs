//! Library errors as Python exceptions.

use std::any::Any;
use std::error::Error as _;
use std::io;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use weighbridge::{Error, ErrorKind};

use crate::remedy;

/// The Python function that creates exceptions, imported once.
fn maker<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("weighbridge._errors")?.getattr("make")?.unbind())
    })?;
    Ok(make.bind(py).clone())
}

/// The exception for a library error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    named(py, error, error.kind().name())
}

/// The exception for a missing weight, a `NoSuchTensorError`.
pub(crate) fn no_such_tensor(py: Python<'_>, error: &Error) -> PyErr {
    match error.kind() {
        ErrorKind::Usage => named(py, error, "no-such-tensor"),
        _ => exception(py, error),
    }
}

fn named(py: Python<'_>, error: &Error, kind: &str) -> PyErr {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    // An exception of a Python file object is raised again unchanged.
    if let Some(raised) =
        source.and_then(io::Error::get_ref).and_then(|e| e.downcast_ref::<PyErr>())
    {
        return raised.clone_ref(py);
    }
    let details = (
        kind,
        error.to_string(),
        error.message(),
        error.path().map(|path| path.as_os_str().to_owned()),
        error.tensor(),
        error.offset(),
        remedy::hint(error),
        source.and_then(number_of),
    );
    made(py, details)
}

/// The errno of an error. Some errors do not come from the system, but Python selects the exception
/// class by errno.
fn number_of(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or(match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::AlreadyExists => Some(17),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        _ => None,
    })
}

/// The exception for an invalid call that only this crate can detect.
pub(crate) fn usage(py: Python<'_>, message: &str, hint: Option<&str>) -> PyErr {
    let details =
        ("usage", message, message, None::<&str>, None::<&str>, None::<u64>, hint, None::<i32>);
    made(py, details)
}

/// The exception for a panic, which is a bug in weighbridge.
pub(crate) fn panicked(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let message = format!("internal error, please report it with the file: {said}");
    let details = (
        "internal",
        &*message,
        &*message,
        None::<&str>,
        None::<&str>,
        None::<u64>,
        None::<&str>,
        None::<i32>,
    );
    made(py, details)
}

fn made<'py>(py: Python<'py>, details: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    match maker(py).and_then(|make| make.call1(details)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
