//! The first line of a comparison: the verdict, in the words of the table below it.

use std::io::{self, Write};

use weighbridge::ops::{DiffReport, DiffTensor, Status};

use super::render::{joined, kind};
use crate::render::ALARM;
use crate::render::units::{grouped, plural};

/// Most kinds of storage that are named.
const KINDS: usize = 3;

/// The rule that decides what counts as a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Weights with status `changed`.
    Changed,
    /// Weights that are not identical.
    Exact,
    /// Weights outside the thresholds of `--fail-over`.
    Rule,
}

/// Writes the line.
pub(super) fn write(out: &mut dyn Write, report: &DiffReport, counts: Counts) -> io::Result<()> {
    let all = report.tensors.len() as u64;
    let summary = &report.summary;
    // Nothing else makes the models differ, and nothing was left open.
    let open = summary.undecoded + summary.unjudged;
    if !report.ok && summary.failed + summary.missing + open == 0 {
        let same = match counts {
            _ if summary.compared == 0 => "same structure",
            Counts::Rule => "within the thresholds",
            Counts::Changed | Counts::Exact => "same weights",
        };
        let settings = super::settings::named(report).join(", ");
        return writeln!(out, "{ALARM}{same}, different settings{ALARM:#}: {settings}");
    }
    if report.ok && all > 0 && report.summary.identical == all {
        let every = if all == 1 { "" } else { "all " };
        return writeln!(out, "identical: {every}{}", plural(all, "weight"));
    }
    if all + report.summary.missing == 0 {
        return writeln!(out, "nothing to compare: no weights");
    }
    let lead = Lead::of(report, counts);
    let rest = tally(report, lead.status);
    if lead.is_alarm {
        write!(out, "{ALARM}{}{ALARM:#}", lead.word)?;
    } else {
        write!(out, "{}", lead.word)?;
    }
    let rest = rest.join(", ");
    match lead.count {
        None => writeln!(out, ": {rest}"),
        Some(count) => {
            let gap = if rest.is_empty() { "" } else { "; " };
            writeln!(out, ": {} of {}{gap}{rest}", grouped(count), plural(all, "weight"))
        }
    }
}

/// The verdict.
struct Lead {
    word: &'static str,
    /// Number of weights it applies to; `None` for the whole model.
    count: Option<u64>,
    /// The status that it covers.
    status: Option<Status>,
    is_alarm: bool,
}

impl Lead {
    fn of(report: &DiffReport, counts: Counts) -> Self {
        let summary = &report.summary;
        let told = |word, count, status| Self { word, count: Some(count), status, is_alarm: true };
        let plain = |word, is_alarm| Self { word, count: None, status: None, is_alarm };
        // Weights of different shape fail under every rule.
        let beyond = summary.failed - summary.shape_mismatch;
        let has_values = summary.compared > 0;
        match counts {
            Counts::Rule if beyond > 0 => told("outside the thresholds", beyond, None),
            Counts::Exact if beyond > 0 => told("not identical", beyond, None),
            Counts::Changed if summary.changed > 0 => {
                told("changed", summary.changed, Some(Status::Changed))
            }
            _ if !report.ok => plain("different", true),
            _ if summary.undecoded > 0 => plain("incomplete comparison", true),
            Counts::Rule if has_values => plain("within the thresholds", false),
            _ if summary.unjudged > 0 => {
                told("no verdict", summary.unjudged, Some(Status::Unjudged))
            }
            _ if has_values => plain("same model", false),
            _ => plain("same structure", false),
        }
    }
}

/// Counts weights by status, except the status in the verdict.
fn tally(report: &DiffReport, told: Option<Status>) -> Vec<String> {
    let summary = &report.summary;
    let within = within(&report.tensors);
    let compared = summary.compared + summary.shape_mismatch + summary.undecoded;
    let kinds = [
        (summary.identical, "identical", Status::Identical),
        (summary.equal_after_rounding, "equal after rounding", Status::EqualAfterRounding),
        (summary.within_precision, &*within, Status::WithinPrecision),
        (summary.changed, "changed", Status::Changed),
        (summary.unjudged, "no verdict", Status::Unjudged),
        (summary.shape_mismatch, "with different shapes", Status::Shape),
        (summary.undecoded, "not decoded", Status::Undecoded),
        (report.tensors.len() as u64 - compared, "with values not compared", Status::Uncompared),
    ];
    let kinds = kinds.into_iter().filter(|(_, _, status)| Some(*status) != told);
    kinds
        .map(|(count, what, _)| (count, what))
        .chain([(summary.missing, "on one side only")])
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count)))
        .collect()
}

/// `within Q4_K precision`.
fn within(tensors: &[DiffTensor]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for tensor in tensors.iter().filter(|tensor| tensor.status == Status::WithinPrecision) {
        let kind = lossier(tensor);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match &kinds[..] {
        [kind] if !kind.contains(' ') => format!("within {kind} precision"),
        kinds if kinds.len() <= KINDS => format!("within the precision of {}", joined(kinds)),
        _ => "within the precision of their types".to_owned(),
    }
}

/// The storage of the less precise side: fewer bits, or equal bits and a shorter mantissa.
fn lossier(tensor: &DiffTensor) -> String {
    let a = kind(tensor.scheme_a, &tensor.variant_a);
    let b = kind(tensor.scheme_b, &tensor.variant_b);
    let is_a = match (tensor.bits_a, tensor.bits_b) {
        (Some(bits_a), Some(bits_b)) if bits_a != bits_b => bits_a < bits_b,
        _ => a == "BF16",
    };
    if is_a { a } else { b }
}
