//! The report on a comparison: what differs, the worst first, and figures of the whole model.

use std::cmp::Ordering;
use std::io::{self, Write};

use weighbridge::internals::schemes;
use weighbridge::internals::text::escaped;
use weighbridge::ops::{DiffMetadata, DiffReport, DiffSummary, DiffTensor, Metric, Status};

use super::cost;
use crate::render::table::{Side, Table};
use crate::render::units::{grouped, plural};
use crate::render::{ALARM, Page};

/// Lines of a list, unless --limit says otherwise.
const LINES: usize = 20;

/// Writes the report on a comparison.
pub(super) fn write(
    out: &mut dyn Write,
    page: &Page,
    report: &DiffReport,
    sort: Option<Metric>,
    limit: Option<usize>,
) -> io::Result<()> {
    let lines = Lines { limit: if page.verbose { usize::MAX } else { limit.unwrap_or(LINES) } };
    headline(out, report)?;
    let mut shown: Vec<&DiffTensor> =
        report.tensors.iter().filter(|t| is_worth_a_line(t)).collect();
    shown.sort_by(|a, b| order(sort, a, b));
    table(out, page, &shown[..shown.len().min(lines.limit)])?;
    lines.rest(out, shown.len(), "")?;
    messages(out, &lines, &shown)?;
    lines.names(out, &report.only_a, "in A only")?;
    lines.names(out, &report.only_b, "in B only")?;
    explained(out, &lines, report)?;
    not_finite(out, &lines, report)?;
    cost::write(out, report)?;
    transforms(out, report)?;
    figures(out, &report.summary)?;
    metadata(out, &lines, &report.metadata)?;
    for note in &report.notes {
        writeln!(out, "  note: {}", escaped(note))?;
    }
    Ok(())
}

/// How much of long lists is shown.
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

fn headline(out: &mut dyn Write, report: &DiffReport) -> io::Result<()> {
    let summary = &report.summary;
    let all = report.tensors.len() as u64;
    let uncompared = all - summary.compared - summary.shape_mismatch - summary.undecoded;
    if report.ok && all > 0 && summary.identical == all {
        return writeln!(out, "identical: all {}", plural(all, "weight"));
    }
    match (report.ok && summary.undecoded == 0, uncompared == all) {
        (true, true) => write!(out, "same structure")?,
        (true, false) => write!(out, "no difference beyond the bounds")?,
        (false, _) => write!(out, "{ALARM}different{ALARM:#}")?,
    }
    let mut counts = Vec::new();
    let kinds = [
        (summary.identical, "identical"),
        (summary.equal_after_rounding, "equal after rounding"),
        (summary.close, "close"),
        (summary.different, "different"),
        (summary.shape_mismatch, "of another shape"),
        (summary.undecoded, "not decoded"),
        (summary.missing, "on one side only"),
        (uncompared, "not compared by value"),
    ];
    for (count, what) in kinds.into_iter().filter(|(count, _)| *count > 0) {
        counts.push(format!("{} {what}", grouped(count)));
    }
    writeln!(
        out,
        ": {}",
        if counts.is_empty() { "there are no weights".into() } else { counts.join(", ") }
    )
}

fn is_worth_a_line(tensor: &DiffTensor) -> bool {
    !matches!(tensor.status, Status::Identical | Status::Uncompared)
}

/// The worst first.
fn order(sort: Option<Metric>, a: &DiffTensor, b: &DiffTensor) -> Ordering {
    let rank = |tensor: &DiffTensor| match tensor.status {
        Status::Undecoded => 0,
        Status::Shape => 1,
        Status::Different => 2,
        Status::Close => 3,
        _ => 4,
    };
    // A value that is finite on one side only is worse than any difference.
    let unlike = |tensor: &DiffTensor| tensor.unlike.unwrap_or(0);
    let figure = |metric: Metric, tensor: &DiffTensor| match metric.of(tensor) {
        Some(value) if metric.is_likeness() => -value,
        Some(value) => value,
        // Nothing was lost, or nothing is known.
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
        ("SNR dB", Side::Right),
        ("cosine", Side::Right),
        ("relative", Side::Right),
        ("max diff", Side::Right),
        ("", Side::Left),
    ]);
    for tensor in tensors {
        table.row([
            escaped(&tensor.name_a).into_owned(),
            kind(tensor.scheme_a, &tensor.variant_a),
            kind(tensor.scheme_b, &tensor.variant_b),
            bits(tensor),
            tensor.snr_db.map_or(String::new(), |snr| format!("{snr:.1}")),
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
    match schemes::is_named_by_type(scheme) {
        true => escaped(variant).into_owned(),
        false => format!("{scheme} {}", escaped(variant)),
    }
}

/// Bits per weight of both sides; once, where they are the same.
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

/// Never rounds up to 1: that would say that nothing differs.
fn cosine(value: f64) -> String {
    let rounded = format!("{value:.6}");
    match rounded.as_str() {
        "1.000000" if value < 1.0 => ">0.999999".to_owned(),
        _ => rounded,
    }
}

fn percent(ratio: f64) -> String {
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

/// The messages on single weights.
fn messages(out: &mut dyn Write, lines: &Lines, tensors: &[&DiffTensor]) -> io::Result<()> {
    let told: Vec<String> = tensors.iter().filter_map(|tensor| message(tensor)).collect();
    for line in told.iter().take(lines.limit) {
        writeln!(out, "  {line}")?;
    }
    lines.rest(out, told.len(), " with a message")
}

fn message(tensor: &DiffTensor) -> Option<String> {
    let name = escaped(&tensor.name_a);
    let other = match tensor.name_a == tensor.name_b {
        true => String::new(),
        false => format!(" (in B {})", escaped(&tensor.name_b)),
    };
    let more = tensor.message.as_deref().map(escaped);
    match tensor.status {
        Status::Shape => {
            let more = more.map_or(String::new(), |more| format!("; {more}"));
            let (a, b) = (&tensor.shape_a, &tensor.shape_b);
            Some(format!("{name}{other}: {a:?} in A, {b:?} in B{more}"))
        }
        _ => more.map(|more| format!("{name}{other}: {more}")),
    }
}

fn explained(out: &mut dyn Write, lines: &Lines, report: &DiffReport) -> io::Result<()> {
    for one in report.explained.iter().take(lines.limit) {
        let side = one.side.to_uppercase();
        writeln!(out, "  {}: in {side} only, {}", escaped(&one.name), escaped(&one.reason))?;
    }
    lines.rest(out, report.explained.len(), " of that kind")
}

/// Counts of NaN and infinite numbers, which other figures do not show.
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
    lines.rest(out, all.len(), " with numbers that are not finite")
}

/// The transforms that made both sides comparable, and the number of weights of each.
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

/// The figures of the whole model.
fn figures(out: &mut dyn Write, summary: &DiffSummary) -> io::Result<()> {
    if summary.compared == summary.identical {
        return Ok(());
    }
    let model = [
        summary.model_cosine.map(|value| format!("cosine {}", cosine(value))),
        summary.model_rmse.map(|value| format!("RMSE {}", small(value))),
        summary.min_cosine.map(|value| format!("lowest cosine of a weight {}", cosine(value))),
        Some(format!("{} below the bound", grouped(summary.below))),
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

/// A value, shortened.
fn shortened(text: &str) -> String {
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
