//! File formats, one folder each.
//!
//! A container recognises its files by content and turns a header into a [`Catalog`]. It never
//! interprets values and does not depend on schemes. To add a format, add its folder, one `mod`
//! line and one line in [`CONTAINERS`].
#![warn(clippy::unwrap_used, clippy::indexing_slicing)]
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

// The ground, under its own names.
use weighbridge_core::{
    blocks, catalog, cursor, dtype, error, inflate, input, limits, source, streams, text,
};

use std::collections::HashSet;

use crate::catalog::{Catalog, Finding, Run, TensorInfo};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::limits::Budget;
use crate::source::{Format, FormatRules};

pub mod apr;
pub mod conventions;
pub mod gguf;
pub mod npz;
pub mod pth;
pub mod safetensors;
mod strides;
mod table;
pub mod writing;
pub mod zip;

pub use conventions::Conventions;
pub use table::{
    by_extension, by_preference, is_index, is_not_weights, labels, look_alikes, weight_extensions,
};
use writing::Writer;

/// Every readable format, in detection order. Detection is by content, so the order only matters
/// between formats that both return [`Recognition::Likely`].
pub static CONTAINERS: &[&dyn Container] =
    &[&apr::Apr, &gguf::Gguf, &npz::Npz, &npz::Npy, &pth::Pth, &safetensors::Safetensors];

/// Every writable format.
pub static WRITERS: &[&dyn Writer] =
    &[&safetensors::Safetensors, &gguf::Gguf, &npz::Npz, &npz::Npy];

/// Returns the writer for a format name or a file extension.
pub fn writer(name: &str) -> Option<&'static dyn Writer> {
    WRITERS.iter().copied().find(|writer| writer.format().eq_ignore_ascii_case(name))
}

/// Returns the default writer, for an output name without a known extension.
pub fn usual_writer() -> &'static dyn Writer {
    &safetensors::Safetensors
}

/// The confidence that a file has a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recognition {
    /// Not this format.
    No,
    /// Possibly this format; the extension decides.
    Likely,
    /// Certainly this format, regardless of its name.
    Certain,
}

/// The part of a file that a container may inspect to recognise it.
pub struct Probe<'a> {
    /// The first bytes, up to [`PROBE_BYTES`].
    pub head: &'a [u8],
    /// The whole input, for formats that must look further (an archive's directory).
    pub input: &'a Input,
}

impl Probe<'_> {
    /// Returns whether the file has one of these extensions, ignoring case.
    pub fn is_named_as(&self, conventions: &Conventions) -> bool {
        let extension = self.input.name().extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| conventions.extension(extension).is_some())
    }
}

/// The number of leading bytes in a [`Probe`].
pub const PROBE_BYTES: usize = 4096;

/// The options of an open.
pub struct Opening<'a> {
    /// The remaining budget of this open.
    pub budget: &'a Budget,
    /// The name for an unnamed tensor: the file's stem.
    pub stem: &'a str,
    /// One branch of a nested checkpoint.
    pub root: Option<&'a str>,
    /// Whether to reject pickles that name unknown classes or functions.
    pub strict_pickle: bool,
}

/// A file format.
pub trait Container: FormatRules {
    /// Returns its name in reports.
    fn name(&self) -> &'static str {
        self.conventions().name
    }

    /// Returns how its files are named, found and distinguished.
    fn conventions(&self) -> &'static Conventions;

    /// Returns whether a file has this format. Must be cheap and never fail.
    fn recognize(&self, probe: &Probe<'_>) -> Recognition;

    /// Reads the header.
    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog>;

    /// Returns the code that loading a file would run and only an attack needs. `None` if the file
    /// is not a program of this format. The file's name does not matter.
    fn audit(&self, _input: &Input, _opening: &Opening<'_>) -> Result<Option<Audited>> {
        Ok(None)
    }
}

/// A file that is a program or carries one, and the dangerous code in it.
pub struct Audited {
    /// What the file is: "a pickle", "a pickle in gzip".
    pub what: String,
    /// The findings; empty if nothing is dangerous.
    pub dangers: Vec<Finding>,
    /// Whether the file's extension says so.
    pub is_named_so: bool,
}

/// Returns what loading a file would run, if it is a program under any name, or carries one:
/// compressed, in an archive, or as an array of objects.
pub fn audit(input: &Input, budget: &Budget) -> Result<Option<Audited>> {
    let opening = Opening { budget, stem: "", root: None, strict_pickle: false };
    for container in CONTAINERS {
        if let Some(audited) = container.audit(input, &opening)? {
            return Ok(Some(audited));
        }
    }
    Ok(None)
}

