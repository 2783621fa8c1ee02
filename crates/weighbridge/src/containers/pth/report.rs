//! What is worth saying about a whole file: globals, shared storages, names that occur twice.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::catalog::{Catalog, Finding, Order, Run, TensorInfo};
use crate::error::{Error, Result};
use crate::text::{escaped, shortened};

use super::super::Opening;
use super::pickle::{Class, Global, Heap, python3_name};

/// Groups of tied tensors that are named; names in a group.
const SHOWN: usize = 20;
const SHOWN_NAMES: usize = 6;

/// Lists the globals of a pickle that are not known, and those that are known too well.
pub(super) fn globals(heap: &Heap<'_>, opening: &Opening<'_>, catalog: &mut Catalog) -> Result<()> {
    let mut seen = HashSet::<String, RandomState>::default();
    for global in heap.globals() {
        if !matches!(global.class, Class::Unknown | Class::Dangerous) {
            continue;
        }
        let path = spelled(heap, global);
        if seen.contains(&path) {
            continue;
        }
        opening.budget.charge((path.len() as u64).saturating_mul(4), "the list of globals")?;
        match global.class {
            Class::Dangerous => dangerous(&path, opening, catalog)?,
            _ => unknown(&path, opening, catalog)?,
        }
        seen.insert(path);
    }
    Ok(())
}

/// `module.name`, with its name in Python 3 where that differs.
fn spelled(heap: &Heap<'_>, global: &Global) -> String {
    let path = escaped(&heap.path_of(global)).into_owned();
    match python3_name(&heap.text(global.module)).filter(|_| global.python2) {
        Some(module) => {
            format!("{path} ({module}.{} in Python 3)", escaped(&heap.text(global.name)))
        }
        None => path,
    }
}

fn dangerous(path: &str, opening: &Opening<'_>, catalog: &mut Catalog) -> Result<()> {
    let reason = format!("the pickle names {path}, which only an attack needs");
    if opening.strict_pickle {
        return Err(Error::unsupported(reason));
    }
    let full = || format!("{reason}: nothing is read from this file");
    catalog.unsafe_to_read.get_or_insert_with(full);
    let message = format!("{path} would run when the file is loaded with Python; delete the file");
    push_once(catalog, "dangerous-global", message);
    Ok(())
}

fn unknown(path: &str, opening: &Opening<'_>, catalog: &mut Catalog) -> Result<()> {
    if opening.strict_pickle {
        return Err(Error::unsupported(format!("the pickle names {path}, which is not known"))
            .hint("without --strict-pickle it is listed and otherwise ignored"));
    }
    let message =
        format!("{path} is not known; its contents were searched for tensors, nothing was run");
    push_once(catalog, "unknown-global", message);
    Ok(())
}

/// Several pickles of one file may name the same.
fn push_once(catalog: &mut Catalog, kind: &'static str, message: String) {
    if !catalog.findings.iter().any(|f| f.kind == kind && f.message == message) {
        catalog.findings.push(Finding::general(kind, message));
    }
}

/// Notes tensors that are the same bytes, and names that occur twice.
pub(super) fn relations(catalog: &mut Catalog) {
    ties(catalog);
    duplicates(catalog);
}

/// What two tied tensors have in common.
fn bytes_of(tensor: &TensorInfo) -> Option<(u8, u32, u64, u64)> {
    if tensor.bytes == 0 || tensor.refused.is_some() {
        return None;
    }
    match tensor.place.run {
        Run::At(offset) => Some((0, 0, offset, tensor.bytes)),
        Run::Inside { member, offset } => Some((1, member, offset, tensor.bytes)),
        Run::Held { .. } | Run::Nowhere => None,
    }
}

fn same_order(a: &TensorInfo, b: &TensorInfo) -> bool {
    match (&a.place.order, &b.place.order) {
        (Order::RowMajor, Order::RowMajor) => true,
        (a_order, b_order) => a_order == b_order && a.shape == b.shape,
    }
}

fn ties(catalog: &mut Catalog) {
    let tensors = &catalog.tensors;
    let mut places: Vec<_> = (0..)
        .zip(tensors)
        .filter_map(|(at, tensor)| bytes_of(tensor).map(|bytes| (bytes, at)))
        .collect();
    places.sort_unstable();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for run in places.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
        let mut rest: Vec<usize> = run.iter().map(|&(_, at)| at).collect();
        // Usually all have one order; views that differ in it make groups of their own.
        while let Some(first) = rest.first().and_then(|&at| tensors.get(at)) {
            let (same, other): (Vec<_>, Vec<_>) = rest
                .iter()
                .partition(|&&at| tensors.get(at).is_some_and(|tensor| same_order(first, tensor)));
            if same.len() > 1 {
                groups.push(same);
            }
            if groups.len() > SHOWN.saturating_mul(4) || other.len() == rest.len() {
                break;
            }
            rest = other;
        }
    }
    groups.sort_unstable();
    let mut notes = Vec::new();
    for group in groups.iter().take(SHOWN) {
        notes.push(format!("{} share one storage", together(group, tensors)));
    }
    if groups.len() > SHOWN {
        let more = groups.len().saturating_sub(SHOWN);
        notes.push(format!("{more} more groups of tensors share a storage each"));
    }
    catalog.notes.append(&mut notes);
}

fn together(group: &[usize], tensors: &[TensorInfo]) -> String {
    let name = |&at: &usize| tensors.get(at).map_or(String::new(), |t| shortened(&t.name, 120));
    let mut names: Vec<_> = group.iter().take(SHOWN_NAMES).map(name).collect();
    let more = group.len().saturating_sub(SHOWN_NAMES);
    let last = match more {
        0 => names.pop().unwrap_or_default(),
        more => format!("{more} more"),
    };
    format!("{} and {last}", names.join(", "))
}

fn duplicates(catalog: &mut Catalog) {
    let mut names: Vec<&str> = catalog.tensors.iter().map(|tensor| &*tensor.name).collect();
    names.sort_unstable();
    let mut found: Vec<_> = names
        .chunk_by(|a, b| a == b)
        .filter(|run| run.len() > 1)
        .filter_map(|run| Some((run.first()?.to_string(), run.len())))
        .map(|(name, count)| {
            Finding::of(&name, "duplicate-name", format!("{count} tensors have this name"))
        })
        .collect();
    catalog.findings.append(&mut found);
}
