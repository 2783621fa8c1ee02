//! The report on verifying an output.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::VerifyReport;

use crate::render::units::{bytes_exactly, grouped, plural};
use crate::render::{ALARM, Page};

/// Writes the report on a comparison with the source.
pub(in crate::commands) fn write(
    out: &mut dyn Write,
    page: &Page,
    report: &VerifyReport,
) -> io::Result<()> {
    let checked = plural(report.checked, "tensor");
    let bytes = bytes_exactly(report.bytes);
    match report.ok {
        true => writeln!(out, "verified: {checked}, {bytes}, match the source")?,
        false => writeln!(out, "{ALARM}different{ALARM:#}: of {checked}, {bytes}, compared")?,
    }
    if report.tied > 0 {
        writeln!(out, "  {} tied to another name", plural(report.tied, "weight"))?;
    }
    if report.overflowed > 0 {
        writeln!(out, "  {} became infinite", plural(report.overflowed, "finite value"))?;
    }
    for found in report.mismatched.iter().take(page.shown(report.mismatched.len())) {
        let (name, expected, there) =
            (escaped(&found.name), escaped(&found.expected), escaped(&found.found));
        match found.first_index {
            Some(index) => writeln!(
                out,
                "  {name}: {} different, first at {}: {there} instead of {expected}",
                plural(found.count, "element"),
                grouped(index),
            )?,
            None => writeln!(out, "  {name}: is {there}, should be {expected}")?,
        }
    }
    more(out, page, report.mismatched.len(), "different")?;
    list(out, page, &report.missing, "missing")?;
    list(out, page, &report.extra, "not in the source")
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
