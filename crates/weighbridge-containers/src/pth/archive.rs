//! Zip archives: what `torch.save` writes since 1.6, and TorchScript.
//!
//! ```text
//! ROOT/data.pkl         the object; storages in it are persistent ids
//! ROOT/byteorder        "little" or "big"; missing means little
//! ROOT/data/0, 1, ..    one record a storage (ROOT/tensors/KEY in torch 1.4)
//! ROOT/constants.pkl    TorchScript only: a tuple of tensors ..
//! ROOT/constants/0, ..  .. and their storages
//! ROOT/version, .data/serialization_id, .format_version, .storage_alignment, code/*.py
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::catalog::{Catalog, Finding, Run};
use crate::cursor::Endian;
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::text::shortened;

use super::super::Opening;
use super::super::zip::{Archive, Member, Method};
use super::pickle::run;
use super::report::Checkpoint;
use super::storage::{Located, Missing, Store};
use super::{list, script};

/// Reads an archive.
pub(super) fn open(input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
    let mut archive = Archive::open(input, opening.budget)?;
    let mut catalog = Catalog::default();
    archive.report(&mut catalog);
    archive.allow_unsummed(&mut catalog);
    let Some(root) = root_of(&archive) else {
        return script::open_json(&archive, opening, catalog);
    };
    let is_script = archive.members().iter().any(|member| {
        let inside = archive.name(member).strip_prefix(&*root);
        inside.is_some_and(|name| name.starts_with("constants.pkl") || name.starts_with("code/"))
    });
    catalog.detail = Some(if is_script { SCRIPT.into() } else { "zip archive".to_owned() });
    let mut file = Checkpoint::new(opening, catalog);
    let order = byte_order(&archive, &root, &mut file)?;
    let records = Records { archive: &archive, root: &root, order, len: input.whole_len()? };
    records.read("data", &mut file)?;
    records.other_pickles(&mut file)?;
    if is_script && opening.root.is_none() {
        records.read("constants", &mut file)?;
    }
    Ok(file.finish())
}

/// What a file with code beside its pickles is called.
pub(super) const SCRIPT: &str = "TorchScript";

/// What all records of an archive have in common.
struct Records<'a, 'i> {
    archive: &'a Archive<'i>,
    root: &'a str,
    order: Option<Endian>,
    /// Length of the file.
    len: u64,
}

/// The folder that `data.pkl` is in, with its slash. PyTorch takes the folder of the first member
/// of the archive; where that has none, it is the outermost of all there are.
fn root_of(archive: &Archive<'_>) -> Option<String> {
    let first = archive.members().first().map(|member| archive.name(member));
    if let Some((folder, _)) = first.and_then(|name| name.split_once('/'))
        && archive.find(&[folder, "/data.pkl"].concat()).is_some()
    {
        return Some([folder, "/"].concat());
    }
    let roots = archive.members().iter().filter_map(|member| {
        let root = archive.name(member).strip_suffix("data.pkl")?;
        (root.is_empty() || root.ends_with('/')).then_some(root)
    });
    roots.min_by_key(|root| root.len()).map(str::to_owned)
}

fn byte_order(
    archive: &Archive<'_>,
    root: &str,
    Checkpoint { opening, catalog, .. }: &mut Checkpoint<'_>,
) -> Result<Option<Endian>> {
    let Some(member) = archive.find(&[root, "byteorder"].concat()) else {
        return Ok(Some(Endian::Little));
    };
    let contents = archive.contents(member, opening.budget, "the byteorder record");
    let says = match survivable(contents)? {
        Ok(contents) => {
            catalog.findings.extend(archive.sum_finding(member, &contents));
            contents
        }
        Err(_) => Cow::Borrowed(&b"?"[..]),
    };
    match says.trim_ascii() {
        b"little" => Ok(Some(Endian::Little)),
        b"big" => Ok(Some(Endian::Big)),
        other => {
            let other = String::from_utf8_lossy(other.get(..40).unwrap_or(other));
            let message = format!(
                "the byteorder record is `{}`, but must be `little` or `big`: values cannot \
                     be read",
                shortened(&other, 40)
            );
            catalog.findings.push(Finding::general("unknown-byte-order", message));
            Ok(None)
        }
    }
}

/// Sets apart the faults of a file that need not keep it from being listed.
fn survivable<T>(result: Result<T>) -> Result<Result<T>> {
    match result {
        Err(error) if !matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported) => {
            Err(error)
        }
        other => Ok(other),
    }
}

impl Records<'_, '_> {
    /// Reads `NAME.pkl`, whose storages are in `NAME/`.
    fn read(&self, name: &str, file: &mut Checkpoint<'_>) -> Result<()> {
        let Self { archive, root, .. } = *self;
        let pickle = [root, name, ".pkl"].concat();
        let Some(member) = archive.find(&pickle) else { return Ok(()) };
        let budget = file.opening.budget;
        let bytes = match survivable(archive.contents(member, budget, "the pickle"))? {
            Ok(bytes) => bytes,
            Err(error) => {
                self.start_of_broken(member, file)?;
                let message = format!("cannot read `{}`: {error}", shortened(&pickle, 80));
                file.catalog.findings.push(Finding::general("broken-pickle", message));
                return Ok(());
            }
        };
        // It is looked at all the same: PyTorch loads it without checking.
        file.catalog.findings.extend(archive.sum_finding(member, &bytes));
        let offset = archive.data_offset(member)?;
        let stored = member.method == Method::STORED;
        let program = run(&bytes, if stored { offset } else { 0 }, budget)?;
        let mut store = ZipStore {
            old_prefix: (name == "data").then(|| [root, "tensors/"].concat()),
            order: self.order,
            pickle: stored.then_some(offset),
            len: self.len,
            ..ZipStore::new(archive, [root, name, "/"].concat())
        };
        list(&program, &mut store, if name == "data" { "" } else { name }, file)
    }

