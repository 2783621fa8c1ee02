//! Recomputes every weight of a model, and compares an output with it, bit for bit.
//!
//! The output is checked against the plan of the conversion that made it: the same names, shapes
//! and types, and in one pass the same bytes. In decoded weights any NaN equals any other: sign and
//! payload depend on the machine.

use std::collections::HashMap;
use std::path::Path;
use std::slice::from_ref;

use super::values::Verb;
use super::{
    Conversion, ConvertOptions, Mmproj, Models, Output, Part, QuantizeOptions, elsewhere, split,
};
use crate::catalog::Value;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Remedy, Result};
use crate::input::FileAccess;
use crate::model::Model;
use crate::ops::reports::reports;
use crate::ops::{Dropped, Work};
use crate::pipeline::{self, ExtraFile, Job, OutputTensor, Pool, Target};
use crate::source::Source;

mod compared;
mod files;

use compared::{Check, Compared, Difference, Stored, number};
pub use files::{WrongFile, was_dequantized};
use files::{wrong_files, wrong_index, wrong_metadata};

reports! {
    /// The result of verifying an output. The field names are the JSON contract.
    #[derive(Default)]
    pub struct VerifyReport {
        pub ok: bool,
        pub checked: u64,
        pub mismatched: Vec<Mismatch>,
        pub missing: Vec<String>,
        pub extra: Vec<String>,
        pub skipped: Vec<Dropped>,
        pub files: Vec<WrongFile>,
        pub checked_files: u64,
        pub overflowed: u64,
        pub tied: u64,
        pub bytes: u64,
    }

    /// A tensor that is not what it should be.
    pub struct Mismatch {
        pub name: String,
        /// The first element that differs; `None` if the type or the shape does.
        pub first_index: Option<u64>,
        pub expected: String,
        pub found: String,
        pub count: u64,
    }
}

/// Compares `output` with the result of converting `model` with these options. Only the format of
/// the target in the options counts.
pub fn verify(output: &Model, model: &Model, options: &ConvertOptions) -> Result<VerifyReport> {
    verify_all(from_ref(output), Models::One(model), Verb::Convert, options)
}

/// Compares `output` with the result of [`dequantize`](super::dequantize), with the files beside the
/// weights.
pub fn verify_dequantized(
    output: &Model,
    model: &Model,
    options: &ConvertOptions,
) -> Result<VerifyReport> {
    verify_all(from_ref(output), Models::One(model), Verb::Dequantize, options)
}

/// Compares `output` with the result of [`quantize`](super::quantize()), with the files beside the
/// weights.
pub fn verify_quantized(
    output: &Model,
    model: &Model,
    options: &ConvertOptions,
    how: &QuantizeOptions,
) -> Result<VerifyReport> {
    let verb = Verb::Quantize(&how.clone().measure(false));
    verify_all(from_ref(output), Models::One(model), verb, options)
}

/// Compares a pipeline with the result of [`dequantize_pipeline`](super::dequantize_pipeline). Both
/// are given as [`OpenOptions::open_pipeline`](crate::OpenOptions::open_pipeline) gives them.
pub fn verify_pipeline(
    outputs: &[Model],
    models: &[Model],
    options: &ConvertOptions,
) -> Result<VerifyReport> {
    verify_all(outputs, Models::Pipeline(models), Verb::Dequantize, options)
}

/// The target in the options, in the format that the output has.
pub(super) fn target_of(output: &Model, options: &ConvertOptions) -> Result<Target> {
    let to = options.to.as_deref().or(Some(output.format()));
    let target = Target::of(&options.target, to)?;
    if target.writer.format() != output.format() {
        return Err(Error::usage(format!(
            "is a {} file, but the options ask for {}",
            output.format(),
            target.writer.format()
        ))
        .in_file(output.path()));
    }
    Ok(target)
}

/// Compares the models of an output with what becomes of others.
fn verify_all(
    outputs: &[Model],
    models: Models<'_>,
    verb: Verb<'_>,
    options: &ConvertOptions,
) -> Result<VerifyReport> {
    if options.mmproj == Mmproj::Beside {
        let message = "a projector and its model are verified one after the other";
        return Err(Error::usage(message).remedy(Remedy::ProjectorAlone));
    }
    let format = outputs.first().filter(|_| matches!(models, Models::One(_)));
    let conversion = Conversion::begin(models, verb, options, Output::Made(format))?;
    let sources = || conversion.parts.iter().map(|part| &part.model);
    sources().for_each(Model::will_need_all);
    let is_of = |output: &&Model, part: &Part| {
        part.folder.is_empty() || output.path().ends_with(&part.folder)
    };
    let found = conversion.parts.iter().map(|part| outputs.iter().find(|of| is_of(of, part)));
    let found: Vec<_> = found.collect();
    let mut report = compare_parts(&conversion.parts, &found, &options.work)?;
    if let Some(first) = outputs.first() {
        let root = first.pipeline().unwrap_or(first.path());
        report.check_files(first, root, &conversion.extra)?;
    }
    check_read(outputs.iter().chain(sources()), &options.work)?;
    report.skipped.clone_from(&conversion.report.skipped);
    report.decide();
    Ok(report)
}