/// Reads the header of a file. Arrays of objects are pickles, which are searched for attacks.
pub fn open(container: &dyn Container, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
    let mut catalog = container.open(input, opening)?;
    if catalog.tensors.iter().any(|tensor| npz::holds_objects(&tensor.stored)) {
        catalog.findings.extend(audit(input, opening.budget)?.into_iter().flat_map(|a| a.dangers));
    }
    Ok(catalog)
}

/// Returns the dangerous code in a file of no known format, such as a compressed pickle. `None` if
/// there is none. Nothing but the findings is in the catalog.
pub fn open_dangerous(input: &Input, budget: &Budget) -> Result<Option<Catalog>> {
    let (what, findings) = match audit(input, budget) {
        Ok(Some(audited)) if !audited.dangers.is_empty() => (audited.what, audited.dangers),
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => {
            let message = format!("not checked for dangerous code: {}", error.message());
            ("unchecked".to_owned(), vec![Finding::general("unchecked", message)])
        }
    };
    let unsafe_to_read = Some(format!("nothing is read from {what}"));
    Ok(Some(Catalog { detail: Some(what), findings, unsafe_to_read, ..Catalog::default() }))
}

/// Returns the format that files are reported under which only carry programs.
pub fn program_format() -> Format {
    format_of(&pth::Pth)
}

/// Returns the parts of a container that a source needs.
pub fn format_of(container: &'static dyn Container) -> Format {
    Format { name: container.name(), rules: container }
}

/// Returns the container of a file by content, with its confidence; the extension breaks ties.
pub fn recognize(input: &Input) -> Result<Option<(&'static dyn Container, Recognition)>> {
    let head = input.head(PROBE_BYTES)?;
    let probe = Probe { head: &head, input };
    let best = CONTAINERS
        .iter()
        .map(|&container| (container.recognize(&probe), container))
        .filter(|(recognition, _)| *recognition > Recognition::No)
        .map(|(recognition, c)| (recognition, probe.is_named_as(c.conventions()), c))
        .reduce(|best, next| if (next.0, next.1) > (best.0, best.1) { next } else { best });
    Ok(best.map(|(recognition, _, container)| (container, recognition)))
}

/// A stretch without its first bytes.
fn advanced(run: Run, by: u64) -> Option<Run> {
    Some(match run {
        Run::At(offset) => Run::At(offset.checked_add(by)?),
        Run::Inside { member, offset } => Run::Inside { member, offset: offset.checked_add(by)? },
        other @ (Run::Inline { .. } | Run::Nowhere) => other,
    })
}

/// Charges for one more item of a list.
#[inline]
fn charge_item(budget: &Budget, bytes: u64, what: &str) -> Result<()> {
    budget.items(1, what)?;
    budget.charge(bytes, what)
}

/// Returns the names that occurred before.
fn repeated<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let hasher = foldhash::fast::RandomState::default();
    let mut seen = HashSet::with_capacity_and_hasher(names.len(), hasher);
    names.filter(move |name| !seen.insert(*name))
}

/// Returns an error if two tensors have the same name.
fn refuse_duplicates(catalog: &Catalog) -> Result<()> {
    match repeated(catalog.tensors.iter().map(|tensor| &*tensor.name)).next() {
        Some(name) => Err(Error::malformed("the header lists this name twice").in_tensor(name)),
        None => Ok(()),
    }
}

/// Where a tensor's bytes start in the file, if they are there.
fn start_of(tensor: &TensorInfo) -> Option<u64> {
    match tensor.place.run {
        Run::At(start) => Some(start),
        _ => None,
    }
}

/// Reports the tensors that extend past the end of a truncated file, after a summary if there are
/// several.
fn note_truncation(catalog: &mut Catalog, len: u64) {
    let first = catalog.findings.len();
    let (mut whole, mut last) = (0u64, len);
    for tensor in &catalog.tensors {
        let Some(start) = start_of(tensor) else { continue };
        let end = start.saturating_add(tensor.bytes);
        if end > len && tensor.bytes > 0 {
            let missing = end.saturating_sub(len).min(tensor.bytes);
            whole = whole.saturating_add(u64::from(missing == tensor.bytes));
            last = last.max(end);
            let message = format!(
                "{missing} of {} bytes are missing: the tensor ends at byte {end}, the file \
                     at byte {len}",
                tensor.bytes
            );
            catalog.findings.push(Finding::of(&tensor.name, "truncated", message));
        }
    }
    let short = catalog.findings.len().saturating_sub(first);
    if short > 1 {
        let message = format!(
            "the file ends at byte {len}, its last tensor at byte {last}: {short} of {} \
                 tensors are incomplete, {whole} of them missing entirely; fetch the file again",
            catalog.tensors.len()
        );
        catalog.findings.insert(first, Finding::general("truncated", message));
    }
}
