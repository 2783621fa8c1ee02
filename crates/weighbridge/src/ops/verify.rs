//! Recomputes every weight of a model, and compares an output with it, bit for bit.
//!
//! The output is checked against the plan of the conversion that made it: the same names, shapes
//! and types, and in one pass the same bytes. In decoded weights any NaN equals any other: sign and
//! payload depend on the machine.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use super::compared::{Compared, Difference, number};
use super::convert::planned;
use super::convert_options::ConvertOptions;
use crate::catalog::{TensorInfo, Value};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::input::FileAccess;
use crate::model::{Model, OpenOptions};
use crate::pipeline::{self, Job, OutputTensor, Plan, Pool, Target};
use crate::source::Source;

/// The result of verifying an output. The field names are the JSON contract.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)] // Each field is described in the guide's JSON section.
pub struct VerifyReport {
    pub ok: bool,
    pub checked: u64,
    pub mismatched: Vec<Mismatch>,
    pub missing: Vec<String>,
    pub extra: Vec<String>,
    pub overflowed: u64,
    pub tied: u64,
    pub bytes: u64,
}

/// A tensor that is not what it should be.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct Mismatch {
    pub name: String,
    /// The first element that differs; `None` if the type or the shape does.
    pub first_index: Option<u64>,
    pub expected: String,
    pub found: String,
    pub count: u64,
}

/// Compares `output` with the result of converting `model` with these options. Only the format of
/// the target in the options counts.
pub fn verify(output: &Model, model: &Model, options: &ConvertOptions) -> Result<VerifyReport> {
    let to = options.to.as_deref().or(Some(output.format()));
    let target = Target::of(&options.target, to, None)?;
    if target.writer.format() != output.format() {
        return Err(Error::usage(format!(
            "is a {} file, but the options ask for {}",
            output.format(),
            target.writer.format()
        ))
        .in_file(output.path()));
    }
    let (plan, _) = planned(model, options, &target, target.is_streamed())?;
    model.will_need_all();
    output.will_need_all();
    let report = compare(output, &plan, options)?;
    model.refuse_changed()?;
    output.refuse_changed()?;
    Ok(report)
}

/// Compares `output` with the result of [`dequantize`](super::dequantize).
pub fn verify_dequantized(
    output: &Model,
    model: &Model,
    options: &ConvertOptions,
) -> Result<VerifyReport> {
    verify(output, model, &options.clone().dequantizing())
}

/// Compares what a conversion has written, and not yet named, with its plan.
pub(super) fn verify_planned(
    output: &Path,
    plan: &Plan,
    options: &ConvertOptions,
) -> Result<VerifyReport> {
    let output = OpenOptions::new().access(FileAccess::Read).open(output)?;
    output.will_need_all();
    // Progress was that of writing, and is at its end.
    let mut options = options.clone();
    options.work.progress = None;
    let report = compare(&output, plan, &options)?;
    output.refuse_changed()?;
    Ok(report)
}

type Stored<'m> = (&'m Source, &'m TensorInfo);

fn compare(output: &Model, plan: &Plan, options: &ConvertOptions) -> Result<VerifyReport> {
    let mut stored = stored_by_name(output);
    // A file with a single unnamed array: the array is called like the file.
    let is_unnamed = output.sources().iter().any(|source| !source.names_tensors());
    let mut report = VerifyReport {
        ok: false,
        checked: 0,
        mismatched: Vec::new(),
        missing: Vec::new(),
        extra: Vec::new(),
        overflowed: 0,
        tied: 0,
        bytes: 0,
    };
    let (mut before, total) = (0, plan.data_bytes());
    let report_progress = options.work.reporter(total);
    for file in &plan.files {
        let mut checks = Vec::new();
        for job in &file.jobs {
            let start = checks.len();
            for tensor in &job.outputs {
                let found = match is_unnamed {
                    true => stored.drain().next().map(|(_, found)| found),
                    false => stored.remove(&*tensor.name),
                };
                checks.push((job, tensor, report.check_header(tensor, job, found)));
            }
            // Nothing to compare with, so it need not be computed.
            if checks[start..].iter().all(|(.., found)| found.is_none()) {
                checks.truncate(start);
            }
        }
        let pool = options.work.pool(plan.memory.workers, &report_progress);
        before += check_values(&checks, &Pool { done_before: before, ..pool }, &mut report)?;
    }
    for tie in &plan.ties {
        match stored.contains_key(&*tie.name) || !is_tied(output, &tie.name, &tie.to) {
            true => report.missing.push(tie.name.clone()),
            false => report.tied += 1,
        }
    }
    let mut extra: Vec<_> = stored.into_keys().map(str::to_owned).collect();
    extra.sort_unstable();
    report.extra = extra;
    report.ok =
        report.mismatched.is_empty() && report.missing.is_empty() && report.extra.is_empty();
    Ok(report)
}

