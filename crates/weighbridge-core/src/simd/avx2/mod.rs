//! x86-64 with AVX2, F16C and FMA.
//!
//! Vectors do not leave this folder: the rest of the crate sees only the functions of an [`Isa`],
//! which take slices. Functions of registers and references have `#[target_feature]`, so they are
//! safe to call from one another. Functions of pointers are `#[inline(always)]` instead: they
//! become part of their callers, and are compiled with the callers' instructions.
#![allow(unsafe_code)] // In the whole folder: an [`Avx2`] exists only where the CPU has the instructions.

use std::ops::Range;

use super::accumulate::{Eight, OneSide, TwoSides};
use super::blocks::BlockForms;
use super::by_digits::{Tables, Target};
use super::codes::{Rule, Run, Segment};
use super::columns::EightColumns;
use super::extent::{Ends, Extent, Sixteen};
use super::isa::{Isa, Operations, Task};
use super::near::{Cells, EvenReach, FloatReach};
use super::vector::LANES;
use super::{Number, Sides};

mod accumulate;
mod blocks;
mod by_digits;
mod codes;
mod columns;
mod extent;
mod lanes;
mod near;
mod numbers;
mod slices;
mod steps;
mod table16;
mod transpose;
mod vector;

use numbers::{apart, half, scaled_words16, scaled16, signed8, unsigned8};
use table16::{Table16, crossed, crossed_nibbles32};

/// Whether this CPU has what the level needs.
pub(super) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("f16c")
        && std::is_x86_feature_detected!("fma")
}

/// Runs a task with these instructions.
///
/// # Safety
///
/// The CPU has them: [`is_available`].
#[inline(never)]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) unsafe fn run<K: Task>(task: K) -> K::Output {
    task.run(Avx2(()))
}

/// Stands for the instructions within a task. Only [`run`] makes one.
#[derive(Clone, Copy)]
struct Avx2(());

impl Isa for Avx2 {
    type Vector = vector::Register;

    #[inline(always)]
    fn splat(self, value: f32) -> vector::Register {
        vector::Register::splat(self, value)
    }

    #[inline(always)]
    fn load(self, lanes: &[f32; 8]) -> vector::Register {
        vector::Register::load(self, lanes)
    }
}

operations_of!(Avx2 {
    narrow by slices::narrow;
    prefetch by slices::prefetch;
    transpose by transpose::squares;
    scaled_bytes by slices::scaled_bytes;
    code_groups by codes::groups;
    code_segment by codes::segment;
    turn_words by columns::turn_words;
    turn_nibbles by columns::turn_nibbles;
    eight_columns by columns::eight_columns;
    one_side by accumulate::one_side;
    two_sides by accumulate::two_sides;
    extent by extent::extent;
    near_even by near::even;
    near_floats by near::floats;
    in_cells by near::in_cells;
    nearest_code by by_digits::nearest;
    sums_by_digits by by_digits::sums::<DIGITS>;
});

block_forms_of!(Avx2 {
    simple: q4_0, q4_1, q5_0, q5_1, q8_0, q8_1, apr_q4;
    bits: q1_0, q2_0;
    codebook: iq4_nl, iq4_xs;
    k_minimum: q2_k, q4_k, q5_k;
    k_signed: q3_k, q6_k, q8_k;
    ternary: tq1_0, tq2_0;
    fp4: mxfp4, nvfp4, nvfp4_times;
    iq1: iq1_s, iq1_m;
    iq2: iq2_xxs, iq2_xs, iq2_s;
    iq3: iq3_xxs, iq3_s;
});
