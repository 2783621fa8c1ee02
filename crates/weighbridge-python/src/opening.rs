//! How models are opened, from dictionaries of Python.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use weighbridge::{FileAccess, Limits, OpenOptions, Remote};

use crate::errors;
use crate::options::{Rules, expression, unknown};

/// How a model is opened.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OpenWishes {
    mmap: bool,
    #[pyo3(default)]
    root: Option<String>,
    #[pyo3(default)]
    strict_pickle: bool,
    #[pyo3(default)]
    scheme: Rules,
    #[pyo3(default)]
    limits: BTreeMap<String, u64>,
    #[pyo3(default)]
    allow_http: bool,
    #[pyo3(default)]
    ca_file: Option<PathBuf>,
    #[pyo3(default)]
    timeout: Option<f64>,
    #[pyo3(default)]
    retries: Option<u32>,
}

impl OpenWishes {
    pub(crate) fn options(&self, py: Python<'_>) -> PyResult<OpenOptions> {
        let access = if self.mmap { FileAccess::Map } else { FileAccess::Read };
        let mut options = OpenOptions::new()
            .access(access)
            .limits(self.limits(py)?)
            .strict_pickle(self.strict_pickle)
            .remote(self.remote(py)?);
        for (text, says) in &self.scheme {
            let matches = expression(py, text)?;
            options = options.scheme(move |name| matches.is_match(name), says);
        }
        Ok(match &self.root {
            Some(key) => options.root(key),
            None => options,
        })
    }

    /// How files elsewhere are reached.
    fn remote(&self, py: Python<'_>) -> PyResult<Remote> {
        let mut remote = Remote::default();
        remote.allow_http = self.allow_http;
        remote.ca_file = self.ca_file.clone();
        if let Some(seconds) = self.timeout {
            let wrong = |_| errors::usage(py, &format!("timeout {seconds} is no time"), None);
            remote.timeout = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        }
        remote.retries = self.retries.unwrap_or(remote.retries);
        Ok(remote)
    }

    fn limits(&self, py: Python<'_>) -> PyResult<Limits> {
        self.limits.iter().try_fold(Limits::default(), |limits, (name, &value)| {
            Ok(match &**name {
                "max_allocation" => limits.max_allocation(value),
                "max_total" => limits.max_total(value),
                "max_items" => limits.max_items(value),
                "max_depth" => limits.max_depth(u32::try_from(value)?),
                "max_ratio" => limits.max_ratio(value),
                "max_pickle_steps" => limits.max_pickle_steps(value),
                _ => {
                    let known = "max_allocation, max_total, max_items, max_depth, max_ratio, max_pickle_steps";
                    return Err(unknown(py, "the limit", name, known));
                }
            })
        })
    }
}
