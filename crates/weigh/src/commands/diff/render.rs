//! The report on a comparison: differences, worst first, and metrics of the whole model.

use std::cmp::Ordering;
use std::io::{self, Write};

use weighbridge::internals::schemes::{PLAIN, SCHEMES};
use weighbridge::internals::text::escaped;
use weighbridge::ops::{DiffMetadata, DiffReport, DiffSummary, DiffTensor, Metric, Status};

use super::headline::Counts;
use super::modules::Modules;
use super::{changes, cost, headline, reencoded, settings};
use crate::render::Page;
use crate::render::table::{Side, Table};
use crate::render::units::{grouped, plural};
use crate::render::wrap::Folded;

/// Default of `--limit`.
const LINES: usize = 20;

/// Lines of a list of weights below a summary.
const FEW: usize = 5;

/// Places shown of a changed weight.
const PLACES: usize = 3;

/// Display options of a comparison.
pub(super) struct Shown {
    pub(super) counts: Counts,
    pub(super) sort: Option<Metric>,
    pub(super) limit: Option<usize>,
}

/// Writes the report on a comparison.
pub(super) fn write(
    out: &mut dyn Write,
    page: &Page,
    report: &DiffReport,
    shown: &Shown,
) -> io::Result<()> {
    let limit = if page.verbose { usize::MAX } else { shown.limit.unwrap_or(LINES) };
    let lines = Lines { limit };
    let out = &mut Folded::new(out, page.width);
    headline::write(out, report, shown.counts)?;
    reencoded::write(out, report, limit)?;
    weights(out, page, report, shown, &lines)?;
    unjudged(out, report)?;
    lines.names(out, &report.only_a, "in A only")?;
    lines.names(out, &report.only_b, "in B only")?;
    explained(out, &lines, report)?;
    skipped(out, &lines, report)?;
    not_finite(out, &lines, report)?;
    cost::write(out, report)?;
    transforms(out, report)?;
    figures(out, &report.summary)?;
    settings::write(out, report, limit, page.verbose)?;
    metadata(out, &lines, &report.metadata)?;
    for note in &report.notes {
        writeln!(out, "  note: {}", escaped(note))?;
    }
    Ok(())
}

/// Lists differing weights, worst first. Many of them are summarized by kind first.
fn weights(
    out: &mut dyn Write,
    page: &Page,
    report: &DiffReport,
    Shown { sort, limit, .. }: &Shown,
    lines: &Lines,
) -> io::Result<()> {
    let mut all: Vec<&DiffTensor> = report.tensors.iter().filter(|t| is_worth_a_line(t)).collect();
    all.sort_by(|a, b| order(*sort, a, b));
    let modules = Modules::of(&report.tensors);
    if let Some(modules) = &modules {
        modules.write(out, page, lines.limit)?;
    }
    let is_told = modules.is_some() && limit.is_none() && !page.verbose;
    let lines = &Lines { limit: if is_told { FEW } else { lines.limit } };
    let places = match (page.verbose, is_told) {
        (true, _) => usize::MAX,
        (false, true) => 1,
        (false, false) => PLACES,
    };
    let count = all.len();
    table(out, page, &all[..all.len().min(lines.limit)])?;
    lines.rest(out, all.len(), "")?;
    let mut said: Vec<&DiffTensor> = all.into_iter().filter(|tensor| has_more(tensor)).collect();
    if is_told {
        said.retain(|tensor| is_special(tensor));
    }
    for tensor in said.iter().take(lines.limit) {
        match tensor.status {
            Status::Changed => changes::write(out, tensor, places)?,
            _ => message(out, tensor)?,
        }
    }
    // If all weights are in the table, it has already counted the rest.
    if said.len() < count {
        lines.rest(out, said.len(), " with a message")?;
    }
    Ok(())
}

/// The line limit of long lists.
struct Lines {
    limit: usize,
}

impl Lines {
    fn rest(&self, out: &mut dyn Write, all: usize, what: &str) -> io::Result<()> {
        match all.saturating_sub(self.limit) {
            0 => Ok(()),
            more => writeln!(out, "  and {} more{what}", grouped(more as u64)),
        }
    }

    fn names(&self, out: &mut dyn Write, names: &[String], what: &str) -> io::Result<()> {
        for name in names.iter().take(self.limit) {
            writeln!(out, "  {}: {what}", escaped(name))?;
        }
        self.rest(out, names.len(), &format!(" {what}"))
    }
}

fn is_worth_a_line(tensor: &DiffTensor) -> bool {
    !matches!(tensor.status, Status::Identical | Status::Uncompared)
}

