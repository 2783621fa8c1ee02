//! What this CPU can do, and the seam behind which kernels use it.
//!
//! A kernel's scalar function is its definition. It is compiled once for each [`Level`], and has
//! forms written with intrinsics where benchmarks call for them. The form is chosen at run time,
//! so a plain `cargo install` is as fast as a build for this very CPU. Multiply-add is fused only
//! where the product is exact: elsewhere it would round once where the definition rounds twice.
//!
//! **Not a number.** Where the definition gives NaN, every level and every output type gives NaN.
//! Which NaN (its sign and its payload) is not promised, nor is it by IEEE 754's arithmetic;
//! everything else, the sign of zero included, is the same to the bit.

#[macro_use]
mod blocks;
#[macro_use]
mod isa;
#[macro_use]
mod sets;
#[macro_use]
pub mod vector;

pub mod accumulate;
#[cfg(any(test, feature = "testing"))]
pub mod agreement;
pub mod by_digits;
pub mod codes;
mod columns;
pub mod extent;
mod level;
pub mod near;
mod number;
pub mod pair;
mod scalars;
mod slices;
pub mod small_floats;
pub mod steps;
mod to_small_floats;
mod transpose;

// The instruction sets, the slowest first: the folder or file of each, and where it is compiled.
cfg_match! {
    all() => { mod baseline; }
    target_arch = "x86_64" => { mod avx2; }
}

pub use crate::kernel;
pub use columns::{EIGHT, EightColumns, decode_eight_columns};
pub use isa::{Isa, Operations, Task};
pub use level::{Level, asked, level, with_level};
pub use number::{Number, half_to_f32};
pub use slices::{map, narrow, prefetch};
pub use to_small_floats::{finite_to_e4m3, pack_nibbles, to_e2m1, to_e2m1_magnitude, to_e4m3};
pub use transpose::{Sides, transpose};
