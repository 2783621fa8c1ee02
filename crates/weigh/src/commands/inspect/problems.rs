//! The problems of a model, grouped by kind.
//!
//! A problem of many tensors is shown once, with the tensor names below it.

use std::collections::HashMap;
use std::io::{self, Write};

use weighbridge::Remedy;
use weighbridge::catalog::Finding;
use weighbridge::internals::text::escaped;

use crate::remedy;
use crate::render::units::{grouped, plural};
use crate::render::wrap::wrapped;
use crate::render::{ALARM, LABEL, MOST, Page};

/// Names shown per group if a kind has several groups.
const FEW: usize = 3;

/// Findings of one kind with one message, and their tensors.
struct Group<'a> {
    kind: &'static str,
    message: &'a str,
    remedy: Option<Remedy>,
    tensors: Vec<&'a str>,
}

pub(super) fn write(out: &mut dyn Write, page: &Page, problems: &[Finding]) -> io::Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {ALARM}{}{ALARM:#}", plural(problems.len() as u64, "problem"))?;
    let groups = grouped_by_message(problems);
    let mut kinds: Vec<&'static str> = Vec::new();
    for group in &groups {
        if !kinds.contains(&group.kind) {
            kinds.push(group.kind);
        }
    }
    for kind in kinds {
        writeln!(out, "  {ALARM}{kind}{ALARM:#}")?;
        let all: Vec<_> = groups.iter().filter(|group| group.kind == kind).collect();
        let shown = page.shown(all.len());
        let names = if all.len() > 1 { FEW } else { MOST };
        for group in &all[..shown] {
            write_group(out, page, group, names)?;
        }
        more(out, 4, all.len() - shown)?;
    }
    Ok(())
}

/// Writes the command that explains these kinds of problems.
pub(super) fn next(out: &mut dyn Write, page: &Page, problems: &[Finding]) -> io::Result<()> {
    let mut kinds: Vec<&str> = Vec::new();
    for finding in problems {
        if !kinds.contains(&finding.kind) {
            kinds.push(finding.kind);
        }
    }
    match (kinds.len(), page.shown(kinds.len())) {
        (0, _) => Ok(()),
        (all, shown) if all == shown => {
            writeln!(out, "  {LABEL}next:{LABEL:#} weigh errors {}", kinds.join(" "))
        }
        _ => writeln!(out, "  {LABEL}next:{LABEL:#} weigh help errors"),
    }
}

fn grouped_by_message(problems: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known = HashMap::new();
    for finding in problems {
        let (kind, message) = (finding.kind, finding.message.as_str());
        let index = *known.entry((kind, message)).or_insert_with(|| {
            groups.push(Group { kind, message, remedy: finding.remedy(), tensors: Vec::new() });
            groups.len() - 1
        });
        groups[index].tensors.extend(finding.tensor.as_deref());
    }
    groups
}

fn write_group(
    out: &mut dyn Write,
    page: &Page,
    group: &Group<'_>,
    names: usize,
) -> io::Result<()> {
    let way_out = group.remedy.and_then(remedy::words).map_or(String::new(), |w| format!(" ({w})"));
    let message = format!("{}{way_out}", escaped(group.message));
    write!(out, "    ")?;
    match &group.tensors[..] {
        [] => wrapped(out, page.width, 6, 4, &message),
        [tensor] => wrapped(out, page.width, 6, 4, &format!("{}: {message}", escaped(tensor))),
        tensors => {
            let count = plural(tensors.len() as u64, "tensor");
            wrapped(out, page.width, 6, 4, &format!("{count}: {message}"))?;
            let shown = page.shown_of(tensors.len(), names);
            for tensor in &tensors[..shown] {
                writeln!(out, "      {}", escaped(tensor))?;
            }
            more(out, 6, tensors.len() - shown)
        }
    }
}

fn more(out: &mut dyn Write, indent: usize, rest: usize) -> io::Result<()> {
    match rest {
        0 => Ok(()),
        rest => {
            let rest = grouped(rest as u64);
            writeln!(out, "{:indent$}{LABEL}and {rest} more (--verbose shows all){LABEL:#}", "")
        }
    }
}