/// Orders weights, worst first.
fn order(sort: Option<Metric>, a: &DiffTensor, b: &DiffTensor) -> Ordering {
    let rank = |tensor: &DiffTensor| match tensor.status {
        Status::Undecoded => 0,
        Status::Shape => 1,
        Status::Changed => 2,
        Status::Unjudged => 3,
        Status::WithinPrecision => 4,
        _ => 5,
    };
    // A value that is finite on one side only is worse than any finite difference.
    let unlike = |tensor: &DiffTensor| tensor.unlike.unwrap_or(0);
    let figure = |metric: Metric, tensor: &DiffTensor| match metric.of(tensor) {
        Some(value) if metric.is_likeness() => -value,
        Some(value) => value,
        // No error, or no known error.
        None if tensor.rmse == Some(0.0) || metric != Metric::Relative => f64::NEG_INFINITY,
        None => f64::INFINITY,
    };
    let by = |metric| figure(metric, b).total_cmp(&figure(metric, a));
    match sort {
        Some(metric) => by(metric),
        None => rank(a)
            .cmp(&rank(b))
            .then_with(|| unlike(b).cmp(&unlike(a)))
            .then_with(|| by(Metric::Relative)),
    }
}

fn table(out: &mut dyn Write, page: &Page, tensors: &[&DiffTensor]) -> io::Result<()> {
    if tensors.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        ("weight", Side::Left),
        ("A", Side::Left),
        ("B", Side::Left),
        ("bits", Side::Right),
        ("SNR", Side::Right),
        ("cosine", Side::Right),
        ("relative", Side::Right),
        ("max diff", Side::Right),
        ("", Side::Left),
    ])
    .dropping(&["bits", "cosine", "max diff", "SNR"]);
    for tensor in tensors {
        table.row([
            escaped(&tensor.name_a).into_owned(),
            kind(tensor.scheme_a, &tensor.variant_a),
            kind(tensor.scheme_b, &tensor.variant_b),
            bits(tensor),
            tensor.snr_db.map_or(String::new(), |snr| format!("{snr:.1} dB")),
            tensor.cosine.map_or(String::new(), cosine),
            tensor.relative.map_or(String::new(), percent),
            tensor.max_abs.map_or(String::new(), small),
            tensor.status.name().replace('-', " "),
        ]);
    }
    table.write(out, 2, page.width)
}

/// `Q4_K`, `gptq 4bit-g128`.
pub(super) fn kind(scheme: &str, variant: &str) -> String {
    if SCHEMES.is_named_by_type(scheme) {
        escaped(variant).into_owned()
    } else {
        format!("{scheme} {}", escaped(variant))
    }
}

