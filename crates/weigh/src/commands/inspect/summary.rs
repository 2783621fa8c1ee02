//! What a model is: the block of facts, the schemes, the types, the remarks.

use std::io::{self, Write};

use weighbridge::internals::text::{escaped, listed, shortened};
use weighbridge::ops::{AdapterReport, DecodedBytes, FileReport, Report, SchemeReport};

use crate::render::Page;
use crate::render::lists::{dropped, labelled, more, remarks};
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, bytes_exactly, count, count_exactly, grouped, plural};
use crate::render::wrap::wrapped;

/// The most characters of a model's name, which may be any text.
const MOST_NAME: usize = 60;

/// How many functions and classes are named, and the most characters of each.
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

/// The last line about a file that is a program.
pub(super) fn would_run(out: &mut dyn Write, page: &Page, names: &[String]) -> io::Result<()> {
    let shown = page.shown_of(names.len(), MOST_RUN);
    let mut parts: Vec<String> =
        names[..shown].iter().map(|name| shortened(name, MOST_PATH)).collect();
    if shown < names.len() {
        parts.push(format!("{} more", grouped((names.len() - shown) as u64)));
    }
    let what = match parts.is_empty() {
        true => "nothing but the builders of tensors and of plain containers".to_owned(),
        false => listed(&parts, "and"),
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
        match report.weights == report.stored_tensors {
            true => grouped(report.weights),
            false => {
                let stored = plural(report.stored_tensors, "stored tensor");
                format!("{} from {stored}", grouped(report.weights))
            }
        },
    ));
    facts.push(("parameters", count_exactly(report.parameters)));
    if let Some(bits) = report.bits_per_weight {
        facts.push(("stored", format!("{bits:.2} bits per weight")));
        let sizes = &report.decoded_bytes;
        let sizes =
            [("auto", sizes.auto), ("bf16", sizes.bf16), ("f16", sizes.f16), ("f32", sizes.f32)];
        let sizes = sizes.map(|(name, size)| format!("{name} {}", bytes(size)));
        facts.push(("decoded", sizes.join(", ")));
        facts.push(("sizes", exact_sizes(&report.decoded_bytes)));
    }
    if !report.dtypes.is_empty() {
        facts.push(("dtypes", dtypes(page, report)));
    }
    labelled(out, page, &facts)
}

/// What an adapter is, and of what.
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

/// `431,360 bytes as f32, 215,680 as bf16, 121,984 as q8_0`.
fn exact_sizes(sizes: &DecodedBytes) -> String {
    let [f32, bf16, q8_0] = [sizes.f32, sizes.bf16, sizes.q8_0].map(grouped);
    format!("{f32} bytes as f32, {bf16} as bf16, {q8_0} as q8_0")
}

/// `42 I32, 22 F16`, the most frequent first.
fn dtypes(page: &Page, report: &Report) -> String {
    let mut all: Vec<_> = report.dtypes.iter().collect();
    all.sort_by(|a, b| b.1.cmp(a.1));
    let shown = page.shown(all.len());
    let mut names: Vec<_> = all[..shown]
        .iter()
        .map(|(name, count)| format!("{} {}", grouped(**count), escaped(name)))
        .collect();
    if shown < all.len() {
        names.push(format!("and {} more kinds", grouped((all.len() - shown) as u64)));
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
