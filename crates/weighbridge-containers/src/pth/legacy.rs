//! Files without an archive: torch 0.1.10 to 1.5, and later on request; and bare pickles.
//!
//! ```text
//! pickle   0x1950a86a20f9469cfc6c
//! pickle   1001, the version
//! pickle   {"protocol_version", "little_endian", "type_sizes"}
//! pickle   the object; storages in it are persistent ids
//! pickle   [key, ..] in the order of the storages
//! storage  i64 LE elements, then the elements          one for each key
//! ```
//!
//! `little_endian` describes the machine; storages are little-endian whatever it says.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::catalog::{Catalog, Finding, Run};
use crate::error::Result;
use crate::input::Input;
use crate::limits::Budget;

use super::super::Opening;
use super::list;
use super::pickle::{Extent, Heap, Node, Program, extent, is_joblib, run};
use super::report::Checkpoint;
use super::storage::{Located, Missing, Store, storage_id};

/// The number that opens a file, lowest byte first.
pub(super) const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];

/// That number as protocols 0 and 1 spell it.
pub(super) const MAGIC_TEXT: &[u8] = b"119547037146038801333356";

/// What is read at first where bytes cannot be lent.
const FIRST_READ: u64 = 16 << 10;

/// Reads a file of pickles in a row, or a single pickle.
pub(super) fn open(input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
    let mut file = Checkpoint::new(opening, Catalog::default());
    let mut pickles = Pickles { input, at: 0, len: input.whole_len()?, budget: opening.budget };
    let (bytes, base) = pickles.next()?;
    let first = run(&bytes, base, opening.budget)?;
    file.report(&first.heap)?;
    if !is_magic(&first) {
        file.catalog.detail = Some("a pickle".to_owned());
        let mut store = LegacyStore { places: HashMap::default(), pickle: base };
        list(&first, &mut store, "", &mut file)?;
        pickles.advance(&first);
        further(&first, &mut pickles, &mut file)?;
        return Ok(file.finish());
    }
    file.catalog.detail = Some("format before torch 1.6".to_owned());
    pickles.advance(&first);
    // The version and the machine's type sizes are not needed, but an attack may be hidden there.
    for _ in 0..2 {
        let (bytes, base) = pickles.next()?;
        let program = run(&bytes, base, opening.budget)?;
        file.report(&program.heap)?;
        pickles.advance(&program);
    }
    let (bytes, base) = pickles.next()?;
    let program = run(&bytes, base, opening.budget)?;
    pickles.advance(&program);
    let mut store = LegacyStore { places: HashMap::default(), pickle: base };
    if program.root.is_some() {
        let (bytes, start) = pickles.next()?;
        let keys = run(&bytes, start, opening.budget)?;
        file.report(&keys.heap)?;
        pickles.advance(&keys);
        let end = store.find_storages(&program.heap, &keys, &pickles)?;
        if end > pickles.len {
            let message = format!(
                "the file ends at byte {}, its storages at byte {end}; fetch the file again",
                pickles.len
            );
            file.catalog.findings.push(Finding::general("truncated", message));
        }
    }
    list(&program, &mut store, "", &mut file)?;
    Ok(file.finish())
}

/// Searches the pickles behind the first: `pickle.load` may be called again on the same file. An
/// incomplete pickle ends the search. joblib stores raw bytes between pickles, so its files are searched on.
fn further(
    first: &Program<'_>,
    pickles: &mut Pickles<'_>,
    file: &mut Checkpoint<'_>,
) -> Result<()> {
    if first.root.is_none() {
        if is_joblib(first.heap.source()) {
            let message = format!(
                "what follows byte {} was not checked for dangerous code: arrays are stored \
                     there in an unknown way",
                first.end
            );
            file.catalog.findings.push(Finding::general("unchecked", message));
        }
        return Ok(());
    }
    while pickles.at < pickles.len {
        let (bytes, base) = pickles.next()?;
        let is_pickle =
            matches!(*bytes, [0x80, 0..=5, ..]) || matches!(extent(&bytes, 0), Extent::Ends(_));
        if !is_pickle {
            return Ok(());
        }
        crate::charge_item(pickles.budget, 0, "pickles")?;
        let program = run(&bytes, base, pickles.budget)?;
        file.report(&program.heap)?;
        if program.root.is_none() {
            return Ok(());
        }
        pickles.advance(&program);
    }
    Ok(())
}

fn is_magic(program: &Program<'_>) -> bool {
    let heap = &program.heap;
    match program.root.map(|root| heap.node(root)) {
        Some(Node::Big(span)) => heap.bytes(span) == MAGIC,
        Some(Node::BigText(span)) => heap.bytes(span).starts_with(MAGIC_TEXT),
        _ => false,
    }
}

