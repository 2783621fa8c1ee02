//! The arithmetic of comparing: two pieces of numbers in, statistics out.
//!
//! Nothing here knows of weights or files. What is added up, and in which order, does not depend
//! on the CPU or the number of threads.

mod measure;
mod non_finite;
mod outside;
mod statistics;
mod steps;
mod wide;

pub use measure::{PIECE, measure, one_by_one};
pub use non_finite::{NonFinite, count_non_finite};
pub use outside::{
    COPIES, Outside, Place, ROUNDING, RowSums, are_apart, are_outside_rounded, count_apart,
    count_disordered, count_outside, times_outside,
};
pub use statistics::{Statistics, cosine};
pub use steps::{Coarse, steps, steps_in};
pub use wide::{Wide, read};
