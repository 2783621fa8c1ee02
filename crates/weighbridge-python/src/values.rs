//! Metadata values as Python objects.

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use weighbridge::Source;
use weighbridge::catalog::Value;

use crate::run::briefly_if_near;

/// A value as a Python object. Arrays that are still in the file are read now.
pub(crate) fn of<'py>(
    py: Python<'py>,
    value: &Value,
    source: &Source,
    is_far: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let list = |values: &[Value]| {
        let values = values.iter().map(|value| of(py, value, source, is_far));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
    };
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Unsigned(_, value) => value.into_bound_py_any(py),
        Value::Signed(_, value) => value.into_bound_py_any(py),
        Value::F32(value) => value.into_bound_py_any(py),
        Value::F64(value) => value.into_bound_py_any(py),
        Value::Text(text) => (&**text).into_bound_py_any(py),
        Value::RawText(bytes) => PyBytes::new(py, bytes).into_bound_py_any(py),
        Value::List(values) => list(values),
        Value::Packed(packed) => list(&packed.values().collect::<Vec<_>>()),
        Value::Map(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(&**key, of(py, value, source, is_far)?)?;
            }
            dict.into_bound_py_any(py)
        }
        Value::Array(array) => list(&briefly_if_near(py, is_far, || source.array(array))?),
    }
}
