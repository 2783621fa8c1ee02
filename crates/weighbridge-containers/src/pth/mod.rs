//! PyTorch files: `.pth`, `.pt`, `.bin`, `.ckpt`.
//!
//! ```text
//! zip archive   since torch 1.6, and TorchScript      archive.rs, script.rs
//! pickles       0.1.10 to 1.5, then raw storages      legacy.rs
//! tar archive   before 0.1.10                         recognised, not read
//! ```
//!
//! All of them hold a pickle, which is a program; `pickle` reads it without running anything.
//! The object it describes is walked (`walk`): tensors become entries of the catalog under
//! dotted names, numbers and text beside them metadata. Globals outside the known set are
//! listed; with those that only an attack needs, the file can be inspected but not read.

use crate::catalog::{Catalog, Finding};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::{Budget, Limits};
use crate::source::FormatRules;

use super::npz;
use super::zip::{Archive, first_members, looks_like_zip};
use super::{Audited, Container, Conventions, Opening, Probe, Recognition};

/// A list of dotted names, written without quotes so that long ones stay readable.
macro_rules! names {
    ($($first:ident $(. $rest:ident)*),* $(,)?) => {
        &[$(concat!(stringify!($first) $(, ".", stringify!($rest))*)),*]
    };
}

mod archive;
mod array;
mod audit;
mod branch;
mod draft;
mod expand;
mod files;
mod geometry;
mod legacy;
mod module;
mod pickle;
mod reader;
mod report;
mod script;
mod storage;
mod tensor;
mod value;
mod walk;

pub(crate) use files::{LEFTOVERS, STEMS};
use pickle::Program;
use reader::Reader;
use report::Checkpoint;
use storage::Store;

/// The container.
pub struct Pth;

impl Container for Pth {
    fn conventions(&self) -> &'static Conventions {
        &files::FILES
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if looks_like_zip(head) {
            return recognize_zip(probe);
        }
        let start = head.get(..64).unwrap_or(head);
        let has = |needle: &[u8]| start.windows(needle.len()).any(|window| window == needle);
        if has(&legacy::MAGIC) || has(legacy::MAGIC_TEXT) || is_tar(head) {
            return Recognition::Certain;
        }
        match head {
            [0x80, 2..=5, ..] if probe.is_named_as(&files::FILES) => Recognition::Likely,
            // What its name hides is shown.
            _ if audit::is_attack(head) => Recognition::Certain,
            _ => Recognition::No,
        }
    }

    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
        let mut catalog = open(input, opening)?;
        // The code of TorchScript is beside its pickles, and is not looked into.
        if catalog.detail.as_deref() != Some(archive::SCRIPT) {
            catalog.would_run.get_or_insert_default();
        }
        catalog.notes.extend(false_extension(input));
        Ok(catalog)
    }

    fn audit(&self, input: &Input, opening: &Opening<'_>) -> Result<Option<Audited>> {
        audit::audit(input, opening)
    }
}

/// A note on a file whose extension says that it is of another format.
fn false_extension(input: &Input) -> Option<String> {
    let extension = input.name().extension()?.to_str()?;
    let (other, _) = super::by_extension(extension)?;
    let label = other.conventions().label;
    (other.name() != files::FILES.name)
        .then(|| format!("this is a pickle (PyTorch), although its extension says {label}"))
}

impl FormatRules for Pth {
    fn has_branches(&self) -> bool {
        true
    }
}

fn open(input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
    let head = input.head(super::PROBE_BYTES)?;
    if looks_like_zip(&head) {
        return archive::open(input, opening);
    }
    if is_tar(&head) {
        return Err(Error::unsupported("the tar format of PyTorch before 0.1.10 is not supported")
            .hint("load it with PyTorch and save it again"));
    }
    legacy::open(input, opening)
}

/// The names of the first members tell as a rule; otherwise the directory does.
fn recognize_zip(probe: &Probe<'_>) -> Recognition {
    let is_ours = |name: &[u8]| {
        [&b"data.pkl"[..], b"constants.pkl", b"model.json"].iter().any(|end| {
            let before = name.strip_suffix(*end);
            before.is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
        })
    };
    if first_members(probe.head).any(|member| is_ours(member.name)) {
        return Recognition::Certain;
    }
    if first_members(probe.head).any(|member| member.name.ends_with(npz::ARRAY_NAME_END)) {
        return Recognition::No;
    }
    let named =
        if probe.is_named_as(&files::FILES) { Recognition::Likely } else { Recognition::No };
    let Ok(archive) = Archive::open(probe.input, &Budget::new(Limits::default())) else {
        return named;
    };
    if archive.members().iter().any(|member| is_ours(archive.name(member).as_bytes())) {
        Recognition::Certain
    } else {
        named
    }
}

/// A tar archive with the members of that format.
fn is_tar(head: &[u8]) -> bool {
    const MEMBERS: [&[u8]; 4] = [b"sys_info", b"pickle", b"tensors", b"storages"];
    let name = head.get(..100).unwrap_or_default();
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    head.get(257..262) == Some(b"ustar") && MEMBERS.contains(&name.trim_ascii())
}

/// Lists what one pickle describes.
fn list(
    program: &Program<'_>,
    store: &mut dyn Store,
    prefix: &str,
    file: &mut Checkpoint<'_>,
) -> Result<()> {
    file.report(&program.heap)?;
    let Some(root) = program.root else {
        let why = program.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        file.catalog.findings.push(Finding::general("broken-pickle", why));
        return Ok(());
    };
    let (opening, catalog) = (file.opening, std::mem::take(&mut file.catalog));
    let first_tensor = catalog.tensors.len();
    let mut reader = Reader::new(&program.heap, store, opening.budget, catalog);
    let (start, stem) = match opening.root {
        Some(path) => (reader.follow(root, path)?, path),
        None => (root, opening.stem),
    };
    let mut trail = walk::walk(&mut reader, start, prefix, stem)?;
    if opening.root.is_none() && prefix.is_empty() {
        reader.unwrap(root, first_tensor, &mut trail)?;
    }
    for found in trail.values {
        reader.catalog.metadata.push(found.name, found.value);
    }
    file.catalog = reader.catalog;
    Ok(())
}
