//! Decodes small codes: each code stands for a number, which is combined with the factors of its
//! group.

#[cfg(test)]
mod agreement;
mod decode;
mod numbers;
mod packing;

pub(crate) use decode::{Arithmetic, Factor, Run, Segment, decode};
pub(crate) use numbers::{Numbers, Spacing};
pub(crate) use packing::{Codes, Kind, Packing};
