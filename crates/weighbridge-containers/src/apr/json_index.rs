//! Indexes written as JSON: the format `APR1`, and the one dialect of version 2 that has one.
//!
//! ```text
//! 0   `APR1`
//! 4   u32 LE   length of the metadata, then the metadata, a JSON object
//!     u32 LE   number of tensors
//!     u32 LE   length of the index, then the index:
//!              [{"name", "dtype": "F32", "shape", "offset", "size"}, ..]
//!     bytes    data, unpadded; offsets count from here
//!     u32 LE   CRC-32 of all before
//! ```

use std::fmt;

use serde::de::{Deserializer, SeqAccess, Visitor};

use crate::catalog::{Catalog, Finding, LISTED, Shape, element_count};
use crate::cursor::{Cursor, Endian};
use crate::dtype::StoredType;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;
use crate::text::escaped;

use super::{checks, dtypes, index, metadata};

/// What one listed tensor costs, a finding included.
const RECORD: u64 = LISTED + (size_of::<IndexEntry>() + size_of::<Finding>()) as u64;

/// Opens an `APR1` file.
pub(super) fn open(input: &Input, budget: &Budget) -> Result<Catalog> {
    let mut cursor = Cursor::new(input, 4, Endian::Little);
    let len = u64::from(cursor.u32("the metadata length")?);
    let json = input.bytes(8, len, budget, "the metadata")?;
    let mut catalog = Catalog::default();
    metadata::read(&json, 8, budget, &mut catalog)?;
    cursor.skip(len, "the metadata")?;
    let count = cursor.u32("the tensor count")?;
    let len = u64::from(cursor.u32("the index length")?);
    let start = cursor.position();
    let json = input.bytes(start, len, budget, "the tensor index")?;
    let data = start.saturating_add(len);
    read(&json, start, data, budget, &mut catalog)?;
    catalog.detail = Some("APR1, JSON index".to_owned());
    if catalog.tensors.len() as u64 != u64::from(count) {
        let message = format!(
            "the header declares {count} tensors, the index lists {}",
            catalog.tensors.len()
        );
        catalog.findings.push(Finding::general("count", message));
    }
    checks::tensors(&mut catalog);
    checks::end_of_file(input, data, 1, &mut catalog);
    Ok(catalog)
}

/// Where the metadata of an `APR1` file ends.
pub(super) fn metadata_end(input: &Input) -> Result<u64> {
    let len = Cursor::new(input, 4, Endian::Little).u32("the metadata length")?;
    Ok(u64::from(len).saturating_add(8))
}

/// Reads a JSON index that starts at byte `at` into the catalog; offsets count from `data`.
/// Returns how long it is.
pub(super) fn read(
    json: &[u8],
    at: u64,
    data: u64,
    budget: &Budget,
    catalog: &mut Catalog,
) -> Result<u64> {
    // A dimension takes two bytes of text and eight of memory.
    budget.charge((json.len() as u64).saturating_mul(4), "the tensor index")?;
    let mut failure = None;
    let rows = Rows { budget, data, catalog, failure: &mut failure };
    let mut stream = serde_json::Deserializer::from_slice(json);
    let done = stream.deserialize_seq(rows);
    match (failure, done) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(stream.into_iter::<serde::de::IgnoredAny>().byte_offset() as u64),
        (None, Err(error)) => Err(Error::malformed(format!(
            "the tensor index is not valid JSON: {}",
            escaped(&error.to_string())
        ))
        .at(at)),
    }
}

#[derive(serde::Deserialize)]
struct IndexEntry {
    name: String,
    dtype: Option<String>,
    shape: Option<Shape>,
    offset: u64,
    size: u64,
}

struct Rows<'a> {
    budget: &'a Budget,
    data: u64,
    catalog: &'a mut Catalog,
    failure: &'a mut Option<Error>,
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of tensors")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(entry) = seq.next_element::<IndexEntry>()? {
            let cost = RECORD.saturating_add((entry.name.len() as u64).saturating_mul(2));
            let charged = crate::charge_item(self.budget, cost, "the tensor list");
            metadata::keep(charged, self.failure)?;
            entry.list(self.data, self.catalog);
        }
        Ok(())
    }
}

impl IndexEntry {
    fn list(self, data: u64, catalog: &mut Catalog) {
        let dtype = self.dtype.unwrap_or_default();
        let shape = self.shape.unwrap_or_else(|| Shape::from_slice(&[self.size]));
        let (stored, problem) = match dtypes::named(&dtype.to_ascii_uppercase()) {
            Some(stored) if dtypes::fits(&stored, &shape, self.size) => (stored, None),
            Some(stored) => {
                let message = index::misfit(&stored, &shape, self.size);
                (stored, Some(("size", message)))
            }
            None => {
                let message = match dtype.as_str() {
                    "json" => {
                        "all weights are stored as one JSON text, which is not supported".to_owned()
                    }
                    _ => format!("unsupported type `{}`", escaped(&dtype)),
                };
                (StoredType::opaque(dtype), Some(("unknown-type", message)))
            }
        };
        let problem = match element_count(&shape) {
            Some(_) => problem,
            None => Some(("size", format!("shape {shape:?} is too large"))),
        };
        let place = (self.offset, self.size);
        index::list(catalog, self.name.into(), shape, stored, data, place, problem);
    }
}
