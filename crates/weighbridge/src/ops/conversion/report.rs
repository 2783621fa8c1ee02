//! The report on a conversion, or on its plan.

use serde::Serialize;

use super::VerifyReport;
use super::plan_report::PlanReport;
use super::quantize::QuantizeReport;
use crate::error::Remedy;
use crate::model::Model;
use crate::ops::Dropped;
use crate::output::FoundFile;
use crate::pipeline::{Job, Plan, PlannedFile, Target};

/// What was written, or would be. The field names are the JSON contract.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)] // Each field is described in the guide's JSON section.
pub struct ConvertReport {
    pub files: Vec<WrittenFile>,
    pub conversions: Vec<ConversionReport>,
    pub dropped: Vec<Dropped>,
    pub skipped: Vec<Dropped>,
    pub tied: Vec<Tied>,
    pub metadata_left_out: Vec<String>,
    pub decoded_as: Vec<DecodedAs>,
    pub rewritten: Vec<RewrittenFile>,
    pub copied: Vec<String>,
    pub made: Vec<String>,
    pub not_carried: Vec<String>,
    pub left_behind: Vec<LeftBehind>,
    pub notes: Vec<String>,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub threads: u64,
    pub tile_memory: u64,
    pub seconds: Option<f64>,
    pub peak_memory: Option<u64>,
    pub overflowed: Option<u64>,
    /// With [`ConvertOptions::dry_run`](crate::ops::ConvertOptions::dry_run): every tensor that would be
    /// written, and the metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// What quantizing cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantized: Option<QuantizeReport>,
    /// With [`ConvertOptions::verify`](crate::ops::ConvertOptions::verify): whether the output is right.
    /// If not, there is no output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifyReport>,
}

impl ConvertReport {
    /// Adds the report on another part of the same output.
    pub(super) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        for row in other.conversions {
            add(&mut self.conversions, row);
        }
        rank(&mut self.conversions);
        self.dropped.extend(other.dropped);
        self.skipped.extend(other.skipped);
        self.tied.extend(other.tied);
        self.metadata_left_out.extend(other.metadata_left_out);
        self.made.extend(other.made);
        self.not_carried.extend(other.not_carried);
        for note in other.notes {
            // What is said of a whole pipeline is said of each component.
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        if let Some(plan) = other.plan {
            self.plan.get_or_insert_default().add(plan);
        }
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        self.threads = self.threads.max(other.threads);
        self.tile_memory = self.tile_memory.max(other.tile_memory);
    }

    /// Takes out of the totals what an earlier run has done.
    pub(super) fn count_own_work<'p>(
        &mut self,
        files: impl Iterator<Item = &'p PlannedFile>,
        found: &[FoundFile],
    ) {
        for ((report, file), found) in self.files.iter_mut().zip(files).zip(found) {
            report.kept = *found == FoundFile::Complete;
            if report.kept {
                let read: u64 = file.jobs.iter().map(Job::stored_bytes).sum();
                self.read_bytes = self.read_bytes.saturating_sub(read);
                self.write_bytes = self.write_bytes.saturating_sub(file.layout.len);
            }
            if *found == FoundFile::Damaged {
                self.notes.push(format!(
                    "{} of the interrupted run is not what that run wrote; it was written again",
                    file.name
                ));
            }
        }
    }
}

/// One file that was written.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct WrittenFile {
    pub path: String,
    pub bytes: u64,
    pub tensors: u64,
    pub kept: bool,
}

/// All weights of one scheme and variant that were written in one type.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct ConversionReport {
    pub scheme: &'static str,
    pub variant: String,
    pub dtype: String,
    pub weights: u64,
    pub parameters: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

/// A weight that shares its stored numbers with another, and is written under that name only.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct Tied {
    pub name: String,
    pub to: String,
}

/// The type that decoded weights have, and why.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct DecodedAs {
    /// The folder of a pipeline's component.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    pub dtype: String,
    pub reason: String,
}

