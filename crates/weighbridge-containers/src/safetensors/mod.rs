//! safetensors: a JSON header, then the tensors back to back.
//!
//! ```text
//! u64 LE   length of the header, at most 100,000,000
//! JSON     {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets": [from, to]}, ..}
//! bytes    tensors, contiguous from 0, covering the rest of the file exactly
//! ```
//!
//! Everything the format forbids is refused: overlaps, holes, duplicate names, a size that does
//! not follow from dtype and shape. A file that is merely cut short, or has bytes left over, is
//! still listed, with a finding. A dtype this version does not know makes that tensor opaque.

use crate::catalog::{Catalog, Finding};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::source::FormatRules;

use super::{Container, Conventions, Opening, Probe, Recognition};

mod files;
mod header;
mod index;
mod json;
mod write;

/// The format's own cap on the header.
const MAX_HEADER: u64 = 100_000_000;

/// The container.
pub struct Safetensors;

impl Container for Safetensors {
    fn conventions(&self) -> &'static Conventions {
        &files::FILES
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some((len, rest)) = probe.head.split_first_chunk::<8>() else { return Recognition::No };
        let len = u64::from_le_bytes(*len);
        let opens = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        if opens && (2..=MAX_HEADER).contains(&len) {
            Recognition::Certain
        } else if probe.is_named_as(&files::FILES) {
            // A name is not enough, but it is worth an error about the header.
            Recognition::Likely
        } else {
            Recognition::No
        }
    }

    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
        let mut length = [0; 8];
        input.read_at(0, &mut length)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(Error::malformed(format!(
                "the header length is {length} bytes; safetensors allows at most {MAX_HEADER}"
            ))
            .at(0));
        }
        let json = input
            .bytes(8, length, opening.budget, "the safetensors header")
            .map_err(|e| e.hint("the header itself is truncated; fetch the file again"))?;
        let data_start = length.saturating_add(8);
        let mut catalog = header::parse(&json, data_start, opening.budget)?;
        check_end(&mut catalog, data_start, input.len());
        Ok(catalog)
    }
}

impl FormatRules for Safetensors {
    /// Says which framework the file is for.
    fn is_own_key(&self, key: &str) -> bool {
        key == "format"
    }
}

/// Compares the end of the last tensor with the end of the file.
fn check_end(catalog: &mut Catalog, data_start: u64, len: Option<u64>) {
    let end = catalog.declared_len.unwrap_or(data_start);
    let Some(len) = len else { return };
    if len > end {
        let message = format!(
            "{} bytes follow the last tensor, which ends at byte {end}; the format allows none",
            len.saturating_sub(end)
        );
        catalog.findings.push(Finding::general("trailing-bytes", message));
    }
    super::note_truncation(catalog, len);
}
