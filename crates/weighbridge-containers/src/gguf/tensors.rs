//! The list of tensors, and where each one's bytes are.

use crate::catalog::{Catalog, Finding, LISTED, Place, Run, Shape, TensorInfo};
use crate::error::{Error, Result};
use crate::start_of;
use crate::writing::full_count;

use super::check::report;
use super::reader::Reader;
use super::types::{self, Dialect, Extent, Size};

/// ggml has four dimensions; other writers may go further, garbage goes much further.
const MAX_RANK: u32 = 8;

/// More elements than any storage holds, few enough that their bits can still be counted.
const MAX_ELEMENTS: u64 = 1 << 56;

/// Reads `count` tensors into the catalog. The cursor ends behind the list.
pub(super) fn read(
    reader: &mut Reader<'_>,
    count: u64,
    alignment: u64,
    catalog: &mut Catalog,
) -> Result<()> {
    const WHAT: &str = "the tensor list";
    let least = reader.prefix_bytes().saturating_add(16);
    reader.expect_items(count, least, WHAT)?;
    reader.budget.items(count, WHAT)?;
    reader.budget.charge(count.saturating_mul(LISTED), WHAT)?;
    let mut list = List { dialect: Dialect::of(&catalog.metadata), unknown: Vec::new() };
    // A stream's length is not known, so its count cannot be checked.
    catalog.tensors.reserve(usize::try_from(count).unwrap_or(0).min(4096));
    for _ in 0..count {
        let name = reader.name("a tensor's name")?;
        list.tensor(reader, &name, catalog).map_err(|e| e.in_tensor(&name))?;
    }
    let data_start =
        reader.cursor.position().checked_next_multiple_of(alignment).ok_or_else(|| {
            Error::malformed(format!("alignment {alignment} is too large for any file"))
        })?;
    place(catalog, data_start)?;
    fill_unknown(catalog, &list.unknown, reader.file_len);
    Ok(())
}

/// What is known while the list is read.
struct List {
    dialect: Dialect,
    /// Tensors whose size their type does not tell.
    unknown: Vec<usize>,
}

impl List {
    fn tensor(&mut self, reader: &mut Reader<'_>, name: &str, catalog: &mut Catalog) -> Result<()> {
        let at = reader.cursor.position();
        let shape = shape(reader).map_err(|e| e.at(at))?;
        let id = reader.cursor.u32("a tensor's type")?;
        let offset = reader.cursor.u64("a tensor's offset")?;
        let extent = extent(&shape).map_err(|e| e.at(at))?;
        let resolved = types::resolve(id, extent, self.dialect, reader.endian());
        let (bytes, unknown) = match resolved.size {
            Size::Bytes(bytes) => (bytes, None),
            Size::TooLarge => return Err(too_large(&shape).at(at)),
            Size::Unknown(reason) => (0, Some(reason)),
            Size::BadShape(reason) => {
                let finding = Finding::of(name, "bad-shape", reason.clone());
                report(&mut catalog.findings, reader.budget, finding)?;
                (0, Some(reason))
            }
        };
        if unknown.is_some() {
            self.unknown.push(catalog.tensors.len());
        }
        let place = Place { swap: resolved.swap, ..Place::at(offset) };
        let stored = resolved.stored;
        let refused = unknown.or(resolved.refused).map(Into::into);
        let tensor = TensorInfo { name: name.into(), shape, stored, bytes, place, refused };
        catalog.tensors.push(tensor);
        Ok(())
    }
}

/// Dimensions, turned so that the outermost comes first.
fn shape(reader: &mut Reader<'_>) -> Result<Shape> {
    let rank = reader.cursor.u32("a tensor's rank")?;
    if rank > MAX_RANK {
        return Err(Error::malformed(format!(
            "{rank} dimensions exceed the maximum of {MAX_RANK}"
        )));
    }
    let mut shape = Shape::new();
    for _ in 0..rank {
        shape.push(reader.length("a tensor's dimension")?);
    }
    shape.reverse();
    Ok(shape)
}

pub(super) fn extent(shape: &[u64]) -> Result<Extent> {
    // A zero must not hide that the other dimensions are absurd.
    let Some(full) = full_count(shape).filter(|&full| full <= MAX_ELEMENTS) else {
        return Err(too_large(shape));
    };
    let elements = if shape.contains(&0) { 0 } else { full };
    Ok(Extent { elements, columns: shape.last().copied().unwrap_or(1) })
}

fn too_large(shape: &[u64]) -> Error {
    Error::malformed(format!("shape {shape:?} is too large"))
}

/// Turns offsets from the start of the data into offsets from the start of the file.
fn place(catalog: &mut Catalog, data_start: u64) -> Result<()> {
    for tensor in &mut catalog.tensors {
        let Run::At(offset) = &mut tensor.place.run else { continue };
        let end = data_start.checked_add(*offset).and_then(|start| start.checked_add(tensor.bytes));
        if end.is_none() {
            let message = format!("offset {offset} is too large");
            return Err(Error::malformed(message).in_tensor(&tensor.name));
        }
        *offset = data_start.saturating_add(*offset);
    }
    Ok(())
}

/// A tensor of unknown size ends where the next one starts, or with the file.
fn fill_unknown(catalog: &mut Catalog, unknown: &[usize], file_len: Option<u64>) {
    if unknown.is_empty() {
        return;
    }
    let mut starts: Vec<u64> = catalog.tensors.iter().map(start).collect();
    starts.sort_unstable();
    for &index in unknown {
        let Some(tensor) = catalog.tensors.get_mut(index) else { continue };
        let from = start(tensor);
        let next = starts.get(starts.partition_point(|&start| start <= from)).copied();
        let end = match (next, file_len) {
            (Some(next), Some(len)) => next.min(len),
            (next, len) => next.or(len).unwrap_or(from),
        };
        tensor.bytes = end.saturating_sub(from);
    }
}

/// Where a tensor's bytes start.
pub(super) fn start(tensor: &TensorInfo) -> u64 {
    start_of(tensor).unwrap_or(0)
}
