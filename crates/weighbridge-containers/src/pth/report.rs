//! What is worth saying about a whole file: globals, shared storages, names that occur twice.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::catalog::{Catalog, Finding, Order, Run, Shape, TensorInfo};
use crate::error::{Error, Remedy, Result};
use crate::text::{escaped, shortened};

use super::super::Opening;
use super::pickle::{Class, Global, Heap, Wrapped, is_dangerous, python3_name, run, wrapped};

/// Groups of tied tensors that are named; names in a group.
const SHOWN: usize = 20;
const SHOWN_NAMES: usize = 6;

/// Pickles inside pickles: torch itself goes one deep.
const MAX_NESTING: u32 = 4;

/// A file while it is opened: what is known of it so far, and the globals that its pickles name, each
/// reported once.
pub(super) struct Checkpoint<'a> {
    pub(super) opening: &'a Opening<'a>,
    pub(super) catalog: Catalog,
    seen: HashSet<String, RandomState>,
}

impl<'a> Checkpoint<'a> {
    pub(super) fn new(opening: &'a Opening<'a>, catalog: Catalog) -> Self {
        Self { opening, catalog, seen: HashSet::default() }
    }

    /// Its catalog, with notes on tensors that are the same bytes and names that occur twice.
    pub(super) fn finish(mut self) -> Catalog {
        relations(&mut self.catalog);
        self.catalog
    }

    /// Reports the globals of a pickle that are unknown or dangerous.
    pub(super) fn report(&mut self, heap: &Heap<'_>) -> Result<()> {
        self.report_at(heap, 0)
    }

    fn report_at(&mut self, heap: &Heap<'_>, depth: u32) -> Result<()> {
        let (mut nested, mut wraps) = (false, false);
        for global in heap.globals() {
            nested |= global.class == Class::Nested;
            wraps |= global.class == Class::Wrapper;
            if !matches!(global.class, Class::Unknown | Class::Dangerous | Class::Nested) {
                continue;
            }
            self.add(spelled(heap, global), global.class)?;
        }
        if wraps {
            self.wrappers(heap)?;
        }
        if nested {
            self.inner_pickles(heap, depth)?;
        }
        Ok(())
    }

    /// Reports something that loading would run, once.
    fn add(&mut self, path: String, class: Class) -> Result<()> {
        if self.seen.contains(&path) {
            return Ok(());
        }
        self.opening.budget.charge((path.len() as u64).saturating_mul(5), "the list of globals")?;
        match class {
            Class::Dangerous => self.dangerous(&path)?,
            _ => self.unknown(&path)?,
        }
        self.seen.insert(path);
        Ok(())
    }

    /// Reports functions that call others, by what they call; what calls something harmless is
    /// harmless.
    fn wrappers(&mut self, heap: &Heap<'_>) -> Result<()> {
        let mut called = HashSet::<String, RandomState>::default();
        for id in 0..u32::try_from(heap.len()).unwrap_or(u32::MAX) {
            let Some(object) = heap.object(id) else { continue };
            let global = heap.class_of(object.class).filter(|g| g.class == Class::Wrapper);
            let Some(path) = global.map(|global| spelled(heap, global)) else { continue };
            for Wrapped { what, class } in wrapped(heap, object) {
                if matches!(class, Class::Unknown | Class::Dangerous | Class::Nested) {
                    self.add(format!("{path} of {}", escaped(&what)), class)?;
                }
                if !called.contains(&path) {
                    called.insert(path.clone());
                }
            }
        }
        for global in heap.globals().iter().filter(|global| global.class == Class::Wrapper) {
            let path = spelled(heap, global);
            if !called.contains(&path) {
                let (module, name) = (heap.text(global.module), heap.text(global.name));
                let is_dangerous = is_dangerous(&module, &name);
                self.add(path, if is_dangerous { Class::Dangerous } else { Class::Unknown })?;
            }
        }
        Ok(())
    }

