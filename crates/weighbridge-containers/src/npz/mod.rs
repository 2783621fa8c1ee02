//! numpy's files: NPY, one array, and NPZ, a zip archive of them.
//!
//! ```text
//! NPY   \x93NUMPY, version, length, a Python dictionary of type, order and shape, the elements
//! NPZ   zip archive, each member an NPY file, stored or deflated, named `NAME.npy`
//! ```
//!
//! An NPY array of text, records, dates or objects is listed and refused on reading. In an NPZ
//! each member stands alone: one that cannot be read, for its compression or for its header, does
//! not affect the others. Members that are not arrays are named in the notes.

use crate::catalog::{Catalog, Run};
use crate::dtype::StoredType;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::limits::{Budget, Limits};
use crate::source::FormatRules;

use super::zip::{self, Archive};
use super::{Container, Conventions, Opening, Probe, Recognition};

mod archive;
mod array;
mod files;
mod header;
mod literal;
mod types;
mod write;

use array::Storage;
use header::{Header, MAGIC, Parsed, USUAL};
pub(crate) use types::dtype_of;

/// How the members of an archive end that hold an array.
pub(super) const ARRAY_NAME_END: &[u8] = b".npy";

/// Whether a stored type is one of numpy's with Python objects in it. numpy stores these as a pickle.
pub(crate) fn holds_objects(stored: &StoredType) -> bool {
    stored.element().is_none() && stored.name().contains('O')
}

/// Where the pickle of an array of objects starts in a file; `None` if it is no such array.
pub(crate) fn object_pickle(input: &Input, budget: &Budget) -> Result<Option<u64>> {
    if !input.head(MAGIC.len())?.starts_with(MAGIC) {
        return Ok(None);
    }
    match read_header(input, budget) {
        Ok(header) => Ok(holds_objects(&header.kind.stored).then_some(header.len)),
        Err(error) if error.kind() == ErrorKind::Malformed => Ok(None),
        Err(error) => Err(error),
    }
}

/// How files of one array are named.
pub(crate) fn array_conventions() -> &'static Conventions {
    &files::NPY
}

/// One array in a file of its own.
pub struct Npy;

impl Container for Npy {
    fn conventions(&self) -> &'static Conventions {
        &files::NPY
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.head.starts_with(MAGIC) { Recognition::Certain } else { Recognition::No }
    }

    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
        let header = read_header(input, opening.budget)?;
        // A pickle's or a record's length is not in the header: a stream must be read to its end.
        let end = match header.kind.bytes {
            Some(_) => input.len(),
            None => input.whole_len().ok(),
        };
        let storage =
            Storage { run: Run::At(0), bytes: end.map(|end| end.saturating_sub(header.len)) };
        let tensor = array::tensor(opening.stem, &header, &storage)?;
        let mut catalog = Catalog {
            declared_len: header.len.checked_add(tensor.bytes),
            detail: Some(detail(&header)),
            ..Catalog::default()
        };
        if header.kind.assumed {
            catalog.notes.push(ASSUMED.to_owned());
        }
        array::check_length(&tensor, &header, &storage, &mut catalog);
        note_next(&mut catalog, input);
        array::push(&mut catalog, tensor, opening.budget)?;
        if let Some(end) = end {
            super::note_truncation(&mut catalog, end);
        }
        Ok(catalog)
    }
}

impl FormatRules for Npy {
    fn names_tensors(&self) -> bool {
        false
    }
}

/// `numpy.save` called again on an open file puts one array behind the other.
fn note_next(catalog: &mut Catalog, input: &Input) {
    let mut magic = [0; MAGIC.len()];
    let next = catalog.declared_len.filter(|_| !catalog.findings.is_empty());
    if next.is_some_and(|next| input.read_at(next, &mut magic).is_ok()) && magic == *MAGIC {
        let note = "another array follows the first; only the first is listed";
        catalog.notes.push(note.to_owned());
    }
}

const ASSUMED: &str =
    "numpy has no bfloat16 and saves it as `V2` (two raw bytes); such arrays are read as BF16";

fn read_header(input: &Input, budget: &Budget) -> Result<Header> {
    let mut head = input.head(USUAL)?;
    loop {
        match header::parse(&head, budget)? {
            Parsed::Whole(header) => return Ok(header),
            Parsed::Needs(len) => {
                budget.charge(len as u64, "the array header")?;
                head = input.head(len)?;
                if head.len() < len {
                    return Err(Error::malformed(format!(
                        "the array header needs {len} bytes, but the file ends at byte {}",
                        head.len()
                    ))
                    .at(head.len() as u64)
                    .hint("the file is truncated; fetch it again"));
                }
            }
        }
    }
}

fn detail(header: &Header) -> String {
    let (major, minor) = header.version;
    let order = if header.fortran { ", fortran order" } else { "" };
    let endian = if header.kind.big_endian { ", big-endian" } else { "" };
    format!("npy v{major}.{minor}{order}{endian}")
}

/// An archive of arrays.
pub struct Npz;

impl Container for Npz {
    fn conventions(&self) -> &'static Conventions {
        &files::NPZ
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let named = probe.is_named_as(&files::NPZ);
        if !zip::looks_like_zip(probe.head) && !named {
            return Recognition::No;
        }
        if let Some(answer) = glimpse(probe.head) {
            return answer;
        }
        let budget = Budget::new(Limits::default());
        match (Archive::open(probe.input, &budget), named) {
            (Ok(archive), _) => archive::recognize(&archive, named),
            // Worth an error about the archive, if it starts like one.
            (Err(_), true) if zip::looks_like_zip(probe.head) => Recognition::Likely,
            (Err(_), _) => Recognition::No,
        }
    }

    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
        archive::open(input, opening.budget)
    }
}

impl FormatRules for Npz {}

/// An answer from the first bytes alone, which saves reading the directory twice.
fn glimpse(head: &[u8]) -> Option<Recognition> {
    let mut array = None;
    for member in zip::first_members(head) {
        if archive::is_pickle(member.name) {
            return Some(Recognition::No);
        }
        let stored = member.method == zip::Method::STORED;
        if stored && member.name.ends_with(ARRAY_NAME_END) && member.data.starts_with(MAGIC) {
            array = Some(Recognition::Certain);
        }
    }
    array
}

#[cfg(test)]
mod tests;
