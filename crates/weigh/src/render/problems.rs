//! What is wrong with a model, kind by kind.

use std::io::{self, Write};

use weighbridge::catalog::Finding;
use weighbridge::text::escaped;

use super::units::{grouped, plural};
use super::wrap::wrapped;
use super::{ALARM, LABEL, Page};

pub(super) fn write(out: &mut dyn Write, page: &Page, problems: &[Finding]) -> io::Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "  {ALARM}{}{ALARM:#}",
        plural(problems.len() as u64, "problem")
    )?;
    for (kind, all) in by_kind(problems) {
        writeln!(out, "  {ALARM}{kind}{ALARM:#}")?;
        let shown = page.shown(all.len());
        for finding in &all[..shown] {
            line(out, page, finding)?;
        }
        if shown < all.len() {
            let rest = grouped((all.len() - shown) as u64);
            writeln!(
                out,
                "    {LABEL}and {rest} more, see --verbose or --json{LABEL:#}"
            )?;
        }
    }
    writeln!(out)
}

/// Kinds in the order of their first appearance.
fn by_kind(problems: &[Finding]) -> Vec<(&'static str, Vec<&Finding>)> {
    let mut kinds: Vec<(&'static str, Vec<&Finding>)> = Vec::new();
    for finding in problems {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
            Some((_, all)) => all.push(finding),
            None => kinds.push((finding.kind, vec![finding])),
        }
    }
    kinds
}

fn line(out: &mut dyn Write, page: &Page, finding: &Finding) -> io::Result<()> {
    let message = escaped(&finding.message);
    let text = match &finding.tensor {
        Some(tensor) => format!("{}: {message}", escaped(tensor)),
        None => message.into_owned(),
    };
    write!(out, "    ")?;
    wrapped(out, page.width, 6, 4, &text)
}
