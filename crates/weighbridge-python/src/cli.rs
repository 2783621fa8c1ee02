//! The command `weigh`, run by its console script.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, of which the first is its name, and gives its exit code.
#[pyfunction]
pub(crate) fn cli(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| weigh::run(args))
}
