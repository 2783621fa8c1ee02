//! Recomputes every weight of a model, and compares an output with it, bit for bit.
//!
//! The output is checked against the plan of the conversion that it is said to come from: the same
//! names, shapes and types, and in one pass the same bytes. Of a decoded weight, a NaN is as good
//! as another: its sign and payload depend on the machine.

use std::collections::HashMap;

use serde::Serialize;

use super::compared::{Compared, Difference, number};
use super::convert::planned;
use super::convert_options::ConvertOptions;
use crate::catalog::{TensorInfo, Value};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::{self, Job, OutputTensor, Place, Plan, Pool, Target};
use crate::source::Source;

/// How an output compares with its source. The field names are the JSON contract.
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
    /// The first element that differs; none where the type or the shape does.
    pub first_index: Option<u64>,
    pub expected: String,
    pub found: String,
    pub count: u64,
}

/// Compares `output` with what converting `model` with these options gives. The name of the
/// output in the options counts for its format only.
pub fn verify(output: &Model, model: &Model, options: &ConvertOptions) -> Result<VerifyReport> {
    let to = options.to.as_deref().or(Some(output.format()));
    let target = Target::of(&options.target, to, None)?;
    if target.writer.format() != output.format() {
        return Err(Error::usage(format!(
            "is a {} file, {} was to be compared",
            output.format(),
            target.writer.format()
        ))
        .in_file(output.path()));
    }
    let (plan, _) = planned(model, options, &target, target.place == Place::Stream)?;
    model.will_need_all();
    output.will_need_all();
    let report = compare(output, &plan, options)?;
    model.refuse_changed()?;
    output.refuse_changed()?;
    Ok(report)
}

/// The same for what [`dequantize`](super::dequantize) gives.
pub fn verify_dequantized(
    output: &Model,
    model: &Model,
    options: &ConvertOptions,
) -> Result<VerifyReport> {
    verify(output, model, &options.clone().dequantizing())
}

type Stored<'m> = (&'m Source, &'m TensorInfo);

fn compare(output: &Model, plan: &Plan, options: &ConvertOptions) -> Result<VerifyReport> {
    let mut stored = stored_by_name(output);
    // An array that stands alone has the name of its file.
    let is_alone = output.sources().iter().any(|source| !source.names_tensors());
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
    let tell = options.work.teller(total);
    for file in &plan.files {
        let mut checks = Vec::new();
        for job in &file.jobs {
            let start = checks.len();
            for tensor in &job.outputs {
                let found = match is_alone {
                    true => stored.drain().next().map(|(_, found)| found),
                    false => stored.remove(&*tensor.name),
                };
                checks.push((job, tensor, report.alike(tensor, job, found)));
            }
            // Nothing to compare with: it need not be made.
            if checks[start..].iter().all(|(.., found)| found.is_none()) {
                checks.truncate(start);
            }
        }
        let pool = options.work.pool(plan.memory.workers, &tell);
        before += values(&checks, &Pool { done_before: before, ..pool }, &mut report)?;
    }
    for tie in &plan.ties {
        match stored.contains_key(&*tie.name) || !is_noted(output, &tie.name, &tie.to) {
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

/// Whether the output says that a name stands for another.
fn is_noted(output: &Model, name: &str, to: &str) -> bool {
    let says = |value: &Value| value.as_str() == Some(to);
    output.sources().iter().any(|source| source.catalog().metadata.get(name).is_some_and(says))
}

impl VerifyReport {
    /// What stands in the place of a tensor, if it has the planned type and shape; notes it
    /// otherwise.
    fn alike<'m>(
        &mut self,
        tensor: &OutputTensor,
        job: &Job,
        found: Option<Stored<'m>>,
    ) -> Option<Stored<'m>> {
        let Some((source, info)) = found else {
            self.missing.push(tensor.name.clone());
            return None;
        };
        match unlike(tensor, job.elements(), info) {
            Some(mismatch) => {
                self.mismatched.push(mismatch);
                None
            }
            None => Some((source, info)),
        }
    }
}

/// What a tensor is, if it is not what was planned.
fn unlike(tensor: &OutputTensor, elements: u64, info: &TensorInfo) -> Option<Mismatch> {
    let described = |stored: &StoredType, shape: &[u64]| format!("{} {shape:?}", stored.name());
    // Some formats have no scalars: one of them is an array of one.
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

/// Compares the numbers of the tensors that are what they should be otherwise; gives the bytes of
/// all that were made for it.
fn values(
    checks: &[(&Job, &OutputTensor, Option<Stored<'_>>)],
    pool: &Pool<'_>,
    report: &mut VerifyReport,
) -> Result<u64> {
    let compared = Compared::new(checks.iter().copied());
    let mut jobs: Vec<&Job> = checks.iter().map(|(job, ..)| *job).collect();
    // The tensors of a job stand together.
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

/// A number as itself, anything else as its bytes.
fn shown(dtype: Option<DType>, bytes: &[u8]) -> String {
    match dtype.and_then(|dtype| number(dtype, bytes)) {
        Some(number) => number.to_string(),
        None => {
            let bytes: Vec<_> = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            format!("bytes {}", bytes.join(" "))
        }
    }
}