/// Bits per weight of both sides; one number if they are equal.
fn bits(tensor: &DiffTensor) -> String {
    let shown = |bits: Option<f64>| {
        bits.map_or(String::from("?"), |bits| {
            let text = format!("{bits:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        })
    };
    let (a, b) = (shown(tensor.bits_a), shown(tensor.bits_b));
    if a == b { a } else { format!("{a}, {b}") }
}

/// Formats a cosine. It never rounds up to 1, which would mean no difference.
fn cosine(value: f64) -> String {
    let rounded = format!("{value:.6}");
    match rounded.as_str() {
        "1.000000" if value < 1.0 => ">0.999999".to_owned(),
        _ => rounded,
    }
}

pub(super) fn percent(ratio: f64) -> String {
    match ratio {
        0.0 => "0 %".to_owned(),
        ratio if !(1e-5..1e4).contains(&ratio) => format!("{:.1e} %", ratio * 100.0),
        ratio => format!("{:.3} %", ratio * 100.0),
    }
}

fn small(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value => format!("{value:.2e}"),
    }
}

/// Whether a weight needs a line in addition to its metrics.
fn has_more(tensor: &DiffTensor) -> bool {
    matches!(tensor.status, Status::Changed | Status::Shape) || tensor.message.is_some()
}

/// Whether a weight differs in a way that training does not explain.
fn is_special(tensor: &DiffTensor) -> bool {
    let is_little = tensor.outside.is_some_and(|outside| outside < tensor.elements / 2);
    tensor.status != Status::Changed
        || is_little
        || tensor.change.is_some()
        || tensor.message.is_some()
}

/// `q_proj.weight (in B attn_q.weight)`.
pub(super) fn named(tensor: &DiffTensor) -> String {
    let name = escaped(&tensor.name_a);
    if tensor.name_a == tensor.name_b {
        name.into_owned()
    } else {
        format!("{name} (in B {})", escaped(&tensor.name_b))
    }
}

fn message(out: &mut dyn Write, tensor: &DiffTensor) -> io::Result<()> {
    let shapes = match tensor.status {
        Status::Shape => Some(format!("{:?} in A, {:?} in B", tensor.shape_a, tensor.shape_b)),
        _ => None,
    };
    let more = tensor.message.as_deref().map(|more| escaped(more).into_owned());
    let said: Vec<String> = [shapes, more].into_iter().flatten().collect();
    writeln!(out, "  {}: {}", named(tensor), said.join("; "))
}

/// Lists weights without a verdict.
fn unjudged(out: &mut dyn Write, report: &DiffReport) -> io::Result<()> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for tensor in report.tensors.iter().filter(|tensor| tensor.status == Status::Unjudged) {
        let kinds = stored_with_loss(tensor);
        match all.iter_mut().find(|(known, _)| *known == kinds) {
            Some((_, count)) => *count += 1,
            None => all.push((kinds, 1)),
        }
    }
    for (kinds, count) in all {
        let weights = plural(count, "weight");
        writeln!(
            out,
            "  no verdict on {weights} stored as {kinds}: no error bound is known for this type"
        )?;
    }
    Ok(())
}

/// The storage of the sides that are not plain.
fn stored_with_loss(tensor: &DiffTensor) -> String {
    let sides = [(tensor.scheme_a, &tensor.variant_a), (tensor.scheme_b, &tensor.variant_b)];
    let lossy = sides.into_iter().filter(|(scheme, _)| *scheme != PLAIN);
    let mut kinds: Vec<String> = lossy.map(|(scheme, variant)| kind(scheme, variant)).collect();
    kinds.dedup();
    kinds.join(" on one side and ")
}

/// `a, b and c`.
pub(super) fn joined(names: &[String]) -> String {
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

fn explained(out: &mut dyn Write, lines: &Lines, report: &DiffReport) -> io::Result<()> {
    for one in report.explained.iter().take(lines.limit) {
        let side = one.side.to_uppercase();
        writeln!(out, "  {}: in {side} only, {}", escaped(&one.name), escaped(&one.reason))?;
    }
    lines.rest(out, report.explained.len(), " of that kind")
}

/// Lists skipped weights.
fn skipped(out: &mut dyn Write, lines: &Lines, report: &DiffReport) -> io::Result<()> {
    for one in report.skipped.iter().take(lines.limit) {
        let (side, name) = (one.side.to_uppercase(), escaped(&one.name));
        writeln!(out, "  {name}: skipped, unreadable in {side}: {}", escaped(&one.reason))?;
    }
    lines.rest(out, report.skipped.len(), " skipped")
}

/// Counts NaN and infinite values, which the metrics do not show.
fn not_finite(out: &mut dyn Write, lines: &Lines, report: &DiffReport) -> io::Result<()> {
    let counts = |tensor: &DiffTensor| [tensor.nan_a, tensor.nan_b, tensor.inf_a, tensor.inf_b];
    let has_non_finite =
        |tensor: &&DiffTensor| counts(tensor).iter().any(|count| count.unwrap_or(0) > 0);
    let all: Vec<&DiffTensor> = report.tensors.iter().filter(has_non_finite).collect();
    for tensor in all.iter().take(lines.limit) {
        let [nan_a, nan_b, inf_a, inf_b] = counts(tensor).map(|count| grouped(count.unwrap_or(0)));
        let name = escaped(&tensor.name_a);
        writeln!(
            out,
            "  {name}: {nan_a} NaN and {inf_a} infinite in A, {nan_b} NaN and {inf_b} infinite in B"
        )?;
    }
    lines.rest(out, all.len(), " with NaN or infinite values")
}

/// Lists the transforms that made both sides comparable, with their numbers of weights.
fn transforms(out: &mut dyn Write, report: &DiffReport) -> io::Result<()> {
    let mut all: Vec<(&str, u64)> = Vec::new();
    for transform in report.tensors.iter().filter_map(|tensor| tensor.transform.as_deref()) {
        match all.iter_mut().find(|(known, _)| *known == transform) {
            Some((_, count)) => *count += 1,
            None => all.push((transform, 1)),
        }
    }
    for (transform, count) in all {
        writeln!(out, "  transform: {} ({})", escaped(transform), plural(count, "weight"))?;
    }
    Ok(())
}

/// Writes the metrics of the whole model.
fn figures(out: &mut dyn Write, summary: &DiffSummary) -> io::Result<()> {
    if summary.compared == summary.identical {
        return Ok(());
    }
    let model = [
        summary.model_cosine.map(|value| format!("cosine {}", cosine(value))),
        summary.model_rmse.map(|value| format!("RMSE {}", small(value))),
        summary.min_cosine.map(|value| format!("lowest cosine {}", cosine(value))),
    ];
    let model: Vec<String> = model.into_iter().flatten().collect();
    writeln!(out, "  all weights: {}", model.join(", "))
}

fn metadata(out: &mut dyn Write, lines: &Lines, found: &DiffMetadata) -> io::Result<()> {
    let counts = [
        (found.only_a.len(), "in A only"),
        (found.only_b.len(), "in B only"),
        (found.changed.len(), "changed"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count as u64)))
        .collect();
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "  metadata: {}", counts.join(", "))?;
    for changed in found.changed.iter().take(lines.limit) {
        let shown = |json: &serde_json::Value| shortened(&escaped(&json.to_string()));
        let (a, b) = (shown(&changed.a), shown(&changed.b));
        writeln!(out, "    {}: {a} in A, {b} in B", escaped(&changed.key))?;
    }
    lines.rest(out, found.changed.len(), " changed")
}

/// Shortens a value.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_the_same_is_not_shown_as_the_same() {
        assert_eq!(cosine(1.0), "1.000000");
        assert_eq!(cosine(0.999_999_99), ">0.999999");
        assert_eq!(cosine(0.997_123_4), "0.997123");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1e-9), "1.0e-7 %");
        assert_eq!(percent(0.079_12), "7.912 %");
    }
}
