//! The summary of a model: facts, schemes, dtypes and notes.

use std::io::{self, Write};

use weighbridge::internals::text::{escaped, listed, shortened};
use weighbridge::ops::{AdapterReport, DecodedBytes, FileReport, Report, SchemeReport};

use crate::render::Page;
use crate::render::lists::{dropped, labelled, more, remarks};
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, bytes_exactly, count, count_exactly, grouped, plural};
use crate::render::wrap::wrapped;

/// Longest model name shown, in characters.
const MOST_NAME: usize = 60;

/// Number of functions and classes shown, and the longest of their names in characters.
const MOST_RUN: usize = 5;
const MOST_PATH: usize = 120;

pub(super) fn write(out: &mut dyn Write, page: &Page, report: &Report) -> io::Result<()> {
    facts(out, page, report)?;
    if !report.schemes.is_empty() {
        writeln!(out)?;
        schemes(out, page, report)?;
    }
    remarks(out, page, &report.notes)?;
    dropped(out, page, &report.dropped)
}

/// Writes what loading a pickle with Python would run.
pub(super) fn would_run(out: &mut dyn Write, page: &Page, names: &[String]) -> io::Result<()> {
    let shown = page.shown_of(names.len(), MOST_RUN);
    let mut parts: Vec<String> =
        names[..shown].iter().map(|name| shortened(name, MOST_PATH)).collect();
    if shown < names.len() {
        parts.push(format!("{} more", grouped((names.len() - shown) as u64)));
    }
    let what = if parts.is_empty() {
        "only constructors of tensors and plain containers".to_owned()
    } else {
        listed(&parts, "and")
    };
    writeln!(out)?;
    write!(out, "  ")?;
    wrapped(out, page.width, 2, 2, &format!("Loading it with Python would run {what}."))
}

fn facts(out: &mut dyn Write, page: &Page, report: &Report) -> io::Result<()> {
    let mut facts = Vec::new();
    for (label, value) in [("name", &report.name), ("architecture", &report.architecture)] {
        facts.extend(value.as_ref().map(|text| (label, shortened(text, MOST_NAME))));
    }
    if let Some(adapter) = &report.adapter {
        facts.extend(adapter_facts(adapter));
    }
    facts.push((
        "format",
        match &report.detail {
            Some(detail) if detail.starts_with(report.format) => escaped(detail).into_owned(),
            Some(detail) => format!("{}, {}", report.format, escaped(detail)),
            None => report.format.to_owned(),
        },
    ));
    facts.push((
        "files",
        format!("{}, {}", grouped(report.files.len() as u64), bytes_exactly(report.file_bytes)),
    ));
    if page.verbose {
        let line = |file: &FileReport| format!("{}  {}", escaped(&file.path), bytes(file.bytes));
        facts.extend(report.files.iter().map(|file| ("", line(file))));
    }
    facts.push((
        "weights",
        if report.weights == report.stored_tensors {
            grouped(report.weights)
        } else {
            let stored = plural(report.stored_tensors, "stored tensor");
            format!("{} from {stored}", grouped(report.weights))
        },
    ));
    facts.push(("parameters", count_exactly(report.parameters)));
    if let Some(bits) = report.bits_per_weight {
        facts.push(("stored", format!("{bits:.2} bits per weight")));
        facts.push(("sizes", sizes(&report.decoded_bytes)));
    }
    if !report.dtypes.is_empty() {
        facts.push(("dtypes", dtypes(page, report)));
    }
    labelled(out, page, &facts)
}

/// An adapter's kind, rank, alpha, base model and targets.
fn adapter_facts(adapter: &AdapterReport) -> Vec<(&'static str, String)> {
    let kind = match &*adapter.kind {
        "lora" => "LoRA".to_owned(),
        other => shortened(other, MOST_NAME),
    };
    let rank = adapter.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
    let alpha = adapter.alpha.map_or(String::new(), |alpha| format!(", alpha {alpha}"));
    let mut facts = vec![("adapter", format!("{kind}{rank}{alpha}"))];
    let base = adapter.base_model.as_ref();
    facts.extend(base.map(|name| ("base model", shortened(name, MOST_PATH))));
    if !adapter.target_modules.is_empty() {
        let names = adapter.target_modules.iter().map(|name| shortened(name, MOST_PATH));
        facts.push(("targets", names.collect::<Vec<_>>().join(", ")));
    }
    facts
}

/// `f32 421.2 KiB, bf16 210.6 KiB, f16 210.6 KiB, q8_0 112.8 KiB`; `auto` if it is not bf16's size.
fn sizes(sizes: &DecodedBytes) -> String {
    let all = [("f32", sizes.f32), ("bf16", sizes.bf16), ("f16", sizes.f16), ("q8_0", sizes.q8_0)];
    let auto = (sizes.auto != sizes.bf16).then_some(("auto", sizes.auto));
    let all = all.into_iter().chain(auto);
    all.map(|(name, size)| format!("{name} {}", bytes(size))).collect::<Vec<_>>().join(", ")
}

/// Counts dtypes, most frequent first: `42 I32, 22 F16`.
fn dtypes(page: &Page, report: &Report) -> String {
    let mut all: Vec<_> = report.dtypes.iter().collect();
    all.sort_by(|a, b| b.1.cmp(a.1));
    let shown = page.shown(all.len());
    let mut names: Vec<_> = all[..shown]
        .iter()
        .map(|(name, count)| format!("{} {}", grouped(**count), escaped(name)))
        .collect();
    if shown < all.len() {
        names.push(format!("and {} more dtypes", grouped((all.len() - shown) as u64)));
    }
    names.join(", ")
}

fn schemes(out: &mut dyn Write, page: &Page, report: &Report) -> io::Result<()> {
    let all = report.schemes.iter().map(|row| row.bytes).fold(0, u64::saturating_add);
    let mut table = Table::new([
        ("scheme", Side::Left),
        ("variant", Side::Left),
        ("weights", Side::Right),
        ("parameters", Side::Right),
        ("bytes", Side::Right),
        ("share", Side::Right),
    ])
    .dropping(&["parameters", "share"]);
    let shown = page.shown(report.schemes.len());
    for row in &report.schemes[..shown] {
        table.row(scheme_row(row, all));
    }
    table.write(out, 2, page.width)?;
    more(out, report.schemes.len() - shown)
}

fn scheme_row(row: &SchemeReport, all: u64) -> [String; 6] {
    #[allow(clippy::cast_precision_loss)] // A percentage.
    let share = row.bytes as f64 * 100.0 / all.max(1) as f64;
    [
        row.scheme.to_owned(),
        escaped(&row.variant).into_owned(),
        grouped(row.weights),
        count(row.parameters),
        bytes(row.bytes),
        format!("{share:.1} %"),
    ]
}
