//! Blocks of packed numbers, a file for each family.

pub(super) mod bits;
pub(super) mod codebook;
mod four;
pub(super) mod fp4;
mod grids;
pub(super) mod iq1;
pub(super) mod iq2;
pub(super) mod iq3;
pub(super) mod k_minimum;
pub(super) mod k_signed;
pub(super) mod simple;
mod spread;
pub(super) mod ternary;
