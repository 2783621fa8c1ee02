//! The last step: a plan becomes files.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Conversion, ConvertReport, modelfile, verify};
use crate::error::Result;
use crate::ops::Progress;
use crate::output::Destination;
use crate::pipeline::Writing;
use crate::sys::peak_memory;

/// Writes what is planned, and reports on it.
pub(super) fn run(
    mut conversion: Conversion,
    destination: &dyn Destination,
) -> Result<ConvertReport> {
    let Conversion { options, parts, extra, start, .. } = &conversion;
    let (work, total) = (&options.work, AtomicU64::new(conversion.data_bytes()));
    let report_progress = |done| {
        if let Some(progress) = &work.progress {
            progress(Progress { done, total: total.load(Ordering::Relaxed) });
        }
    };
    let (verified, seconds) = (OnceLock::new(), OnceLock::new());
    let elapsed = || start.elapsed().as_secs_f64();
    let check = |output: &Path| {
        seconds.get_or_init(elapsed);
        let report = verify::written(output, &conversion)?;
        Ok(verified.get_or_init(|| report).ok)
    };
    let workers = parts.iter().map(|part| part.plan.memory.workers).min();
    let writing = Writing {
        parts: parts.iter().map(|part| (&part.model, &part.plan)).collect(),
        pool: work.pool(workers.unwrap_or(1), &report_progress),
        extra,
        total: &total,
        check: options.verify.then_some(&check),
    };
    let written = writing.write(destination)?;
    modelfile::write(&conversion)?;
    let seconds = seconds.into_inner().unwrap_or_else(elapsed);
    let files = conversion.parts.iter().flat_map(|part| &part.plan.files);
    let report = &mut conversion.report;
    report.overflowed = Some(written.overflowed);
    report.count_own_work(files, &written.found);
    report.notes.extend(destination.notes());
    report.notes.extend(written.notes);
    report.verified = verified.into_inner();
    report.seconds = Some(seconds);
    conversion.report_cost();
    conversion.report.peak_memory = peak_memory();
    Ok(conversion.report)
}
