//! x86-64 with AVX2, F16C and FMA.
//!
//! Vectors do not leave this folder: the rest of the crate sees only the functions of an [`Isa`],
//! which take slices. Functions of registers and references have `#[target_feature]`, so they are
//! safe to call from one another. Functions of pointers are `#[inline(always)]` instead: they
//! become part of their callers, and are compiled with the callers' instructions.
#![allow(unsafe_code)] // Intrinsics; an [`Avx2`] exists only where the CPU has them.

use std::ops::Range;

use super::accumulate::{Eight, OneSide, TwoSides};
use super::blocks::BlockForms;
use super::by_digits::{Tables, Target};
use super::codes::{Arithmetic, Codes, Run, Segment};
use super::columns::EightColumns;
use super::extent::{Ends, Extent, Sixteen};
use super::isa::{Isa, Task};
use super::near::{Cells, EvenReach, FloatReach};
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

use numbers::{even, half, odd, scaled_words16, scaled_words16_from, scaled16, signed8, unsigned8};
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

    #[inline(always)]
    fn narrow<T: Number>(self, values: &[f32], out: &mut [T]) {
        // SAFETY: the CPU has the instructions.
        unsafe { slices::narrow(values, out) }
    }

    #[inline(always)]
    fn prefetch<T>(self, out: &[T]) {
        slices::prefetch(out);
    }

    #[inline(always)]
    fn transpose<T: Number>(self, sides: Sides, from: &[T], to: &mut [T]) -> (usize, usize) {
        // SAFETY: the CPU has the instructions.
        unsafe { transpose::squares(sides, from, to) }
    }

    #[inline(always)]
    fn scaled_bytes<T: Number>(self, scale: f32, bytes: &[u8], out: &mut [T]) -> usize {
        // SAFETY: the CPU has the instructions.
        unsafe { slices::scaled_bytes(scale, bytes, out) }
    }

    #[inline(always)]
    fn code_groups<T: Number>(
        self,
        codes: &Codes,
        signs: Option<[u8; 16]>,
        arithmetic: Arithmetic,
        stepwise: bool,
        run: &Run<'_>,
        out: &mut [T],
    ) -> usize {
        // SAFETY: the CPU has the instructions.
        unsafe { codes::groups(codes, signs, arithmetic, stepwise, run, out) }
    }

    #[inline(always)]
    fn code_segment<T: Number>(
        self,
        codes: &Codes,
        arithmetic: Arithmetic,
        segment: Segment<'_>,
        out: &mut [T],
    ) -> usize {
        // SAFETY: the CPU has the instructions.
        unsafe { codes::segment(codes, arithmetic, segment, out) }
    }

    #[inline(always)]
    fn turn_words<'a, const BYTES: usize, const COLUMNS: usize>(
        self,
        streams: &mut [[u8; BYTES]; COLUMNS],
        row: impl Fn(usize) -> &'a [u8],
        columns: &Range<usize>,
        rows: &Range<usize>,
    ) -> (usize, usize) {
        // SAFETY: the CPU has the instructions.
        unsafe { columns::turn_words(streams, row, columns, rows) }
    }

    #[inline(always)]
    fn turn_nibbles<'a, const BYTES: usize, const COLUMNS: usize>(
        self,
        streams: &mut [[u8; BYTES]; COLUMNS],
        row: impl Fn(usize) -> &'a [u8],
        columns: &Range<usize>,
        rows: &Range<usize>,
        order: [u32; 8],
    ) -> usize {
        // SAFETY: the CPU has the instructions.
        unsafe { columns::turn_nibbles(streams, row, columns, rows, order) }
    }

    #[inline(always)]
    fn eight_columns<'a, T: Number, const STRIDE: usize>(
        self,
        codes: EightColumns<'a, impl Fn(usize) -> &'a [u8], STRIDE>,
        out: &mut [T],
    ) {
        // SAFETY: the CPU has the instructions.
        unsafe { columns::eight_columns(codes, out) }
    }

    #[inline(always)]
    fn one_side(self, numbers: &[Eight]) -> OneSide {
        // SAFETY: the CPU has the instructions.
        unsafe { accumulate::one_side(numbers) }
    }

    #[inline(always)]
    fn two_sides(self, a: &[Eight], b: &[Eight]) -> TwoSides {
        // SAFETY: the CPU has the instructions.
        unsafe { accumulate::two_sides(a, b) }
    }

    #[inline(always)]
    fn extent(self, numbers: &[Sixteen], ends: &mut [Ends]) -> Extent {
        // SAFETY: the CPU has the instructions.
        unsafe { extent::extent(numbers, ends) }
    }

    #[inline(always)]
    fn near_even(self, reach: &EvenReach, values: &[f32], originals: &[f32]) -> bool {
        // SAFETY: the CPU has the instructions.
        unsafe { near::even(reach, values, originals) }
    }

    #[inline(always)]
    fn near_floats(self, reach: &FloatReach, values: &[f32], originals: &[f32]) -> bool {
        // SAFETY: the CPU has the instructions.
        unsafe { near::floats(reach, values, originals) }
    }

    #[inline(always)]
    fn in_cells(self, cells: &Cells, values: &[f32], originals: &[f32]) -> bool {
        // SAFETY: the CPU has the instructions.
        unsafe { near::in_cells(cells, values, originals) }
    }

    #[inline(always)]
    fn nearest_code<const DIGITS: usize>(
        self,
        codes: &[[u16; 8]],
        target: &Target<'_, DIGITS>,
    ) -> u16 {
        // SAFETY: the CPU has the instructions.
        unsafe { by_digits::nearest(codes, target) }
    }

    #[inline(always)]
    fn sums_by_digits<const DIGITS: usize>(
        self,
        codes: &[[u16; 8]],
        tables: &[Tables],
    ) -> [[f32; 8]; 2] {
        // SAFETY: the CPU has the instructions.
        unsafe { by_digits::sums::<DIGITS>(codes, tables) }
    }
}

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
