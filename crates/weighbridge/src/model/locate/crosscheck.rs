//! After opening: does every file hold what the index promised, and each name only once?

use std::collections::HashMap;

use super::super::file_name;
use super::index::Index;
use super::{shown_name, some_of};
use crate::catalog::Finding;
use crate::source::Source;

/// How many findings of one kind are listed; the rest is counted.
const MOST: usize = 50;

/// How many names a note has.
const NAMED: usize = 5;

type Names<'a> = HashMap<&'a str, u32, foldhash::fast::RandomState>;

/// Findings about the files of a model taken together, and what is worth a note.
pub(in crate::model) fn cross_check(
    index: Option<&Index>,
    sources: &[Source],
    notes: &mut Vec<String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if sources.len() > 1 {
        findings.extend(duplicates(sources));
    }
    if let Some(index) = index {
        findings.extend(misplaced(index, sources, notes));
        findings.extend(absences(index, sources));
    }
    findings
}

fn tensors(sources: &[Source]) -> impl Iterator<Item = (u32, &Source, &str)> {
    (0u32..).zip(sources).flat_map(|(at, source)| {
        source.catalog().tensors.iter().map(move |tensor| (at, source, &*tensor.name))
    })
}

fn duplicates(sources: &[Source]) -> Vec<Finding> {
    let mut first = Names::default();
    let mut out = Capped::new("duplicate-tensor", "more tensors occur in several files");
    for (at, source, name) in tensors(sources) {
        let before = *first.entry(name).or_insert(at);
        if before != at {
            let other = sources.get(before as usize).map(file_name).unwrap_or_default();
            out.push(name, || {
                format!("it is in both {other} and {}; the right one is unknown", file_name(source))
            });
        }
    }
    out.finish()
}

/// Tensors that the index lists in another file. Those that it does not list at all are used, and
/// noted.
fn misplaced(index: &Index, sources: &[Source], notes: &mut Vec<String>) -> Vec<Finding> {
    let mut forgotten: Vec<&str> = Vec::new();
    let promised: Names<'_> = index.entries.iter().map(|(name, file)| (&**name, *file)).collect();
    let mut out = Capped::new("index-mismatch", "more tensors are not in the file the index names");
    for (_, source, name) in tensors(sources) {
        let expected = promised.get(name).and_then(|&file| index.files.get(file as usize));
        match expected {
            Some(file) if source.input().name().ends_with(file) => {}
            Some(file) => out.push(name, || {
                format!(
                    "the index places it in {}, but it is in {}",
                    crate::text::escaped(file),
                    file_name(source)
                )
            }),
            None => forgotten.push(name),
        }
    }
    if !forgotten.is_empty() {
        let (count, names) = (forgotten.len(), some_of(&forgotten, NAMED));
        let (tensors, are) = if count == 1 { ("tensor", "is") } else { ("tensors", "are") };
        let index = shown_name(&index.path);
        notes.push(format!("{count} {tensors} missing from {index} {are} used: {names}"));
    }
    out.finish()
}

/// Tensors that are missing from the file in which the index lists them.
fn absences(index: &Index, sources: &[Source]) -> Vec<Finding> {
    let present: Names<'_> = tensors(sources).map(|(at, _, name)| (name, at)).collect();
    let opened: Vec<bool> = index
        .files
        .iter()
        .map(|file| sources.iter().any(|source| source.input().name().ends_with(file)))
        .collect();
    let mut out = Capped::new("index-mismatch", "more tensors of the index are not in any file");
    for (name, file) in &index.entries {
        let position = *file as usize;
        if opened.get(position) == Some(&true) && !present.contains_key(&**name) {
            let file = index.files.get(position).map_or("", String::as_str);
            out.push(name, || {
                format!(
                    "the index places it in {}, but that file does not have it",
                    crate::text::escaped(file)
                )
            });
        }
    }
    out.finish()
}

/// Findings of one kind; beyond a limit they are only counted.
struct Capped {
    kind: &'static str,
    rest: &'static str,
    findings: Vec<Finding>,
    more: usize,
}

impl Capped {
    fn new(kind: &'static str, rest: &'static str) -> Self {
        Self { kind, rest, findings: Vec::new(), more: 0 }
    }

    fn push(&mut self, tensor: &str, message: impl FnOnce() -> String) {
        if self.findings.len() < MOST {
            self.findings.push(Finding::of(tensor, self.kind, message()));
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let message = format!("{} {}", self.more, self.rest);
            self.findings.push(Finding::general(self.kind, message));
        }
        self.findings
    }
}