/// A file beside the weights that was changed.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct RewrittenFile {
    pub name: String,
    pub removed: Vec<String>,
    pub changed: Vec<ChangedKey>,
}

/// A key of a rewritten file that holds something else now.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct ChangedKey {
    pub key: String,
    pub from: Option<String>,
    pub to: String,
}

/// A file beside the weights that is not copied.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct LeftBehind {
    pub name: String,
    pub reason: String,
    /// What would take it along, if anything does.
    #[serde(skip)]
    pub remedy: Option<Remedy>,
}

/// The report that can be given before anything is written.
pub(super) fn forecast(
    model: &Model,
    target: &Target,
    plan: &Plan,
    skipped: Vec<Dropped>,
) -> ConvertReport {
    let is_stored = plan.jobs().next().is_some_and(|job| job.weight().is_err());
    let all: usize = match is_stored {
        true => model.sources().iter().map(|source| source.catalog().tensors.len()).sum(),
        false => model.weights().len(),
    };
    let all = all.saturating_sub(skipped.len());
    let taken = plan.jobs().count() + plan.ties.len();
    let mut notes = model.notes().to_vec();
    if taken < all {
        let what = if is_stored { "stored tensors" } else { "weights" };
        notes.push(format!("{taken} of {all} {what} are selected, the others are not written"));
    }
    let dropped = model.dropped().filter(|_| !is_stored);
    ConvertReport {
        files: plan
            .files
            .iter()
            .map(|file| WrittenFile {
                path: target.path_of(&file.name),
                bytes: file.layout.len,
                tensors: file.jobs.iter().map(|job| job.outputs.len() as u64).sum(),
                kept: false,
            })
            .collect(),
        conversions: conversions(plan.jobs()),
        dropped: dropped
            .map(|(info, reason)| Dropped {
                name: info.name.to_string(),
                reason: reason.to_owned(),
            })
            .collect(),
        skipped,
        tied: plan
            .ties
            .iter()
            .map(|tie| Tied { name: tie.name.clone(), to: tie.to.clone() })
            .collect(),
        notes,
        read_bytes: plan.jobs().map(Job::stored_bytes).fold(0, u64::saturating_add),
        write_bytes: plan.bytes(),
        threads: plan.memory.workers as u64,
        tile_memory: plan.memory.bytes,
        ..ConvertReport::default()
    }
}

fn conversions<'j>(jobs: impl Iterator<Item = &'j Job>) -> Vec<ConversionReport> {
    let mut rows: Vec<ConversionReport> = Vec::new();
    for job in jobs {
        let (scheme, variant) = job.scheme();
        let dtype = job.outputs.first().map_or("", |output| output.stored.name());
        let row = ConversionReport {
            scheme,
            variant: variant.to_owned(),
            dtype: dtype.to_owned(),
            weights: 1,
            parameters: job.elements(),
            read_bytes: job.stored_bytes(),
            write_bytes: job.bytes(),
        };
        add(&mut rows, row);
    }
    rank(&mut rows);
    rows
}

/// Counts weights among those of their kind.
fn add(rows: &mut Vec<ConversionReport>, more: ConversionReport) {
    let is_alike = |row: &&mut ConversionReport| {
        (row.scheme, &row.variant, &row.dtype) == (more.scheme, &more.variant, &more.dtype)
    };
    match rows.iter_mut().find(is_alike) {
        None => rows.push(more),
        Some(row) => {
            row.weights += more.weights;
            row.parameters = row.parameters.saturating_add(more.parameters);
            row.read_bytes = row.read_bytes.saturating_add(more.read_bytes);
            row.write_bytes = row.write_bytes.saturating_add(more.write_bytes);
        }
    }
}

/// The kind that takes the most room first.
fn rank(rows: &mut [ConversionReport]) {
    rows.sort_by(|a, b| b.write_bytes.cmp(&a.write_bytes).then_with(|| a.variant.cmp(&b.variant)));
}
