//! The seam between kernels and instruction sets.
//!
//! A kernel is a [`Task`]: one function, compiled once for each instruction set. Within it, an
//! [`Isa`] stands for the set and offers the [`Operations`] for which a set may have its own form.
//! Each of them is a plain function of slices whose default is the scalar definition; a set
//! overrides those where it is measurably faster.

use std::ops::Range;

use super::accumulate::{self, Eight, OneSide, TwoSides};
use super::blocks::BlockForms;
use super::by_digits::{self, Tables, Target};
use super::codes::{Rule, Run, Segment};
use super::columns::EightColumns;
use super::extent::{self, Ends, Extent, Sixteen};
use super::near::{Cells, EvenReach, FloatReach, Reach as _};
use super::vector::{LANES, Vector};
use super::{Number, Sides};

/// Work that is compiled for each instruction set.
pub trait Task {
    /// Its result.
    type Output;

    /// Does the work. Must be `#[inline(always)]`, to be compiled with the set's instructions.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

/// A function of a level that is compiled for each instruction set: a [`Task`] without a name. Any
/// generic parameters stand in brackets; the name of the set within it precedes the arguments.
#[macro_export]
macro_rules! kernel {
    ($(#[$about:meta])* $visible:vis fn $name:ident$([$($generics:tt)*])?($isa:ident; $($argument:ident: $type:ty),*) -> $result:ty $work:block) => {
        $(#[$about])*
        $visible fn $name<$($($generics)*)?>(level: $crate::simd::Level, $($argument: $type),*) -> $result {
            #[allow(non_camel_case_types)] // Each argument's type, named as the argument.
            struct Call<$($argument),*> {
                $($argument: $argument),*
            }

            impl<$($($generics)*)?> $crate::simd::Task for Call<$($type),*> {
                type Output = $result;

                #[inline(always)]
                fn run<I: $crate::simd::Isa>(self, $isa: I) -> $result {
                    let Self { $($argument),* } = self;
                    $work
                }
            }

            $crate::simd::run(level, Call { $($argument),* })
        }
    };
}

/// An instruction set, within a [`Task`].
pub trait Isa: Operations + BlockForms {
    /// Eight numbers at a time.
    type Vector: Vector;

    /// One number in every lane.
    fn splat(self, value: f32) -> Self::Vector;

    /// These numbers.
    fn load(self, lanes: &[f32; LANES]) -> Self::Vector;

    /// These numbers, by value.
    #[inline(always)]
    fn vector(self, lanes: [f32; LANES]) -> Self::Vector {
        self.load(&lanes)
    }
}

/// Declares the operations: name, generic parameters, arguments, result and definition.
/// `operation!` writes one for an instruction set that has a function for it.
macro_rules! operations {
    ($d:tt $($(#[$doc:meta])* $name:ident$([$($generics:tt)*])?($($argument:ident: $type:ty),*) $(-> $result:ty)? $define:block)*) => {
        /// What a set may do in its own way.
        ///
        /// Operations that return a count do as much of their work as fills whole vectors, from
        /// the front; the caller's definition does the rest.
        #[allow(unused_variables)] // Some definitions leave all of the work to the caller.
        pub trait Operations: Copy {
            $($(#[$doc])*
            #[inline(always)]
            fn $name<$($($generics)*)?>(self, $($argument: $type),*) $(-> $result)? $define)*
        }

        #[allow(unused_macros)] // Architectures without a set of their own.
        macro_rules! operation {
            $(($name by $d function:path) => {
                #[inline(always)]
                #[allow(unused_unsafe)] // Some functions need no instructions of the set.
                fn $name<$($($generics)*)?>(self, $($argument: $type),*) $(-> $result)? {
                    // SAFETY: the CPU has the instructions.
                    unsafe { $d function($($argument),*) }
                }
            };)*
        }
    };
}

/// The operations of an instruction set: functions of its files.
#[allow(unused_macros)] // Architectures without a set of their own.
macro_rules! operations_of {
    ($set:ty { $($name:ident by $function:path;)* }) => {
        impl Operations for $set {
            $(operation!($name by $function);)*
        }
    };
}

operations! {
    $
    /// Rounds each of `values` to `out`'s type. NaN stays NaN.
    narrow[T: Number](values: &[f32], out: &mut [T]) {
        out.iter_mut().zip(values).for_each(|(o, &value)| *o = T::narrow(value));
    }
    /// Prefetches memory that will be written soon.
    prefetch[T](out: &[T]) {}
    /// Transposes the whole squares of a matrix; returns how many rows and columns of `from` they
    /// cover.
    transpose[T: Number](sides: Sides, from: &[T], to: &mut [T]) -> (usize, usize) { (0, 0) }
    /// Signed bytes times a scale; returns how many it did.
    scaled_bytes[T: Number](scale: f32, bytes: &[u8], out: &mut [T]) -> usize { 0 }
    /// Decodes the whole groups at the front of a run; returns how many codes.
    code_groups[T: Number](rule: Rule<'_>, run: &Run<'_>, out: &mut [T]) -> usize { 0 }
    /// Decodes codes from the front of a segment; returns how many.
    code_segment[T: Number](rule: Rule<'_>, segment: Segment<'_>, out: &mut [T]) -> usize { 0 }
    /// Transposes a matrix of 32-bit words: `row(r)`, from byte `4 * columns.start` on, is a row,
    /// and each of `streams` a column. Returns how many rows and columns are done.
    turn_words['a, const BYTES: usize, const COLUMNS: usize](
        streams: &mut [[u8; BYTES]; COLUMNS],
        row: impl Fn(usize) -> &'a [u8],
        columns: &Range<usize>,
        rows: &Range<usize>
    ) -> (usize, usize) { (0, 0) }
    /// Transposes a matrix of nibbles, at most 64 columns. Each word holds eight columns, column
    /// `c` in nibble `order[c % 8]`; each of `streams` is a column, low nibbles first. Returns how
    /// many rows are done.
    turn_nibbles['a, const BYTES: usize, const COLUMNS: usize](
        streams: &mut [[u8; BYTES]; COLUMNS],
        row: impl Fn(usize) -> &'a [u8],
        columns: &Range<usize>,
        rows: &Range<usize>,
        order: [u32; 8]
    ) -> usize { 0 }
    /// Decodes eight columns side by side: eight numbers of `out` for each row of codes.
    eight_columns['a, T: Number, const STRIDE: usize](
        codes: EightColumns<'a, impl Fn(usize) -> &'a [u8], STRIDE>,
        out: &mut [T]
    ) { codes.define(out); }
    /// Sums over the numbers of one side of a comparison.
    one_side(numbers: &[Eight]) -> OneSide { accumulate::one_side(numbers) }
    /// Sums over the numbers of both sides of a comparison.
    two_sides(a: &[Eight], b: &[Eight]) -> TwoSides { accumulate::two_sides(a, b) }
    /// Sums, zeros and the extremes of each block of numbers, which sets its place in `ends`.
    extent(numbers: &[Sixteen], ends: &mut [Ends]) -> Extent { extent::extent(numbers, ends) }
    /// Whether all originals lie near their numbers, whose neighbours are equally far away.
    near_even(reach: &EvenReach, values: &[f32], originals: &[f32]) -> bool {
        reach.hold_all(values, originals)
    }
    /// Whether all originals are near their numbers, for floating-point spacing.
    near_floats(reach: &FloatReach, values: &[f32], originals: &[f32]) -> bool {
        reach.hold_all(values, originals)
    }
    /// Whether all originals lie in the cells of their numbers.
    in_cells(cells: &Cells, values: &[f32], originals: &[f32]) -> bool {
        cells.hold_all(values, originals)
    }
    /// Of some codes the nearest to a target, the first of equals.
    nearest_code[const DIGITS: usize](codes: &[[u16; LANES]], target: &Target<'_, DIGITS>) -> u16 {
        target.nearest(codes)
    }
    /// Two sums for each of eight lanes: of what tables hold for the digits of a code, one code
    /// after the other.
    sums_by_digits[const DIGITS: usize](codes: &[[u16; LANES]], tables: &[Tables]) -> Tables {
        by_digits::sums::<DIGITS>(codes, tables)
    }
}