/// Pickles one after the other.
struct Pickles<'a> {
    input: &'a Input,
    at: u64,
    len: u64,
    budget: &'a Budget,
}

impl<'a> Pickles<'a> {
    /// The next pickle, perhaps with more behind it, and where it starts.
    fn next(&self) -> Result<(Cow<'a, [u8]>, u64)> {
        let rest = self.len.saturating_sub(self.at);
        if self.input.lent().is_some() {
            return Ok((self.input.bytes(self.at, rest, self.budget, "the pickle")?, self.at));
        }
        let mut bytes = Vec::new();
        let mut scanned = 0;
        let mut wanted = rest.min(FIRST_READ);
        loop {
            let have = bytes.len();
            let more = wanted.saturating_sub(have as u64);
            self.budget.check_allocation(wanted, "the pickle")?;
            self.budget.charge(more, "the pickle")?;
            bytes.resize(usize::try_from(wanted).unwrap_or(usize::MAX), 0);
            let at = self.at.saturating_add(have as u64);
            self.input.read_at(at, bytes.get_mut(have..).unwrap_or_default())?;
            match extent(&bytes, scanned) {
                Extent::More(at) if wanted < rest => scanned = at,
                // Where its opcodes go on, only running it shows.
                Extent::Broken(_) if wanted < rest && is_joblib(&bytes) => {
                    wanted = rest;
                    continue;
                }
                Extent::Ends(end) => {
                    bytes.truncate(end);
                    break;
                }
                _ => break,
            }
            wanted = wanted.saturating_mul(2).min(rest);
        }
        Ok((Cow::Owned(bytes), self.at))
    }

    fn advance(&mut self, program: &Program<'_>) {
        self.at = self.at.saturating_add(program.end as u64);
    }
}

/// Storages behind the pickles.
struct LegacyStore {
    /// Key to first byte and length, as far as the file goes.
    places: HashMap<Box<[u8]>, (u64, u64), RandomState>,
    pickle: u64,
}

impl LegacyStore {
    /// Walks over the storages in the order of the keys; returns where the last one ends.
    fn find_storages(
        &mut self,
        heap: &Heap<'_>,
        keys: &Program<'_>,
        pickles: &Pickles<'_>,
    ) -> Result<u64> {
        let Some(Node::List(list)) = keys.root.map(|root| keys.heap.node(root)) else {
            return Ok(pickles.at);
        };
        let sizes = storage_sizes(heap, pickles.budget)?;
        let mut at = pickles.at;
        for key in keys.heap.items(list) {
            let Some(key) = keys.heap.text_bytes(key) else { break };
            // Without the size of its elements, a storage cannot be stepped over.
            let Some(&Some((unit, claimed))) = sizes.get(key) else { break };
            let start = at.saturating_add(8);
            // Cut short, what the pickle says is what should be here.
            let mut elements = claimed.to_le_bytes();
            if start <= pickles.len {
                pickles.input.read_at(at, &mut elements)?;
            }
            let Some(bytes) = u64::from_le_bytes(elements).checked_mul(unit) else { break };
            let Some(end) = start.checked_add(bytes) else { break };
            let cost = (key.len() as u64).saturating_add(48);
            crate::charge_item(pickles.budget, cost, "storages")?;
            let here = pickles.len.saturating_sub(start).min(bytes);
            self.places.insert(key.into(), (start, here));
            at = end;
        }
        Ok(at)
    }
}

type Sizes<'h> = HashMap<&'h [u8], Option<(u64, u64)>, RandomState>;

/// Bytes of an element and number of elements of each storage in a pickle, where it is clear.
fn storage_sizes<'h>(heap: &'h Heap<'_>, budget: &Budget) -> Result<Sizes<'h>> {
    let mut sizes = Sizes::default();
    for id in 0..u32::try_from(heap.len()).unwrap_or(u32::MAX) {
        let Some(storage) = storage_id(heap, id) else { continue };
        let size = (storage.unit(), storage.len);
        match sizes.get_mut(storage.key) {
            None => {
                budget.charge(48, "storages")?;
                sizes.insert(storage.key, Some(size));
            }
            // Of two sizes for one storage neither can be trusted.
            Some(known) => *known = known.filter(|known| *known == size),
        }
    }
    Ok(sizes)
}

impl Store for LegacyStore {
    fn locate(&mut self, key: &[u8], _: &mut Catalog) -> Result<Result<Located, Missing>> {
        Ok(match self.places.get(key) {
            Some(&(start, available)) => Ok(Located { run: Run::At(start), available }),
            None => Err(Missing {
                kind: "truncated",
                reason: "the file has no storage for this tensor: it is truncated or damaged"
                    .to_owned(),
            }),
        })
    }

    fn pickle_offset(&self) -> Option<u64> {
        Some(self.pickle)
    }
}
