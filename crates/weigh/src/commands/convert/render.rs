//! The report on a conversion or its plan.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::{ConversionReport, ConvertReport, RewrittenFile};

use super::plan;
use crate::commands::quantize::write_cost;
use crate::render::lists::{labelled, left_behind, remarks, skipped, warned, with_reasons};
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, bytes_exactly, count, duration, grouped, plural, rate};
use crate::render::wrap::wrapped;
use crate::render::{ALARM, LABEL, Page, TITLE};

/// Writes the report on a conversion or its plan.
pub(super) fn write(
    out: &mut dyn Write,
    page: &Page,
    report: &ConvertReport,
    dry_run: bool,
) -> io::Result<()> {
    for file in &report.files {
        writeln!(out, "{TITLE}{}{TITLE:#}", escaped(&file.path))?;
    }
    if let Some(values @ 1..) = report.overflowed {
        let values = plural(values, "finite value");
        writeln!(out, "  {ALARM}{values} overflowed to infinity{ALARM:#}\n")?;
    }
    labelled(out, page, &facts(page, report, dry_run))?;
    writeln!(out)?;
    match &report.quantized {
        Some(cost) => write_cost(out, page, cost)?,
        None => table(out, page, &report.conversions)?,
    }
    // A plan with metadata renames weights; other plans repeat the source's names.
    if let Some(plan) =
        report.plan.as_ref().filter(|plan| page.verbose || !plan.metadata.is_empty())
    {
        plan::write(out, page, plan)?;
    }
    warned(out, page, &report.warnings)?;
    remarks(out, page, &report.notes)?;
    skipped(out, page, &report.skipped)?;
    let dropped: Vec<_> = report.dropped.iter().map(|one| (&*one.name, &*one.reason)).collect();
    with_reasons(out, page, "not written", &dropped)?;
    rewritten(out, page, &report.rewritten)?;
    left_behind(out, page, &report.left_behind)?;
    not_carried(out, page, &report.not_carried)
}

/// Summarizes the plan in one line.
pub(in crate::commands) fn plan_line(report: &ConvertReport) -> String {
    format!(
        "{} to read, {} to write, {}, {} of memory plus headers",
        bytes(report.read_bytes),
        bytes(report.write_bytes),
        plural(report.threads, "thread"),
        bytes(report.tile_memory),
    )
}

fn facts(page: &Page, report: &ConvertReport, dry_run: bool) -> Vec<(&'static str, String)> {
    let (kept, own): (Vec<_>, Vec<_>) = report.files.iter().partition(|file| file.kept);
    let tensors = own.iter().map(|file| file.tensors).sum();
    let (written, read) = if dry_run { ("would write", "would read") } else { ("written", "read") };
    let mut facts = vec![
        (written, format!("{}, {}", plural(tensors, "tensor"), bytes_exactly(report.write_bytes))),
        (read, bytes_exactly(report.read_bytes)),
    ];
    if !kept.is_empty() {
        let (files, kept) = (plural(kept.len() as u64, "file"), kept.iter().map(|file| file.bytes));
        facts
            .push(("kept", format!("{files}, {}, from an earlier run", bytes_exactly(kept.sum()))));
    }
    match report.seconds {
        Some(seconds) => {
            let speed = rate(report.read_bytes + report.write_bytes, seconds);
            let memory = report.peak_memory.map(|peak| format!("peak memory {}", bytes(peak)));
            let parts = [Some(duration(seconds)), speed, memory];
            facts.push(("took", parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
        }
        None => {
            let (threads, memory) = (plural(report.threads, "thread"), bytes(report.tile_memory));
            facts.push(("would take", format!("{threads}, {memory} of memory plus headers")));
        }
    }
    for decoded in report.decoded_as.iter().take(page.shown(report.decoded_as.len())) {
        let of = decoded.component.as_ref().map(|of| format!("{}: ", escaped(of)));
        let of = of.unwrap_or_default();
        facts.push(("decoded to", format!("{of}{}, {}", decoded.dtype, escaped(&decoded.reason))));
    }
    if !report.made.is_empty() {
        facts.push(("also written", listed(page, &report.made)));
    }
    if !report.copied.is_empty() {
        let label = if dry_run { "would copy" } else { "copied" };
        facts.push((label, plural(report.copied.len() as u64, "other file")));
    }
    for tied in report.tied.iter().take(page.shown(report.tied.len())) {
        facts.push(("tied", format!("{} to {}", escaped(&tied.name), escaped(&tied.to))));
    }
    if !report.metadata_left_out.is_empty() {
        facts.push(("dropped", left_out(page, &report.metadata_left_out)));
    }
    facts
}

/// Lists rewritten configs with their changes.
fn rewritten(out: &mut dyn Write, page: &Page, files: &[RewrittenFile]) -> io::Result<()> {
    let described = |file: &RewrittenFile| {
        let mut parts = Vec::new();
        if !file.removed.is_empty() {
            parts.push(format!("removed {}", file.removed.join(", ")));
        }
        parts.extend(file.changed.iter().map(|new| match &new.from {
            Some(from) => format!("changed {} from {from} to {}", new.key, new.to),
            None => format!("added {}", new.key),
        }));
        (file.name.clone(), parts.join("; "))
    };
    let files: Vec<_> = files.iter().map(described).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    with_reasons(out, page, "rewritten", &files)
}

/// `metadata tokenizer.ggml.tokens, tokenizer.ggml.scores`.
fn left_out(page: &Page, keys: &[String]) -> String {
    format!("metadata {}", listed(page, keys))
}

/// Joins the names that are shown, and counts the others.
fn listed(page: &Page, names: &[String]) -> String {
    let shown = page.shown(names.len());
    let some: Vec<_> = names[..shown].iter().map(|name| escaped(name)).collect();
    let more = match names.len() - shown {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    format!("{}{more}", some.join(", "))
}

/// Lists the settings that the source does not store, each with what is taken for it.
fn not_carried(out: &mut dyn Write, page: &Page, keys: &[String]) -> io::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {LABEL}not stored in the file; the loader takes{LABEL:#}")?;
    write!(out, "    ")?;
    wrapped(out, page.width, 4, 4, &escaped(&keys.join("; ")))
}

fn table(out: &mut dyn Write, page: &Page, rows: &[ConversionReport]) -> io::Result<()> {
    let mut table = Table::new([
        ("scheme", Side::Left),
        ("variant", Side::Left),
        ("to", Side::Left),
        ("weights", Side::Right),
        ("parameters", Side::Right),
        ("from", Side::Right),
        ("bytes", Side::Right),
    ])
    .dropping(&["parameters", "from"]);
    for row in rows {
        table.row([
            row.scheme.to_owned(),
            escaped(&row.variant).into_owned(),
            escaped(&row.dtype).into_owned(),
            grouped(row.weights),
            count(row.parameters),
            bytes(row.read_bytes),
            bytes(row.write_bytes),
        ]);
    }
    table.write(out, 2, page.width)
}
