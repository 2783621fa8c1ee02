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

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::catalog::{Catalog, Finding, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::text::shortened;

use super::super::Opening;
use super::super::zip::{Archive, Member, Method};
use super::pickle::run;
use super::storage::{Located, Missing, Store};
use super::{list, report, script};

/// Reads an archive.
pub(super) fn open(input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
    let mut archive = Archive::open(input, opening.budget)?;
    let mut catalog = Catalog::default();
    archive.report(&mut catalog);
    let Some(root) = root_of(&archive) else {
        return script::open_json(&archive, opening, catalog);
    };
    let is_script = ["constants.pkl", "code/"].iter().any(|part| {
        let wanted = format!("{root}{part}");
        archive.members().iter().any(|member| archive.name(member).starts_with(&wanted))
    });
    catalog.detail = Some(if is_script { "TorchScript".into() } else { "zip archive".to_owned() });
    let records = Records {
        root: &root,
        big_endian: is_big_endian(&archive, &root, opening)?,
        len: input.whole_len()?,
    };
    let mut catalog = read(&archive, &records, "data", opening, catalog)?;
    hidden_pickles(&archive, &root, opening, &mut catalog)?;
    if is_script
        && opening.root.is_none()
        && archive.find(&format!("{root}constants.pkl")).is_some()
    {
        catalog = read(&archive, &records, "constants", opening, catalog)?;
    }
    report::relations(&mut catalog);
    Ok(catalog)
}

/// What all records of an archive have in common.
struct Records<'a> {
    root: &'a str,
    big_endian: bool,
    /// Length of the file.
    len: u64,
}

/// The folder that `data.pkl` is in, with its slash; of several the outermost.
fn root_of(archive: &Archive<'_>) -> Option<String> {
    let roots = archive.members().iter().filter_map(|member| {
        let root = archive.name(member).strip_suffix("data.pkl")?;
        (root.is_empty() || root.ends_with('/')).then_some(root)
    });
    roots.min_by_key(|root| root.len()).map(str::to_owned)
}

fn is_big_endian(archive: &Archive<'_>, root: &str, opening: &Opening<'_>) -> Result<bool> {
    let Some(member) = archive.find(&format!("{root}byteorder")) else { return Ok(false) };
    if member.size > 16 {
        return Ok(false);
    }
    match archive.contents(member, opening.budget, "the byteorder record") {
        Ok(contents) => Ok(contents.trim_ascii() == b"big"),
        Err(error) if survivable(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Faults of a file that need not keep it from being listed.
fn survivable(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Malformed | ErrorKind::Unsupported)
}

/// Reads `NAME.pkl`, whose storages are in `NAME/`.
fn read(
    archive: &Archive<'_>,
    records: &Records<'_>,
    name: &str,
    opening: &Opening<'_>,
    mut catalog: Catalog,
) -> Result<Catalog> {
    let file = format!("{}{name}.pkl", records.root);
    let Some(member) = archive.find(&file) else { return Ok(catalog) };
    let bytes = match archive.contents(member, opening.budget, "the pickle") {
        Ok(bytes) => bytes,
        Err(error) if survivable(&error) => {
            start_of_broken(archive, member, opening, &mut catalog)?;
            let message = format!("`{}` cannot be read: {error}", shortened(&file, 80));
            catalog.findings.push(Finding::general("broken-pickle", message));
            return Ok(catalog);
        }
        Err(error) => return Err(error),
    };
    let offset = archive.data_offset(member)?;
    let stored = member.method == Method::STORED;
    let program = run(&bytes, if stored { offset } else { 0 }, opening.budget)?;
    let mut store = ZipStore {
        archive,
        prefix: format!("{}{name}/", records.root),
        old_prefix: (name == "data").then(|| format!("{}tensors/", records.root)),
        name: String::new(),
        big_endian: records.big_endian,
        pickle: stored.then_some(offset),
        len: records.len,
        compressed: HashMap::default(),
    };
    let prefix = if name == "data" { "" } else { name };
    list(&program, &mut store, prefix, opening, catalog)
}

/// The globals of a pickle whose end is missing: an attack may be at its start.
fn start_of_broken(
    archive: &Archive<'_>,
    member: &Member,
    opening: &Opening<'_>,
    catalog: &mut Catalog,
) -> Result<()> {
    let mut scratch = Vec::new();
    match archive.start_of(member, 1 << 20, &mut scratch) {
        Ok(bytes) => report::globals(&run(bytes, 0, opening.budget)?.heap, opening, catalog),
        Err(error) if survivable(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Another reader may see another of several members of one name: all of them are distrusted.
fn hidden_pickles(
    archive: &Archive<'_>,
    root: &str,
    opening: &Opening<'_>,
    catalog: &mut Catalog,
) -> Result<()> {
    for file in ["data.pkl", "constants.pkl", "attributes.pkl"] {
        let name = format!("{root}{file}");
        let same = archive.members().iter().filter(|member| archive.name(member) == name);
        let all = file == "attributes.pkl";
        for member in same.filter(|member| all || archive.is_hidden(member)) {
            match archive.contents(member, opening.budget, "a pickle") {
                Ok(bytes) => {
                    report::globals(&run(&bytes, 0, opening.budget)?.heap, opening, catalog)?;
                }
                Err(error) if survivable(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Storages that are records of an archive.
pub(super) struct ZipStore<'a, 'i> {
    archive: &'a Archive<'i>,
    prefix: String,
    /// Where records were before they were at `prefix`.
    old_prefix: Option<String>,
    /// The name looked for last.
    name: String,
    big_endian: bool,
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
            big_endian: false,
            pickle: None,
            len: 0,
            compressed: HashMap::default(),
        }
    }

    fn find(&mut self, key: &str) -> Option<&'a Member> {
        for prefix in self.old_prefix.iter().chain([&self.prefix]).rev() {
            self.name.clear();
            self.name.push_str(prefix);
            self.name.push_str(key);
            if let Some(member) = self.archive.find(&self.name) {
                return Some(member);
            }
        }
        self.name = format!("{}{key}", self.prefix);
        None
    }

    fn absent(&self) -> Missing {
        let record = shortened(&self.name, 80);
        match self.archive.is_recovered() {
            true => Missing {
                kind: "truncated",
                reason: format!("its record `{record}` is missing: the file was cut short"),
            },
            false => Missing {
                kind: "missing-record",
                reason: format!("its record `{record}` is not in the archive"),
            },
        }
    }
}

impl Store for ZipStore<'_, '_> {
    fn locate(&mut self, key: &[u8], catalog: &mut Catalog) -> Result<Result<Located, Missing>> {
        let key = String::from_utf8_lossy(key);
        let Some(member) = self.find(&key) else { return Ok(Err(self.absent())) };
        let run = match self.archive.run_of(member, catalog) {
            Ok(run) => run,
            Err(error) if survivable(&error) => {
                let reason = format!("its record cannot be read: {}", error.message());
                return Ok(Err(Missing { kind: "damaged-record", reason }));
            }
            Err(error) => return Err(error),
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

    fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    fn pickle_offset(&self) -> Option<u64> {
        self.pickle
    }
}
