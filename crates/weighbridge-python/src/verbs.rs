//! The verbs. Each returns the JSON report of the command as text.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Serialize;
use weighbridge::ops::{self, Figures, Window};
use weighbridge::{Error, Result};

use crate::errors;
use crate::model::Model;
use crate::options::Asked;
use crate::run::patiently;

/// The model of a handle.
fn opened(py: Python<'_>, model: &Bound<'_, Model>) -> PyResult<weighbridge::Model> {
    model.get().handle.get().map_err(|error| errors::exception(py, &error))
}

fn all_opened(py: Python<'_>, models: &[Bound<'_, Model>]) -> PyResult<Vec<weighbridge::Model>> {
    models.iter().map(|model| opened(py, model)).collect()
}

fn text(report: impl Serialize) -> Result<String> {
    weigh::report_text(report).map_err(|error| Error::io(error, "cannot write JSON"))
}

/// Converts a model.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    target: PathBuf,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let model = opened(py, model)?;
    let (options, limits) = (asked.converting(target)?, asked.limits()?);
    asked.finish()?;
    patiently(py, progress, |work| text(ops::convert(&model, &options.work(&limits(work)))?))
}

/// Dequantizes a model, or all components of a pipeline.
#[pyfunction]
pub(crate) fn dequantize(
    py: Python<'_>,
    models: Vec<Bound<'_, Model>>,
    is_pipeline: bool,
    target: PathBuf,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let models = all_opened(py, &models)?;
    let (options, limits) = (asked.converting(target)?, asked.limits()?);
    asked.finish()?;
    patiently(py, progress, |work| {
        let options = options.work(&limits(work));
        let report = match (&models[..], is_pipeline) {
            ([model], false) => ops::dequantize(model, &options)?,
            (models, _) => ops::dequantize_pipeline(models, &options)?,
        };
        text(report)
    })
}

/// Quantizes a model.
#[pyfunction]
pub(crate) fn quantize(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    target: PathBuf,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (model, how) = (opened(py, model)?, asked.quantizing()?);
    let (options, limits) = (asked.converting(target)?, asked.limits()?);
    asked.finish()?;
    patiently(py, progress, |work| text(ops::quantize(&model, &options.work(&limits(work)), &how)?))
}

/// The types that models can be quantized to, with a description of each.
#[pyfunction]
pub(crate) fn quantizers() -> Vec<(&'static str, &'static str)> {
    ops::quantizers().collect()
}

/// A report with the field for notes, which only the command fills.
#[derive(Serialize)]
struct WithNotes<T> {
    #[serde(flatten)]
    report: T,
    notes: [String; 0],
}

/// Recomputes an output from its source and compares the two.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    outputs: Vec<Bound<'_, Model>>,
    models: Vec<Bound<'_, Model>>,
    is_pipeline: bool,
    dequantized: bool,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (outputs, models) = (all_opened(py, &outputs)?, all_opened(py, &models)?);
    let is_moved = asked.has("to_layout")?;
    let target = outputs.first().map(|output| output.path().to_owned()).unwrap_or_default();
    let (options, limits) = (asked.converting(target)?, asked.limits()?);
    let how = if asked.is_quantized()? { Some(asked.quantizing()?) } else { None };
    if let Some(name) = asked.rest()? {
        let why = format!("{name} applies to quantized outputs, but no target type is given");
        let hint = "pass the type, target_bpw or target_size that the output was quantized to";
        return Err(errors::usage(py, &why, Some(hint)));
    }
    patiently(py, progress, |work| {
        let options = options.work(&limits(work));
        let report = match (&outputs[..], &models[..], how) {
            ([output], [model], Some(how)) if !is_pipeline => {
                ops::verify_quantized(output, model, &options, &how)?
            }
            ([output], [model], None) if !is_pipeline => {
                let was_decoded = dequantized || ops::was_dequantized(output, model);
                if was_decoded && !is_moved {
                    ops::verify_dequantized(output, model, &options)?
                } else {
                    ops::verify(output, model, &options)?
                }
            }
            (outputs, models, _) => ops::verify_pipeline(outputs, models, &options)?,
        };
        text(WithNotes { report, notes: [] })
    })
}

/// Compares two models.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    a: &Bound<'_, Model>,
    b: &Bound<'_, Model>,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (a, b) = (opened(py, a)?, opened(py, b)?);
    let (options, limits) = (asked.comparing()?, asked.limits()?);
    asked.finish()?;
    patiently(py, progress, |work| text(ops::diff(&a, &b, &options.work(&limits(work)))?))
}

/// Measures the values of every weight.
#[pyfunction]
pub(crate) fn stats(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let model = opened(py, model)?;
    let (options, limits) = (asked.measuring()?, asked.limits()?);
    asked.finish()?;
    patiently(py, progress, |work| text(ops::stats(&model, &options.work(&limits(work)))?))
}

/// Lists model families.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)] // Python's strings are copied.
pub(crate) fn families(py: Python<'_>, names: Vec<String>) -> PyResult<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let report = ops::families(&names).and_then(text);
    report.map_err(|error| errors::exception(py, &error))
}

/// Hashes a model.
#[pyfunction]
pub(crate) fn hash(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    asked: Asked<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let model = opened(py, model)?;
    let (options, limits) = (asked.hashing()?, asked.limits()?);
    asked.finish()?;
    patiently(py, progress, |work| text(ops::hash(&model, &options.work(&limits(work)))?))
}

/// The report of `weigh show --json`. The command keeps its own type for it; a test compares the two.
#[derive(Serialize)]
struct ShowReport<'a, V: Serialize> {
    path: String,
    name: &'a str,
    shape: &'a [u64],
    scheme: &'static str,
    variant: &'a str,
    dtype: String,
    rows: [u64; 2],
    cols: [u64; 2],
    values: V,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<Figures>,
}

/// Reads some values of one weight.
#[pyfunction]
pub(crate) fn show(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    name: &str,
    stats: bool,
    asked: Asked<'_>,
) -> PyResult<String> {
    let model = opened(py, model)?;
    let options = asked.showing()?;
    asked.finish()?;
    let weight = model.find(name).map_err(|error| errors::no_such_tensor(py, &error))?;
    patiently(py, None, |work| {
        let window = Window::of(&weight, &options)?;
        let numbers = window.numbers()?;
        let ends = |range: std::ops::Range<u64>| [range.start, range.end];
        text(ShowReport {
            path: weight.model_path().to_string_lossy().into_owned(),
            name: weight.name(),
            shape: weight.shape(),
            scheme: weight.scheme(),
            variant: weight.variant(),
            dtype: window.dtype().to_string(),
            rows: ends(window.rows()),
            cols: ends(window.columns()),
            values: numbers.nested(window.shape()),
            stats: stats.then(|| window.figures(work)).transpose()?,
        })
    })
}
