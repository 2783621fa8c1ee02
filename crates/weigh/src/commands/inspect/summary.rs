//! What a model is: the block of facts, the schemes, the types, the remarks.

use std::io::{self, Write};

use weighbridge::internals::text::{escaped, shortened};
use weighbridge::ops::{FileReport, Report, SchemeReport};

use crate::render::Page;
use crate::render::lists::{dropped, labelled, more, remarks};
use crate::render::table::{Side, Table};
use crate::render::units::{bytes, bytes_exactly, count, count_exactly, grouped, plural};

/// The most characters of a model's name, which may be any text.
const MOST_NAME: usize = 60;

pub(super) fn write(out: &mut dyn Write, page: &Page, report: &Report) -> io::Result<()> {
    facts(out, page, report)?;
    if !report.schemes.is_empty() {
        writeln!(out)?;
        schemes(out, page, report)?;
    }
    remarks(out, page, &report.notes)?;
    dropped(out, page, &report.dropped)
}

fn facts(out: &mut dyn Write, page: &Page, report: &Report) -> io::Result<()> {
    let mut facts = Vec::new();
    for (label, value) in [("name", &report.name), ("architecture", &report.architecture)] {
        facts.extend(value.as_ref().map(|text| (label, shortened(text, MOST_NAME))));
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
    }
    if !report.dtypes.is_empty() {
        facts.push(("dtypes", dtypes(page, report)));
    }
    labelled(out, page, &facts)
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
    ]);
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
        format!("{share:.1}%"),
    ]
}
