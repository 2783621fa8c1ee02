//! The command `weigh`, run by its console script.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::exit;

/// Runs the command and returns its exit code. The first argument is the command's name.
#[pyfunction]
pub(crate) fn cli(py: Python<'_>, args: Vec<OsString>) -> PyResult<u8> {
    exit::detached(py, || weigh::run(args))
}
