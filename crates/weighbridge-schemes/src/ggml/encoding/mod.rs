//! How numbers become blocks: a file for each family, and beside it the form for many blocks at a
//! time, with a set of instructions.

pub(super) mod codebook;
pub(super) mod codebook_in_lanes;
pub(super) mod k;
pub(super) mod k_minimum;
pub(super) mod simple;
pub(super) mod simple_by_importance;
pub(super) mod simple_in_lanes;
