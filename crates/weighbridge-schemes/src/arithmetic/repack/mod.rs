//! Codes that most recipes can expose unchanged, and a layout that several schemes share.

mod flat;
mod small_floats;

pub use flat::{FlatCodes, WithCodes};
pub(crate) use flat::{copy_rows, first};
pub use small_floats::SmallFloats;
