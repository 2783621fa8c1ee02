//! The report on a conversion, or on its plan.

use std::cmp::Reverse;

use super::VerifyReport;
use super::plan_report::PlanReport;
use super::quantize::QuantizeReport;
use crate::config::ChangedKey;
use crate::error::Remedy;
use crate::model::Model;
use crate::ops::Dropped;
use crate::ops::reports::reports;
use crate::output::FoundFile;
use crate::pipeline::{Job, Plan, PlannedFile, Target, Tied};
use crate::schemes::PLAIN;
use crate::warning::Warning;

reports! {
    /// What was written, or would be. The field names are the JSON contract.
    #[derive(Default)]
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
        pub warnings: Vec<Warning>,
        pub read_bytes: u64,
        pub write_bytes: u64,
        pub threads: u64,
        pub tile_memory: u64,
        pub seconds: Option<f64>,
        pub peak_memory: Option<u64>,
        pub overflowed: Option<u64>,
        /// With [`ConvertOptions::dry_run`](crate::ops::ConvertOptions::dry_run): every tensor that
        /// would be written, and the metadata.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub plan: Option<PlanReport>,
        /// What quantizing cost.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quantized: Option<QuantizeReport>,
        /// With [`ConvertOptions::verify`](crate::ops::ConvertOptions::verify): whether the output is
        /// right. If not, there is no output.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub verified: Option<VerifyReport>,
    }
}

impl ConvertReport {
    /// Adds what can be said of a part before anything is written.
    pub(super) fn forecast(
        &mut self,
        model: &Model,
        target: &Target,
        plan: &Plan,
        skipped: Vec<Dropped>,
    ) {
        let is_stored = plan.jobs().next().is_some_and(|job| job.weight().is_err());
        let all: usize = if is_stored {
            model.sources().iter().map(|source| source.catalog().tensors.len()).sum()
        } else {
            model.weights().len()
        };
        let all = all.saturating_sub(skipped.len());
        let taken = plan.jobs().count() + plan.ties.len();
        model.notes_and_hazards().for_each(|note| self.note(note));
        if taken < all {
            let what = if is_stored { "stored tensors" } else { "weights" };
            let chosen =
                format!("{taken} of {all} {what} are selected; the others are not written");
            self.note(&chosen);
        }
        self.files.extend(plan.files.iter().map(|file| WrittenFile {
            path: target.path_of(&file.name),
            bytes: file.layout.len,
            tensors: file.jobs.iter().map(|job| job.outputs.len() as u64).sum(),
            kept: false,
        }));
        plan.jobs().for_each(|job| self.count(job));
        let by_size = |row: &ConversionReport| (Reverse(row.write_bytes), row.variant.clone());
        self.conversions.sort_by_cached_key(by_size);
        let dropped = model.dropped().filter(|_| !is_stored);
        self.dropped.extend(dropped.map(Dropped::of));
        self.skipped.extend(skipped);
        self.tied.extend(plan.ties.iter().cloned());
        let read = plan.jobs().map(Job::stored_bytes).fold(0, u64::saturating_add);
        self.read_bytes = self.read_bytes.saturating_add(read);
        self.write_bytes = self.write_bytes.saturating_add(plan.bytes());
        self.threads = self.threads.max(plan.memory.workers as u64);
        self.tile_memory = self.tile_memory.max(plan.memory.bytes);
    }

    /// Says something once: what is said of a whole pipeline is said of each component.
    pub(super) fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    /// Warns once, as of a whole pipeline.
    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Says that quantized weights are decoded, and what that does to their size.
    pub(super) fn note_decoded(&mut self, jobs: &mut dyn Iterator<Item = &Job>) {
        let is_decoded = |job: &&Job| {
            let to_numbers = job.outputs.iter().all(|output| output.stored.element().is_some());
            // What is computed is stored nowhere.
            let is_stored = job.stored_bytes() > 0;
            to_numbers && is_stored && job.weight().is_ok_and(|weight| weight.scheme() != PLAIN)
        };
        let (count, from, to) = jobs.filter(is_decoded).fold((0u64, 0u64, 0u64), |sum, job| {
            let (from, to) = (job.stored_bytes(), job.bytes());
            (sum.0 + 1, sum.1.saturating_add(from), sum.2.saturating_add(to))
        });
        if count > 0 {
            let weights = if count == 1 { "weight is" } else { "weights are" };
            self.note(&format!(
                "{count} quantized {weights} decoded: {from} stored bytes become {to} bytes"
            ));
        }
    }

    /// Counts a weight among those of its kind.
    fn count(&mut self, job: &Job) {
        let (scheme, variant) = job.scheme();
        let dtype = job.outputs.first().map_or("", |output| output.stored.name());
        let is_alike = |row: &ConversionReport| {
            (row.scheme, &*row.variant, &*row.dtype) == (scheme, variant, dtype)
        };
        let at = self.conversions.iter().position(is_alike).unwrap_or_else(|| {
            let (variant, dtype) = (variant.to_owned(), dtype.to_owned());
            let row = ConversionReport { scheme, variant, dtype, ..ConversionReport::default() };
            self.conversions.push(row);
            self.conversions.len() - 1
        });
        let row = &mut self.conversions[at];
        row.weights += 1;
        row.parameters = row.parameters.saturating_add(job.elements());
        row.read_bytes = row.read_bytes.saturating_add(job.stored_bytes());
        row.write_bytes = row.write_bytes.saturating_add(job.bytes());
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
                    "{} changed after the interrupted run and was written again",
                    file.name
                ));
            }
        }
    }
}

reports! {
    /// One file that was written.
    pub struct WrittenFile {
        pub path: String,
        pub bytes: u64,
        pub tensors: u64,
        pub kept: bool,
    }

    /// All weights of one scheme and variant that were written in one type.
    #[derive(Default)]
    pub struct ConversionReport {
        pub scheme: &'static str,
        pub variant: String,
        pub dtype: String,
        pub weights: u64,
        pub parameters: u64,
        pub read_bytes: u64,
        pub write_bytes: u64,
    }

    /// The type that decoded weights have, and why.
    pub struct DecodedAs {
        /// The folder of a pipeline's component.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub component: Option<String>,
        pub dtype: String,
        pub reason: String,
    }

    /// A file beside the weights that was changed.
    pub struct RewrittenFile {
        pub name: String,
        pub removed: Vec<String>,
        pub changed: Vec<ChangedKey>,
    }

    /// A file beside the weights that is not copied.
    pub struct LeftBehind {
        pub name: String,
        pub reason: String,
        /// What would take it along, if anything does.
        #[serde(skip)]
        pub remedy: Option<Remedy>,
    }
}
