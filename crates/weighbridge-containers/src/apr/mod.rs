//! APR: the format of aprender, in the versions and dialects that are found in files.
//!
//! ```text
//! magic    what follows                                                        file
//! APR\0    version 2: header(64), JSON metadata, tensor index, data, CRC-32    v2.rs, index.rs
//! APR2     version 2 as first written, with older type numbers                 v2.rs
//! APR\0    a compressed APR1 file, told apart by its lack of a v2 header       v2.rs (refused)
//! APR1     u32 length, JSON metadata, u32 count, u32 length, JSON index, data  json_index.rs
//! APRN     version 1: header(32), MessagePack metadata, one bincode object     v1.rs
//! APRT     u32 layer, u32 n, n x f32: the output of one stage of a model       stage.rs
//! ```
//!
//! Several programs write version 2 and do not agree on the numbers of types, on checksums or on
//! padding. Where a number is ambiguous the size of the tensor decides; where a file departs from
//! the canonical writer it is read all the same, and a note or a finding says so. What the
//! canonical reader leaves unchecked (bounds, overlap, size against type and shape) is checked.

use crate::catalog::{ArrayRef, Catalog, Value};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::{Budget, Limits};
use crate::source::FormatRules;

use super::{Container, Conventions, Opening, Probe, Recognition};

mod checks;
mod dtypes;
mod files;
mod index;
mod json_index;
mod metadata;
mod msgpack;
mod stage;
mod v1;
mod v2;

/// The container.
pub struct Apr;

impl Container for Apr {
    fn conventions(&self) -> &'static Conventions {
        &files::FILES
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        match probe.head.first_chunk::<4>() {
            Some(magic) if Version::of(*magic).is_some() => Recognition::Certain,
            // Another letter may be another version: worth an error that says so.
            Some(magic) if magic.starts_with(b"APR") => Recognition::Likely,
            _ => Recognition::No,
        }
    }

    fn open(&self, input: &Input, opening: &Opening<'_>) -> Result<Catalog> {
        match version_of(input)? {
            Version::Two => v2::open(input, opening.budget, false),
            Version::OldTwo => v2::open(input, opening.budget, true),
            Version::Json => json_index::open(input, opening.budget),
            Version::One => v1::open(input, opening.budget),
            Version::Stage => stage::open(input, opening.budget),
        }
    }
}

impl FormatRules for Apr {
    fn array(&self, input: &Input, array: &ArrayRef, limits: &Limits) -> Result<Vec<Value>> {
        let end = match version_of(input)? {
            Version::Two | Version::OldTwo => v2::metadata_end(input)?,
            Version::Json => json_index::metadata_end(input)?,
            Version::One | Version::Stage => 0,
        };
        metadata::array(input, array, end, &Budget::new(limits.clone()))
    }
}

/// What the magic says.
#[derive(Clone, Copy)]
enum Version {
    Two,
    OldTwo,
    Json,
    One,
    Stage,
}

impl Version {
    fn of(magic: [u8; 4]) -> Option<Self> {
        match &magic {
            b"APR\0" => Some(Self::Two),
            b"APR2" => Some(Self::OldTwo),
            b"APR1" => Some(Self::Json),
            b"APRN" => Some(Self::One),
            b"APRT" => Some(Self::Stage),
            _ => None,
        }
    }
}

fn version_of(input: &Input) -> Result<Version> {
    let mut magic = [0; 4];
    input.read_at(0, &mut magic)?;
    Version::of(magic).ok_or_else(|| {
        let [.., last] = magic;
        Error::unsupported(format!("unknown APR variant: the magic number ends in {last:#04x}"))
            .at(3)
            .hint("supported files begin with `APR\\0`, `APR2`, `APR1`, `APRN` or `APRT`")
    })
}
