//! Codes that most recipes can hand out as they are, and a layout that several schemes share.

mod flat;
mod flat_groups;
mod small_floats;
mod with_groups;

pub use flat::{FlatCodes, WithCodes};
pub use flat_groups::FlatGroups;
pub use small_floats::SmallFloats;
pub use with_groups::WithGroups;
