//! Decodes small codes: each code stands for a number, which is combined with the factors of its
//! group.

#[cfg(test)]
mod agreement;
mod decode;
mod numbers;
mod packing;

pub use decode::{Arithmetic, Factor, Rule, Run, Segment, decode};
pub use numbers::{Numbers, Spacing};
pub use packing::{CodeKind, Codes, Packing};
