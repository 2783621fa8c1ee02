//! The report on verifying an output.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::VerifyReport;

use crate::render::lists::skipped;
use crate::render::units::{bytes_exactly, grouped, plural};
use crate::render::wrap::Folded;
use crate::render::{ALARM, Page};

/// Writes the report on the comparison with the source.
pub(in crate::commands) fn write(
    out: &mut dyn Write,
    page: &Page,
    report: &VerifyReport,
) -> io::Result<()> {
    let out = &mut Folded::new(out, page.width);
    let checked = plural(report.checked, "tensor");
    let bytes = bytes_exactly(report.bytes);
    if report.ok {
        writeln!(out, "verified: {checked}, {bytes}, {} the source", matching(report))?;
    } else {
        writeln!(out, "{ALARM}different{ALARM:#}: {}", headline(report, &checked, &bytes))?;
    }
    if report.checked_files > 0 {
        let files = plural(report.checked_files, "other file");
        let unchanged = if report.files.is_empty() { ", unchanged" } else { "" };
        writeln!(out, "  {files} compared{unchanged}")?;
    }
    if report.tied > 0 {
        writeln!(out, "  {} tied to another name", plural(report.tied, "weight"))?;
    }
    if report.overflowed > 0 {
        writeln!(out, "  {} overflowed to infinity", plural(report.overflowed, "finite value"))?;
    }
    for found in report.mismatched.iter().take(page.shown(report.mismatched.len())) {
        let (name, expected, there) =
            (escaped(&found.name), escaped(&found.expected), escaped(&found.found));
        match found.first_index {
            Some(index) => writeln!(
                out,
                "  {name}: {} different, first at {}: {there}, expected {expected}",
                plural(found.count, "element"),
                grouped(index),
            )?,
            None => writeln!(out, "  {name}: found {there}, expected {expected}")?,
        }
    }
    more(out, page, report.mismatched.len(), "different")?;
    for file in report.files.iter().take(page.shown(report.files.len())) {
        writeln!(out, "  {}: {}", escaped(&file.name), escaped(&file.problem))?;
    }
    more(out, page, report.files.len(), "different files")?;
    list(out, page, &report.missing, "missing")?;
    list(out, page, &report.extra, "not in the source")?;
    skipped(out, page, &report.skipped)
}

/// `matches` or `match`, by the number of tensors.
fn matching(report: &VerifyReport) -> &'static str {
    if report.checked == 1 { "matches" } else { "match" }
}

/// Counts what differs and what matches.
fn headline(report: &VerifyReport, checked: &str, bytes: &str) -> String {
    let wrong = report.mismatched.len() + report.missing.len() + report.extra.len();
    let files = plural(report.files.len() as u64, "file");
    let differ = if report.files.len() == 1 { "differs" } else { "differ" };
    let were = if report.checked == 1 { "was" } else { "were" };
    match (wrong, report.files.len()) {
        (0, 1..) => {
            let matching = matching(report);
            format!("{checked}, {bytes}, {matching} the source, but {files} {differ}")
        }
        (wrong, 0) => {
            let wrong = plural(wrong as u64, "tensor");
            format!("{wrong}; {checked}, {bytes}, {were} compared")
        }
        (wrong, _) => {
            let wrong = plural(wrong as u64, "tensor");
            format!("{wrong} and {files}; {checked}, {bytes}, {were} compared")
        }
    }
}

fn list(out: &mut dyn Write, page: &Page, names: &[String], what: &str) -> io::Result<()> {
    for name in names.iter().take(page.shown(names.len())) {
        writeln!(out, "  {}: {what}", escaped(name))?;
    }
    more(out, page, names.len(), what)
}

fn more(out: &mut dyn Write, page: &Page, all: usize, what: &str) -> io::Result<()> {
    match all - page.shown(all) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more {what}", grouped(more as u64)),
    }
}
