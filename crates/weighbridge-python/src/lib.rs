//! The native part of the Python package `weighbridge`: opening models, reading weights into the
//! caller's memory, the verbs, and the command. The public API is annotated Python on top of it.

// pyo3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod buffer;
mod cli;
mod dlpack;
mod errors;
mod exit;
mod file_object;
mod model;
mod opening;
mod options;
mod remedy;
mod run;
mod tensor;
mod values;
mod verbs;
mod weight;

/// The native module.
#[pyo3::pymodule]
mod _weighbridge {
    #[pymodule_export]
    use crate::arrays::open_arrays;
    #[pymodule_export]
    use crate::cli::cli;
    #[pymodule_export]
    use crate::model::{
        Model, open_buffer, open_descriptor, open_file_object, open_path, open_paths, open_pipeline,
    };
    #[pymodule_export]
    use crate::opening::schemes;
    #[pymodule_export]
    use crate::tensor::Tensor;
    #[pymodule_export]
    use crate::verbs::{
        convert, dequantize, diff, families, hash, quantize, quantizers, show, stats, verify,
    };
    #[pymodule_export]
    use crate::weight::{Weight, read_many};

    /// The exit of the interpreter waits for threads that are inside.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::exit::register(module.py())
    }

    /// The version of the library and the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
