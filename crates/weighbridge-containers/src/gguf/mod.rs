//! GGUF: key-value metadata, a list of tensors, then their data.
//!
//! ```text
//! "GGUF"
//! u32      version: 1, 2 or 3; the low half is zero in a big-endian file read the other way
//! n        number of tensors
//! n        number of metadata entries
//! entries  string key, u32 type, value
//! tensors  string name, u32 rank, n x rank dimensions (innermost first), u32 type, u64 offset
//! padding  to the alignment: `general.alignment`, 32 if not given
//! data     each tensor at its offset from here, a multiple of the alignment
//!
//! n        u64; u32 in version 1
//! string   n length, bytes (no terminator; values are not always UTF-8, names must be)
//! value    a number, one byte of truth, a string, or an array: u32 type, n length, values
//! ```
//!
//! Arrays hold vocabularies of hundreds of thousands of strings. They are walked over and left
//! in the file; `FormatRules::array` reads one when it is asked for.
//!
//! Everything in a big-endian file is big-endian, the numbers inside blocks included. One writer
//! (gguf-py, when it writes big-endian files directly rather than converting them) leaves BF16
//! and packed blocks little-endian; nothing in such a file tells, and it is read by the rule.
//!
//! A type number that is not known makes its tensor opaque. What forks have given old numbers to
//! is in `types`. Of the parts of a split file each is opened by itself; the model joins them.

use crate::catalog::{ArrayRef, Catalog, Metadata, Value};
use crate::cursor::Endian;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::{Budget, Limits};
use crate::source::FormatRules;
use crate::text::shortened;

use super::{Container, Conventions, Opening, Probe, Recognition};
use reader::Reader;

mod check;
mod entries;
mod files;
mod original_shapes;
mod reader;
mod tensors;
mod types;
mod write;

/// The container.
pub struct Gguf;

impl Container for Gguf {
    fn conventions(&self) -> &'static Conventions {
        &files::FILES
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.head.starts_with(reader::MAGIC) { Recognition::Certain } else { Recognition::No }
    }

    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
        let mut reader = Reader::new(input, opening.budget)?;
        let tensor_count = reader.length("the tensor count")?;
        let entry_count = reader.length("the metadata entry count")?;
        let mut catalog = Catalog::default();
        let shapes = entries::read(&mut reader, entry_count, &mut catalog)?;
        let alignment = alignment(&catalog.metadata)?;
        tensors::read(&mut reader, tensor_count, alignment, &mut catalog)?;
        check::check(&mut catalog, &reader, alignment)?;
        original_shapes::apply(&mut catalog, shapes, opening.budget)?;
        catalog.detail = Some(detail(&reader, alignment));
        Ok(catalog)
    }
}

impl FormatRules for Gguf {
    fn is_own_key(&self, key: &str) -> bool {
        // Elsewhere the tensors have these shapes.
        key.starts_with(original_shapes::PREFIX)
    }

    fn array(&self, input: &Input, array: &ArrayRef, limits: &Limits) -> Result<Vec<Value>> {
        let budget = Budget::new(limits.clone());
        entries::elements(&mut Reader::new(input, &budget)?, array)
    }

    fn raw_array(
        &self,
        input: &Input,
        array: &ArrayRef,
        limits: &Limits,
    ) -> Result<Option<Vec<u8>>> {
        let budget = Budget::new(limits.clone());
        entries::raw(&mut Reader::new(input, &budget)?, array)
    }
}

/// What offsets are multiples of.
fn alignment(metadata: &Metadata) -> Result<u64> {
    match metadata.get("general.alignment") {
        None => Ok(32),
        Some(value) => match value.as_u64() {
            Some(alignment) if alignment.is_power_of_two() => Ok(alignment),
            _ => Err(Error::malformed(format!(
                "general.alignment is {}, but must be a power of two",
                shortened(&value.to_json().to_string(), 60)
            ))),
        },
    }
}

fn detail(reader: &Reader<'_>, alignment: u64) -> String {
    let order = match reader.endian() {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    format!("v{}, {order}-endian, alignment {alignment}", reader.version)
}

#[cfg(test)]
mod tests;
