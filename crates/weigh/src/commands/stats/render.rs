//! The statistics of a model as text: warnings, then a line for each weight.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::{StatsReport, WeightStats};

use crate::render::lists::{more, remarks, skipped};
use crate::render::table::{Side, Table};
use crate::render::units::{count, figure, grouped, plural};
use crate::render::wrap::wrapped;
use crate::render::{ALARM, Page, TITLE};

/// Default of `--limit`.
const LINES: usize = 20;

pub(super) fn write(
    out: &mut dyn Write,
    page: &Page,
    limit: Option<usize>,
    report: &StatsReport,
) -> io::Result<()> {
    let lines = limit.unwrap_or(LINES);
    writeln!(out, "{TITLE}{}{TITLE:#}", escaped(&report.path))?;
    let all = format!("{}, {} values", plural(report.weights, "weight"), count(report.elements));
    match report.odd {
        0 => writeln!(out, "  {all}: no warnings")?,
        odd => writeln!(out, "  {all}: {ALARM}{} with warnings{ALARM:#}", grouped(odd))?,
    }
    oddities(out, page, lines, report)?;
    if !report.tensors.is_empty() {
        writeln!(out)?;
        table(out, page, lines, report)?;
        sampled(out, page, report)?;
    }
    skipped(out, page, &report.skipped)?;
    remarks(out, page, &report.notes)
}

/// States the rank error of quantiles that come from a sample.
fn sampled(out: &mut dyn Write, page: &Page, report: &StatsReport) -> io::Result<()> {
    let errors = report.tensors.iter().map(|weight| weight.figures.rank_error);
    let (mut weights, mut worst) = (0, 0.0f64);
    for error in errors.filter(|error| *error > 0.0) {
        (weights, worst) = (weights + 1, worst.max(error));
    }
    if weights == 0 {
        return Ok(());
    }
    let text = format!(
        "Quantiles of {} use one value in 16. The rank error is at most {:.2}%.",
        plural(weights, "large weight"),
        worst * 100.0
    );
    write!(out, "\n  ")?;
    wrapped(out, page.width, 2, 2, &text)
}

/// Lists each weight with warnings.
fn oddities(
    out: &mut dyn Write,
    page: &Page,
    lines: usize,
    report: &StatsReport,
) -> io::Result<()> {
    let odd: Vec<&WeightStats> =
        report.tensors.iter().filter(|weight| !weight.findings.is_empty()).collect();
    let shown = page.shown_of(odd.len(), lines);
    for weight in &odd[..shown] {
        writeln!(out, "\n  {}", escaped(&weight.name))?;
        for finding in &weight.findings {
            let kind = finding.kind;
            write!(out, "    {ALARM}{kind}{ALARM:#}: ")?;
            wrapped(out, page.width, 6, 6 + kind.len(), &finding.message)?;
        }
    }
    more(out, odd.len() - shown)
}

/// Writes a line for each weight, worst first.
fn table(out: &mut dyn Write, page: &Page, lines: usize, report: &StatsReport) -> io::Result<()> {
    let shown = page.shown_of(report.tensors.len(), lines);
    let shown_weights = &report.tensors[..shown];
    figures(shown_weights).write(out, 2, page.width)?;
    more(out, report.tensors.len() - shown)
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), figure)
}

fn figures(weights: &[WeightStats]) -> Table<10> {
    let right = |name| (name, Side::Right);
    let mut table = Table::new([
        ("name", Side::Left),
        ("shape", Side::Left),
        right("mean"),
        right("deviation"),
        right("min"),
        right("1 %"),
        right("50 %"),
        right("99 %"),
        right("max"),
        right("zeros"),
    ])
    .dropping(&["zeros", "shape", "50 %", "1 %", "99 %"]);
    for weight in weights {
        let figures = &weight.figures;
        let quantile = |percent| number(figures.quantiles.percent(percent));
        table.row([
            escaped(&weight.name).into_owned(),
            format!("{:?}", weight.shape),
            number(figures.mean),
            number(figures.deviation),
            number(figures.min),
            quantile(1),
            quantile(50),
            quantile(99),
            number(figures.max),
            count(figures.zeros),
        ]);
    }
    table
}
