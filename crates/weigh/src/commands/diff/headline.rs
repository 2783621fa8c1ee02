//! The first line of a comparison: what it amounts to, in the words of the table below it.

use std::io::{self, Write};

use weighbridge::ops::{DiffReport, DiffTensor, Status};

use super::render::{joined, kind};
use crate::render::ALARM;
use crate::render::units::{grouped, plural};

/// More kinds of storage than this are not named.
const KINDS: usize = 3;

/// What counts as a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// What changed.
    Changed,
    /// Everything that is not identical.
    Exact,
    /// What is beyond the figures of a rule.
    Rule,
}

/// Writes the line.
pub(super) fn write(out: &mut dyn Write, report: &DiffReport, counts: Counts) -> io::Result<()> {
    let all = report.tensors.len() as u64;
    if report.ok && all > 0 && report.summary.identical == all {
        let every = if all == 1 { "the only" } else { "all" };
        let weights = if all == 1 { "weight".to_owned() } else { plural(all, "weight") };
        return writeln!(out, "identical: {every} {weights}");
    }
    if all + report.summary.missing == 0 {
        return writeln!(out, "nothing to compare: there are no weights");
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

/// What comes first.
struct Lead {
    word: &'static str,
    /// How many weights it is about; `None` where it is about the whole model.
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
        // Those of another shape count whatever the rule is.
        let beyond = summary.failed - summary.shape_mismatch;
        let has_values = summary.compared > 0;
        match counts {
            Counts::Rule if beyond > 0 => told("beyond the bounds", beyond, None),
            Counts::Exact if beyond > 0 => told("not identical", beyond, None),
            Counts::Changed if summary.changed > 0 => {
                told("changed", summary.changed, Some(Status::Changed))
            }
            _ if !report.ok => plain("not the same", true),
            _ if summary.undecoded > 0 => plain("not all compared", true),
            Counts::Rule if has_values => plain("within the bounds", false),
            _ if summary.unjudged > 0 => {
                told("no verdict", summary.unjudged, Some(Status::Unjudged))
            }
            _ if has_values => plain("same model", false),
            _ => plain("same structure", false),
        }
    }
}

/// How many weights have each status, but for the one that is covered already.
fn tally(report: &DiffReport, told: Option<Status>) -> Vec<String> {
    let summary = &report.summary;
    let within = within(&report.tensors);
    let compared = summary.compared + summary.shape_mismatch + summary.undecoded;
    let kinds = [
        (summary.identical, "identical", Status::Identical),
        (summary.equal_after_rounding, "equal after rounding", Status::EqualAfterRounding),
        (summary.within_precision, &*within, Status::WithinPrecision),
        (summary.changed, "changed", Status::Changed),
        (summary.unjudged, "without a verdict", Status::Unjudged),
        (summary.shape_mismatch, "of another shape", Status::Shape),
        (summary.undecoded, "not decoded", Status::Undecoded),
        (report.tensors.len() as u64 - compared, "not compared by value", Status::Uncompared),
    ];
    let kinds = kinds.into_iter().filter(|(_, _, status)| Some(*status) != told);
    kinds
        .map(|(count, what, _)| (count, what))
        .chain([(summary.missing, "on one side only")])
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(count)))
        .collect()
}

/// `within Q4_K's precision`.
fn within(tensors: &[DiffTensor]) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for tensor in tensors.iter().filter(|tensor| tensor.status == Status::WithinPrecision) {
        let kind = lossier(tensor);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    match &kinds[..] {
        [kind] if !kind.contains(' ') => format!("within {kind}'s precision"),
        kinds if kinds.len() <= KINDS => format!("within the precision of {}", joined(kinds)),
        _ => "within the precision of their storage".to_owned(),
    }
}

/// How the side that holds less is stored: it has fewer bits, or as many bits and fewer digits.
fn lossier(tensor: &DiffTensor) -> String {
    let a = kind(tensor.scheme_a, &tensor.variant_a);
    let b = kind(tensor.scheme_b, &tensor.variant_b);
    let is_a = match (tensor.bits_a, tensor.bits_b) {
        (Some(bits_a), Some(bits_b)) if bits_a != bits_b => bits_a < bits_b,
        _ => a == "BF16",
    };
    if is_a { a } else { b }
}
