//! The binary tensor index of version 2: entries one after another, without padding.
//!
//! ```text
//! u16 LE   length of the name          u8       number of dimensions
//! UTF-8    name                        u64 LE   each dimension, outermost first
//! u8       type                        u64 LE   offset from the start of the data
//!                                      u64 LE   size in bytes
//! ```

use std::collections::BTreeMap;

use crate::catalog::{Catalog, Finding, LISTED, Place, Shape, TensorInfo};
use crate::cursor::{Cursor, Endian};
use crate::dtype::StoredType;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;

use super::dtypes::{self, Resolved};

/// The shortest entry: no name, no dimensions.
const SHORTEST: u64 = 20;

/// The writer silently cuts longer names.
const NAME_CUT: usize = 256;

/// What one listed tensor costs beside its name and dimensions, a finding included.
const RECORD: u64 = LISTED + size_of::<Finding>() as u64;

/// Where the index is and how it is to be read.
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) count: u32,
    pub(super) data: u64,
    pub(super) old_types: bool,
}

/// What was noticed while reading.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) end: u64,
    pub(super) unsorted: Option<Box<str>>,
    pub(super) cut_names: u64,
    /// Tensors by number and meaning, where that is not the canonical one.
    pub(super) foreign: BTreeMap<(u8, Box<str>), u64>,
}

struct IndexEntry {
    name: Box<str>,
    dtype: u8,
    shape: Shape,
    offset: u64,
    bytes: u64,
}

/// Reads all entries into the catalog.
pub(super) fn read(
    input: &Input,
    place: &Span,
    budget: &Budget,
    catalog: &mut Catalog,
) -> Result<Seen> {
    check_count(input, place)?;
    let mut cursor = Cursor::new(input, place.start, Endian::Little);
    let mut seen = Seen::default();
    let mut before: Option<Vec<u8>> = None;
    for _ in 0..place.count {
        let at = cursor.position();
        let raw = read_name(&mut cursor, budget)?;
        let name: Box<str> = String::from_utf8_lossy(&raw).into();
        if name.as_bytes() != raw {
            let message =
                format!("the name at byte {at} is not UTF-8; invalid characters are replaced");
            catalog.findings.push(Finding::of(&name, "name-encoding", message));
        }
        if raw.len() == NAME_CUT {
            seen.cut_names = seen.cut_names.saturating_add(1);
        }
        if seen.unsorted.is_none() && before.as_ref().is_some_and(|before| *before >= raw) {
            seen.unsorted = Some(name.clone());
        }
        before = Some(raw);
        let entry = read_entry(&mut cursor, name, budget)?;
        add(entry, place, catalog, &mut seen);
    }
    seen.end = cursor.position();
    Ok(seen)
}

/// A count that the file cannot hold ends here, not after millions of entries.
fn check_count(input: &Input, place: &Span) -> Result<()> {
    let needed = u64::from(place.count).saturating_mul(SHORTEST);
    match input.len() {
        Some(len) if place.start.saturating_add(needed) > len => Err(Error::malformed(format!(
            "{} tensors need an index of at least {needed} bytes, but it starts at byte {} \
                 and the file ends at byte {len}",
            place.count, place.start
        ))
        .at(8)
        .hint("the header is damaged or the file is truncated; fetch it again")),
        _ => Ok(()),
    }
}

fn read_name(cursor: &mut Cursor<'_>, budget: &Budget) -> Result<Vec<u8>> {
    let len = cursor.u16("the length of a tensor name")?;
    let cost = RECORD.saturating_add(u64::from(len).saturating_mul(2));
    crate::charge_item(budget, cost, "the tensor list")?;
    Ok(cursor.take(len.into(), "a tensor's name")?.to_vec())
}

fn read_entry(cursor: &mut Cursor<'_>, name: Box<str>, budget: &Budget) -> Result<IndexEntry> {
    let dtype = cursor.u8("a tensor's type")?;
    let dimensions = cursor.u8("a tensor's rank")?;
    budget.charge(u64::from(dimensions).saturating_mul(8), "the tensor list")?;
    let mut shape = Shape::new();
    for _ in 0..dimensions {
        shape.push(cursor.u64("a tensor's dimension")?);
    }
    let offset = cursor.u64("a tensor's offset")?;
    let bytes = cursor.u64("a tensor's size")?;
    Ok(IndexEntry { name, dtype, shape, offset, bytes })
}

fn add(entry: IndexEntry, place: &Span, catalog: &mut Catalog, seen: &mut Seen) {
    let IndexEntry { name, dtype, shape, offset, bytes } = entry;
    let (stored, problem) = match dtypes::resolve(dtype, &shape, bytes) {
        Resolved::Fits(stored) => {
            if bytes > 0 && !dtypes::is_canonical(dtype, stored.name(), place.old_types) {
                let count = seen.foreign.entry((dtype, stored.name().into())).or_default();
                *count = count.saturating_add(1);
            }
            (stored, None)
        }
        Resolved::Misfit(stored) => {
            let message = misfit(&stored, &shape, bytes);
            (stored, Some(("size", message)))
        }
        Resolved::Unknown => {
            let message = format!("unsupported type number {dtype}");
            (StoredType::opaque(format!("type {dtype}")), Some(("unknown-type", message)))
        }
    };
    list(catalog, name, shape, stored, place.data, (offset, bytes), problem);
}

/// The reason no type of that number fits.
pub(super) fn misfit(stored: &StoredType, shape: &[u64], bytes: u64) -> String {
    format!("the index gives {bytes} bytes, which does not fit {} {shape:?}", stored.name())
}

/// Lists a tensor at an offset from the start of the data; what is wrong with it becomes a finding
/// and the reason its values are refused.
pub(super) fn list(
    catalog: &mut Catalog,
    name: Box<str>,
    shape: Shape,
    stored: StoredType,
    data: u64,
    (offset, bytes): (u64, u64),
    mut problem: Option<(&'static str, String)>,
) {
    let start = data.checked_add(offset).filter(|start| start.checked_add(bytes).is_some());
    if start.is_none() {
        let message = format!("offset {offset} and size {bytes} are too large for any file");
        problem = Some(("out-of-bounds", message));
    }
    if let Some((kind, message)) = &problem {
        catalog.findings.push(Finding::of(&name, kind, message.clone()));
    }
    let place = start.map_or(Place::nowhere(), Place::at);
    let refused = problem.map(|(_, message)| message.into());
    catalog.tensors.push(TensorInfo { name, shape, stored, bytes, place, refused });
}
