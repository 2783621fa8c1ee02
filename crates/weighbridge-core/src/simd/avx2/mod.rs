//! x86-64 with AVX2, F16C and FMA.
//!
//! Vectors do not leave this folder: the rest of the crate sees only the functions of an [`Isa`],
//! which take slices.
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

pub use lanes::Lanes;
use numbers::{even, half, odd, scaled_words16, scaled_words16_from, scaled16, signed8, unsigned8};
pub(super) use slices::prefetch;
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
pub(super) struct Avx2(());

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

/// Each block form is the function of the same name in a file of `blocks`.
macro_rules! block_forms {
    ($($file:ident::$name:ident($bytes:literal => $elements:literal $(, $argument:ident: $type:ty)*);)*) => {
        impl BlockForms for Avx2 {
            $(#[inline(always)]
            fn $name<T: Number>(
                self,
                block: &[u8; $bytes],
                $($argument: $type,)*
                out: &mut [T; $elements],
                _: impl FnOnce(&mut [f32; $elements]),
            ) {
                // SAFETY: the CPU has the instructions.
                unsafe { blocks::$file::$name(block, $($argument,)* out) }
            })*
        }
    };
}

block_forms! {
    simple::q4_0(18 => 32);
    simple::q4_1(20 => 32);
    simple::q5_0(22 => 32);
    simple::q5_1(24 => 32);
    simple::q8_0(34 => 32);
    simple::q8_1(36 => 32);
    simple::apr_q4(18 => 32);
    bits::q1_0(18 => 128);
    bits::q2_0(18 => 64);
    codebook::iq4_nl(18 => 32, steps: &[i8; 16]);
    codebook::iq4_xs(136 => 256, steps: &[i8; 16]);
    k_minimum::q2_k(84 => 256);
    k_minimum::q4_k(144 => 256, scales: [[u8; 8]; 2]);
    k_minimum::q5_k(176 => 256, scales: [[u8; 8]; 2]);
    k_signed::q3_k(110 => 256, scales: [u8; 16]);
    k_signed::q6_k(210 => 256);
    k_signed::q8_k(292 => 256, scale: f32);
    ternary::tq1_0(54 => 256);
    ternary::tq2_0(66 => 256);
    fp4::mxfp4(17 => 32, numbers: &[i8; 16], scale: f32, finished: &[u8; 32]);
    fp4::nvfp4(36 => 64, numbers: &[i8; 16], scales: [f32; 4], finished: [&[u8; 32]; 4]);
    fp4::nvfp4_times(36 => 64, numbers: &[i8; 16], scales: [f32; 4], factor: f32);
    iq1::iq1_s(50 => 256, grid: &'static [[u8; 8]; 2048]);
    iq1::iq1_m(56 => 256, grid: &'static [[u8; 8]; 2048], scale: f32);
    iq2::iq2_xxs(66 => 256, grid: &'static [[u8; 8]; 256]);
    iq2::iq2_xs(74 => 256, grid: &'static [[u8; 8]; 512]);
    iq2::iq2_s(82 => 256, grid: &'static [[u8; 8]; 1024]);
    iq3::iq3_xxs(98 => 256, magnitudes: [f32; 8], grid: &'static [[u8; 4]; 256], numbers: &'static [[f32; 4]; 256]);
    iq3::iq3_s(110 => 256, magnitudes: [f32; 8], grid: &'static [[u8; 4]; 512], numbers: &'static [[f32; 4]; 512]);
}
