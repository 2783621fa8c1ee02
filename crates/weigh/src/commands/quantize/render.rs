//! The quantization error by type and by weight.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::{CostReport, QuantizeReport};

use crate::render::lists::more;
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, count, grouped};
use crate::render::{LABEL, Page};

/// Weights with the largest errors that are listed without `--verbose`.
const WORST: usize = 5;

pub(in crate::commands) fn write_cost(
    out: &mut dyn Write,
    page: &Page,
    report: &QuantizeReport,
) -> io::Result<()> {
    let mut table = Table::new([
        ("type", Side::Left),
        ("weights", Side::Right),
        ("parameters", Side::Right),
        ("bytes", Side::Right),
        ("bits", Side::Right),
        ("SNR", Side::Right),
        ("error", Side::Right),
        ("steps", Side::Right),
        ("clipped", Side::Right),
        ("to zero", Side::Right),
    ])
    .dropping(&["to zero", "clipped", "steps", "parameters"]);
    for row in &report.types {
        let [snr, error, steps, clipped, flushed] = cells(row.cost.as_ref());
        table.row([
            escaped(&row.name).into_owned(),
            grouped(row.weights),
            count(row.parameters),
            bytes(row.bytes),
            format!("{:.2}", row.bits_per_weight),
            snr,
            error,
            steps,
            clipped,
            flushed,
        ]);
    }
    table.write(out, 2, page.width)?;
    writeln!(out)?;
    let bits = report.bits_per_weight;
    writeln!(out, "  {LABEL}total:{LABEL:#} {bits:.3} bits per weight{}", overall(report))?;
    worst(out, page, report)
}

/// The SNR of all encoded weights. A resumed run measures only the weights that it encodes itself.
fn overall(report: &QuantizeReport) -> String {
    if let Some(values @ 1..) = report.cost.map(|cost| cost.nonfinite) {
        return format!(", {} values not finite", grouped(values));
    }
    let Some(snr) = report.cost.and_then(|cost| cost.snr_db) else { return String::new() };
    let measured = report.weights.iter().filter(|weight| weight.cost.is_some()).count();
    let partial = match report.weights.len() {
        all if all == measured => String::new(),
        all => format!(" ({measured} of {all} encoded weights; an earlier run wrote the others)"),
    };
    format!(", SNR {snr:.2} dB{partial}")
}

/// Lists the weights with the largest errors.
fn worst(out: &mut dyn Write, page: &Page, report: &QuantizeReport) -> io::Result<()> {
    let mut weights: Vec<_> =
        report.weights.iter().filter(|weight| weight.cost.is_some()).collect();
    if weights.is_empty() {
        return Ok(());
    }
    // Values that are not finite are the largest error of all.
    let key = |cost: &Option<CostReport>| match cost {
        Some(cost) if cost.nonfinite > 0 => f64::NEG_INFINITY,
        cost => cost.and_then(|cost| cost.snr_db).unwrap_or(f64::INFINITY),
    };
    weights.sort_by(|a, b| key(&a.cost).total_cmp(&key(&b.cost)));
    let shown = if page.verbose { weights.len() } else { weights.len().min(WORST) };
    writeln!(out, "\n  {LABEL}largest errors{LABEL:#}")?;
    let mut table = Table::new([
        ("weight", Side::Left),
        ("type", Side::Left),
        ("SNR", Side::Right),
        ("error", Side::Right),
        ("steps", Side::Right),
        ("clipped", Side::Right),
        ("to zero", Side::Right),
    ])
    .dropping(&["to zero", "clipped", "steps"]);
    for weight in &weights[..shown] {
        let [snr, error, steps, clipped, flushed] = cells(weight.cost.as_ref());
        let name = escaped(&weight.name).into_owned();
        table.row([name, weight.to.clone(), snr, error, steps, clipped, flushed]);
    }
    table.write(out, 4, page.width)?;
    more(out, if page.verbose { weights.len() - shown } else { 0 })
}

/// The SNR in decibels, or why there is none.
fn snr(cost: &CostReport) -> String {
    match (cost.snr_db, cost.nonfinite) {
        (Some(snr), _) => format!("{snr:.2} dB"),
        (None, values @ 1..) => format!("{} not finite", grouped(values)),
        (None, 0) if cost.max_abs == 0.0 => "lossless".to_owned(),
        (None, 0) => String::new(),
    }
}

/// SNR, relative error, steps, clipped, flushed to zero.
fn cells(cost: Option<&CostReport>) -> [String; 5] {
    let Some(cost) = cost else { return [const { String::new() }; 5] };
    [
        snr(cost),
        cost.relative.map_or_else(String::new, |relative| format!("{:.3} %", relative * 100.0)),
        cost.max_steps.map_or_else(String::new, |steps| format!("{steps:.2}")),
        cost.clipped.map_or_else(String::new, grouped),
        grouped(cost.flushed),
    ]
}
