//! Settings that differ: the config, the tokenizer, the chat template.

use std::io::{self, Write};

use serde_json::Value as Json;
use weighbridge::internals::text::escaped;
use weighbridge::ops::{DiffReport, Setting};

use super::render::shortened;
use crate::render::units::grouped;

/// Settings named in the first line.
const NAMED: usize = 4;

/// Longest value in the first line, in characters.
const SHORT: usize = 24;

/// Names the settings that count: `rope_theta 10000 vs 500000`, or the key alone if the values are
/// long.
pub(super) fn named(report: &DiffReport) -> Vec<String> {
    let counted: Vec<&Setting> = report.settings.iter().filter(|one| one.counts).collect();
    let mut names: Vec<String> = counted.iter().take(NAMED).map(|one| name(one)).collect();
    if counted.len() > NAMED {
        names.push(format!("{} more", counted.len() - NAMED));
    }
    names
}

fn name(setting: &Setting) -> String {
    let (a, b) = (value(&setting.a), value(&setting.b));
    let key = escaped(&setting.key);
    if a.chars().count().max(b.chars().count()) > SHORT {
        key.into_owned()
    } else {
        format!("{key} {a} vs {b}")
    }
}

/// A value without quotes; whole numbers without a point.
fn value(json: &Json) -> String {
    match json {
        Json::Null => "none".to_owned(),
        Json::String(text) => escaped(text).into_owned(),
        Json::Number(number) => match number.as_f64() {
            Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.0}"),
            _ => number.to_string(),
        },
        other => escaped(&other.to_string()).into_owned(),
    }
}

/// Lists the settings that count; all of them if `verbose`.
pub(super) fn write(
    out: &mut dyn Write,
    report: &DiffReport,
    limit: usize,
    verbose: bool,
) -> io::Result<()> {
    let shown: Vec<&Setting> = report.settings.iter().filter(|s| s.counts || verbose).collect();
    for setting in shown.iter().take(limit) {
        let (a, b) = (shortened(&value(&setting.a)), shortened(&value(&setting.b)));
        let note = if setting.counts { "" } else { " (does not change the output)" };
        writeln!(out, "  setting {}: {a} in A, {b} in B{note}", escaped(&setting.key))?;
    }
    match shown.len().saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more settings", grouped(more as u64)),
    }
}