    /// The globals of a pickle whose end is missing: an attack may be at its start.
    fn start_of_broken(&self, member: &Member, file: &mut Checkpoint<'_>) -> Result<()> {
        let mut scratch = Vec::new();
        match survivable(self.archive.start_of(member, 1 << 20, &mut scratch))? {
            Ok(bytes) => file.report(&run(bytes, 0, file.opening.budget)?.heap),
            Err(_) => Ok(()),
        }
    }

    /// Another reader may see another of several members of one name, or of a name that differs
    /// only in the case of its letters, or take another folder: all pickles are distrusted.
    fn other_pickles(&self, file: &mut Checkpoint<'_>) -> Result<()> {
        let Self { archive, root, .. } = *self;
        let budget = file.opening.budget;
        let mut elsewhere = false;
        for member in archive.members() {
            let name = archive.name(member);
            if !ends_with_ignoring_case(name, ".pkl") {
                continue;
            }
            let own = name.strip_prefix(root);
            elsewhere |= own != Some("data.pkl") && ends_with_ignoring_case(name, "data.pkl");
            if matches!(own, Some("data.pkl" | "constants.pkl")) && !archive.is_hidden(member) {
                continue;
            }
            if let Ok(bytes) = survivable(archive.contents(member, budget, "a pickle"))? {
                file.report(&run(&bytes, 0, budget)?.heap)?;
            }
        }
        if elsewhere {
            let message = format!(
                "the archive has several data.pkl files; PyTorch's own, `{}data.pkl`, is \
                     listed",
                shortened(root, 80)
            );
            file.catalog.findings.push(Finding::general("several-pickles", message));
        }
        Ok(())
    }
}

fn ends_with_ignoring_case(name: &str, end: &str) -> bool {
    let start = name.len().saturating_sub(end.len());
    name.as_bytes().get(start..).is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
}

/// Storages that are records of an archive.
pub(super) struct ZipStore<'a, 'i> {
    archive: &'a Archive<'i>,
    prefix: String,
    /// Where records were before they were at `prefix`.
    old_prefix: Option<String>,
    /// The name looked for last.
    name: String,
    order: Option<Endian>,
    pickle: Option<u64>,
    /// Length of the file.
    len: u64,
    /// Where compressed members start in the file, and their place in the catalog.
    compressed: HashMap<u64, u32, RandomState>,
}

impl<'a, 'i> ZipStore<'a, 'i> {
    /// Records at these names exactly.
    pub(super) fn new(archive: &'a Archive<'i>, prefix: String) -> Self {
        Self {
            archive,
            prefix,
            old_prefix: None,
            name: String::new(),
            order: Some(Endian::Little),
            pickle: None,
            len: 0,
            compressed: HashMap::default(),
        }
    }

    fn find(&mut self, key: &str) -> Option<&'a Member> {
        self.name.clear();
        self.name.push_str(&self.prefix);
        self.name.push_str(key);
        let archive = self.archive;
        let old = || archive.find(&[self.old_prefix.as_deref()?, key].concat());
        archive.find(&self.name).or_else(old)
    }

    fn absent(&self) -> Missing {
        let record = shortened(&self.name, 80);
        let (kind, reason) = if self.archive.is_recovered() {
            ("truncated", format!("record `{record}` is missing: the file is truncated"))
        } else {
            ("missing-record", format!("record `{record}` is not in the archive"))
        };
        Missing { kind, reason }
    }
}

impl Store for ZipStore<'_, '_> {
    fn locate(&mut self, key: &[u8], catalog: &mut Catalog) -> Result<Result<Located, Missing>> {
        let key = String::from_utf8_lossy(key);
        let Some(member) = self.find(&key) else { return Ok(Err(self.absent())) };
        if self.archive.is_ambiguous(member) {
            let record = shortened(self.archive.name(member), 80);
            let reason =
                format!("record `{record}` occurs twice: readers differ on which one they use");
            return Ok(Err(Missing { kind: "duplicate-record", reason }));
        }
        let run = match survivable(self.archive.run_of(member, catalog))? {
            Ok(run) => run,
            Err(error) => {
                let reason = format!("cannot read the record: {}", error.message());
                return Ok(Err(Missing { kind: "damaged-record", reason }));
            }
        };
        let run = match (run, catalog.members.last()) {
            (Run::Inside { member, offset }, Some(last)) => {
                let known = *self.compressed.entry(last.offset).or_insert(member);
                if known != member {
                    catalog.members.pop();
                }
                Run::Inside { member: known, offset }
            }
            (run, _) => run,
        };
        let available = match run {
            // The file ends inside it; its size may be unknown.
            Run::At(start) if member.is_incomplete() => self.len.saturating_sub(start),
            _ => member.size,
        };
        Ok(Ok(Located { run, available }))
    }

    fn byte_order(&self) -> Option<Endian> {
        self.order
    }

    fn pickle_offset(&self) -> Option<u64> {
        self.pickle
    }
}
