//! Arithmetic on codes, factors and numbers that several schemes share: decoding, encoding, and
//! weights composed of others.

pub(crate) mod columns;
mod composed;
pub(crate) mod decode_again;
pub(crate) mod group_codes;
pub(crate) mod magnitude;
pub(crate) mod matrix;
pub mod plain;
pub(crate) mod precision;
mod repack;
pub(crate) mod six_bits;
pub(crate) mod swizzle;
pub(crate) mod tiled_scales;

pub use composed::{Composed, Computed, InTurn, Stretch};
pub use repack::{FlatCodes, SmallFloats, WithCodes};
pub(crate) use repack::{copy_rows, first};

/// Converts the length of data that is in memory, or will be.
pub(crate) fn length(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