/// Compares what a conversion has written, and not yet named, with its plan.
pub(super) fn written(output: &Path, conversion: &Conversion) -> Result<VerifyReport> {
    let options = &conversion.options;
    // Progress was that of writing, and is at its end.
    let work = Work { progress: None, ..options.work.clone() };
    let open = |part: &Part| {
        let path = match split::place(output, &conversion.parts, part) {
            Some(path) => &path.clone(),
            None if part.folder.is_empty() => output,
            None => &output.join(&part.folder),
        };
        let opener = elsewhere::opener(options).access(FileAccess::Read);
        opener.limits(part.model.limits().clone()).open(path)
    };
    let outputs: Vec<Model> = conversion.parts.iter().map(open).collect::<Result<_>>()?;
    let found: Vec<_> = outputs.iter().map(Some).collect();
    let mut report = compare_parts(&conversion.parts, &found, &work)?;
    check_read(outputs.iter(), &work)?;
    if let Some(last) = outputs.last() {
        report.check_files(last, output, &conversion.extra)?;
    }
    report.decide();
    Ok(report)
}

/// Compares each part of a conversion with the output that was found for it.
fn compare_parts(parts: &[Part], outputs: &[Option<&Model>], work: &Work) -> Result<VerifyReport> {
    let mut report = VerifyReport::default();
    outputs.iter().flatten().for_each(|output| output.will_need_all());
    for (part, output) in parts.iter().zip(outputs) {
        match output {
            Some(output) => compare(output, part, work, &mut report)?,
            None => {
                let tensors = part.plan.jobs().flat_map(|job| &job.outputs);
                report.missing.extend(tensors.map(|tensor| tensor.name.clone()));
            }
        }
    }
    Ok(report)
}

/// An error if what was read is not what it was, or has other checksums than it states.
fn check_read<'m>(mut models: impl Iterator<Item = &'m Model>, work: &Work) -> Result<()> {
    models.try_for_each(|read| {
        read.check_sums(&|| work.refuse_cancelled())?;
        read.refuse_changed()
    })
}

fn compare(output: &Model, part: &Part, work: &Work, report: &mut VerifyReport) -> Result<()> {
    let Part { model, plan, .. } = part;
    let mut stored = stored_by_name(output);
    // Whoever loads the output may take either of them.
    for name in output.unlike_twins()?.iter().filter_map(|finding| finding.tensor.as_deref()) {
        report.mismatched.push(Mismatch {
            name: name.to_owned(),
            first_index: None,
            expected: "the same bytes in every file".to_owned(),
            found: "different bytes in several files".to_owned(),
            count: stored.get(name).map_or(0, |(_, info)| info.elements()),
        });
    }
    // A file with a single unnamed array: the array is called like the file.
    let is_unnamed = output.sources().iter().any(|source| !source.names_tensors());
    work.grant_ahead(&[model, output], plan.memory.bytes, plan.held())?;
    let (mut before, total) = (0, plan.data_bytes());
    let report_progress = work.reporter(total);
    for file in &plan.files {
        let mut checks = Vec::new();
        for job in &file.jobs {
            let start = checks.len();
            for tensor in &job.outputs {
                let found = if is_unnamed {
                    stored.drain().next().map(|(_, found)| found)
                } else {
                    stored.remove(&*tensor.name)
                };
                checks.push((job, tensor, report.check_header(tensor, job, found)));
            }
            // Nothing to compare with, so it need not be computed.
            if checks[start..].iter().all(|(.., found)| found.is_none()) {
                checks.truncate(start);
            }
        }
        let pool = work.pool(plan.memory.workers, &report_progress);
        before += check_values(&checks, &Pool { done_before: before, ..pool }, report)?;
    }
    for tie in &plan.ties {
        if stored.contains_key(&*tie.name) || !is_tied(output, &tie.name, &tie.to) {
            report.missing.push(tie.name.clone());
        } else {
            report.tied += 1;
        }
    }
    let mut extra: Vec<_> = stored.into_keys().map(str::to_owned).collect();
    extra.sort_unstable();
    report.extra.extend(extra);
    report.files.extend(wrong_index(output)?);
    if let Some(entries) = &plan.described {
        report.files.extend(wrong_metadata(output, entries)?);
    }
    Ok(())
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
    /// Compares the files beside the weights.
    fn check_files(&mut self, of: &Model, root: &Path, expected: &[ExtraFile]) -> Result<()> {
        self.files.extend(wrong_files(&**of.folder(), root, expected)?);
        self.checked_files += expected.len() as u64;
        Ok(())
    }

    fn decide(&mut self) {
        let is_whole = self.missing.is_empty() && self.extra.is_empty();
        self.ok = is_whole && self.mismatched.is_empty() && self.files.is_empty();
    }

    /// The tensor that was found, if it has the planned type and shape; reports it otherwise.
    fn check_header<'m>(
        &mut self,
        tensor: &OutputTensor,
        job: &Job,
        found: Option<Stored<'m>>,
    ) -> Option<Stored<'m>> {
        let Some((_, info)) = found else {
            self.missing.push(tensor.name.clone());
            return None;
        };
        let described = |stored: &StoredType, shape: &[u64]| format!("{} {shape:?}", stored.name());
        // Some formats have no scalars, and store one as an array of one element.
        let is_scalar = || tensor.shape.is_empty() && *info.shape == [1];
        if info.stored == tensor.stored && (info.shape == tensor.shape || is_scalar()) {
            return found;
        }
        self.mismatched.push(Mismatch {
            name: tensor.name.clone(),
            first_index: None,
            expected: described(&tensor.stored, &tensor.shape),
            found: described(&info.stored, &info.shape),
            count: job.elements(),
        });
        None
    }
}

/// Compares the numbers of tensors whose headers match; gives the bytes that were computed.
fn check_values(checks: &[Check<'_>], pool: &Pool<'_>, report: &mut VerifyReport) -> Result<u64> {
    let compared = Compared::new(checks);
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