    /// Looks into the pickles that a pickle carries as bytes.
    fn inner_pickles(&mut self, heap: &Heap<'_>, depth: u32) -> Result<()> {
        let mut looked_into = HashSet::<usize, RandomState>::default();
        for id in 0..u32::try_from(heap.len()).unwrap_or(u32::MAX) {
            let Some(object) = heap.object(id) else { continue };
            if heap.class(object.class) != Some(Class::Nested) {
                continue;
            }
            let first = heap.tuple(object.args).and_then(|args| args.first().copied());
            let (span, is_text) = match first.and_then(|first| heap.raw_bytes(first)) {
                Some(found) if depth < MAX_NESTING => found,
                _ => {
                    self.dangerous("torch.storage._load_from_bytes with a computed argument")?;
                    continue;
                }
            };
            let bytes = heap.bytes(span);
            self.opening.budget.charge(8, "the list of globals")?;
            if !looked_into.insert(bytes.as_ptr() as usize) {
                continue;
            }
            let unpacked = if is_text && !bytes.is_ascii() {
                self.opening.budget.charge(bytes.len() as u64, "a nested pickle")?;
                let text = String::from_utf8_lossy(bytes);
                Some(text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect::<Vec<_>>())
            } else {
                None
            };
            self.inner(unpacked.as_deref().unwrap_or(bytes), depth)?;
        }
        Ok(())
    }

    /// The old format is five pickles in a row; a single one is read as well.
    fn inner(&mut self, bytes: &[u8], depth: u32) -> Result<()> {
        if bytes.starts_with(b"PK") {
            return self.dangerous("torch.storage._load_from_bytes of an archive");
        }
        let mut rest = bytes;
        for _ in 0..5 {
            let program = run(rest, 0, self.opening.budget)?;
            self.report_at(&program.heap, depth.saturating_add(1))?;
            rest = rest.get(program.end..).unwrap_or_default();
            if program.root.is_none() || rest.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn dangerous(&mut self, path: &str) -> Result<()> {
        let reason = format!("the pickle calls {path}, which only an attack needs");
        if self.opening.strict_pickle {
            return Err(Error::unsupported(reason));
        }
        let full = || format!("{reason}: nothing is read from this file");
        self.catalog.unsafe_to_read.get_or_insert_with(full);
        let message = format!("{path} would run when Python loads the file; delete the file");
        self.would_run(path, Finding::general("dangerous-global", message));
        Ok(())
    }

    fn unknown(&mut self, path: &str) -> Result<()> {
        if self.opening.strict_pickle {
            return Err(Error::unsupported(format!(
                "the pickle names {path}, an unknown class or function"
            ))
            .remedy(Remedy::AllowUnknownClasses));
        }
        let message = format!(
            "unknown class or function {path}; its contents were searched for tensors, and \
                 no code was run"
        );
        self.would_run(path, Finding::general("unknown-global", message));
        Ok(())
    }

    fn would_run(&mut self, path: &str, finding: Finding) {
        self.catalog.would_run.get_or_insert_default().push(path.to_owned());
        self.catalog.findings.push(finding);
    }
}

/// `module.name`, with its name in Python 3 where that differs.
fn spelled(heap: &Heap<'_>, global: &Global) -> String {
    let path = escaped(&heap.path_of(global)).into_owned();
    let short = |span| heap.text_start(span, 500);
    match python3_name(&short(global.module)).filter(|_| global.python2) {
        Some(module) => {
            format!("{path} ({module}.{} in Python 3)", escaped(&short(global.name)))
        }
        None => path,
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
        Run::Inline { .. } | Run::Nowhere => None,
    }
}

/// The order of a tensor's elements, to be compared; it says nothing where it is the usual one.
fn order_of(tensor: &TensorInfo) -> Option<(&Shape, &Shape)> {
    match &tensor.place.order {
        Order::RowMajor => None,
        Order::Strided(strides) => Some((strides, &tensor.shape)),
    }
}

fn ties(catalog: &mut Catalog) {
    let tensors = &catalog.tensors;
    let mut places: Vec<_> = (0usize..)
        .zip(tensors)
        .filter_map(|(at, tensor)| bytes_of(tensor).map(|bytes| (bytes, order_of(tensor), at)))
        .collect();
    places.sort_unstable();
    let mut groups: Vec<Vec<usize>> = places
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .filter(|run| run.len() > 1)
        .map(|run| run.iter().map(|&(.., at)| at).collect())
        .collect();
    groups.sort_unstable();
    let shown = groups.iter().take(SHOWN);
    let note = |group: &Vec<_>| format!("{} share one storage", together(group, tensors));
    let mut notes: Vec<_> = shown.map(note).collect();
    if groups.len() > SHOWN {
        let more = groups.len().saturating_sub(SHOWN);
        notes.push(format!("{more} more groups of tensors share storage"));
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
        .filter_map(|run| {
            let message = format!("{} tensors have this name", run.len());
            Some(Finding::of(run.first()?, "duplicate-name", message))
        })
        .collect();
    catalog.findings.append(&mut found);
}