fn stored_by_name(output: &Model) -> HashMap<&str, Stored<'_>> {
    let of = |source| Source::catalog(source).tensors.iter().map(move |info| (source, info));
    let all = output.sources().iter().flat_map(of);
    all.map(|(source, info)| (&*info.name, (source, info))).collect()
}

/// Whether the output's metadata says that `name` is tied to `to`.
fn is_tied(output: &Model, name: &str, to: &str) -> bool {
    let says = |value: &Value| value.as_str() == Some(to);
    output.sources().iter().any(|source| source.catalog().metadata.get(name).is_some_and(says))
}

impl VerifyReport {
    /// The tensor that was found, if it has the planned type and shape; reports it otherwise.
    fn check_header<'m>(
        &mut self,
        tensor: &OutputTensor,
        job: &Job,
        found: Option<Stored<'m>>,
    ) -> Option<Stored<'m>> {
        let Some((source, info)) = found else {
            self.missing.push(tensor.name.clone());
            return None;
        };
        match header_mismatch(tensor, job.elements(), info) {
            Some(mismatch) => {
                self.mismatched.push(mismatch);
                None
            }
            None => Some((source, info)),
        }
    }
}

/// The mismatch, if a tensor does not have the planned type and shape.
fn header_mismatch(tensor: &OutputTensor, elements: u64, info: &TensorInfo) -> Option<Mismatch> {
    let described = |stored: &StoredType, shape: &[u64]| format!("{} {shape:?}", stored.name());
    // Some formats have no scalars, and store one as an array of one element.
    let same_shape = info.shape == tensor.shape || tensor.shape.is_empty() && *info.shape == [1];
    if info.stored == tensor.stored && same_shape {
        return None;
    }
    Some(Mismatch {
        name: tensor.name.clone(),
        first_index: None,
        expected: described(&tensor.stored, &tensor.shape),
        found: described(&info.stored, &info.shape),
        count: elements,
    })
}

/// Compares the numbers of tensors whose headers match; gives the bytes that were computed.
fn check_values(
    checks: &[(&Job, &OutputTensor, Option<Stored<'_>>)],
    pool: &Pool<'_>,
    report: &mut VerifyReport,
) -> Result<u64> {
    let compared = Compared::new(checks.iter().copied());
    let mut jobs: Vec<&Job> = checks.iter().map(|(job, ..)| *job).collect();
    // The tensors of a job follow each other.
    jobs.dedup_by_key(|job| std::ptr::from_ref(*job));
    report.overflowed += pipeline::run(jobs.iter().copied(), &compared, pool)?;
    for ((_, tensor, found), difference) in checks.iter().zip(compared.differences()) {
        if found.is_some() {
            report.checked += 1;
            report.bytes += tensor.bytes;
        }
        report.mismatched.extend(mismatch(tensor, difference));
    }
    Ok(jobs.iter().map(|job| job.bytes()).sum())
}

fn mismatch(tensor: &OutputTensor, difference: Difference) -> Option<Mismatch> {
    let (index, expected, found) = difference.first?;
    let dtype = tensor.stored.element();
    Some(Mismatch {
        name: tensor.name.clone(),
        first_index: Some(index),
        expected: shown(dtype, &expected),
        found: shown(dtype, &found),
        count: difference.count,
    })
}

/// A number in decimal, anything else as bytes in hex.
fn shown(dtype: Option<DType>, bytes: &[u8]) -> String {
    match dtype.and_then(|dtype| number(dtype, bytes)) {
        Some(number) => number.to_string(),
        None => {
            let bytes: Vec<_> = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            format!("bytes {}", bytes.join(" "))
        }
    }
}
