//! The seam between kernels and instruction sets.
//!
//! A kernel is a [`Task`]: one function, compiled once for each instruction set. Within it, an
//! [`Isa`] stands for the set and offers the operations for which a set may have its own form.
//! Each of them is a plain function of slices whose default is the scalar definition; a set
//! overrides those where it is measurably faster.

use std::ops::Range;

use super::accumulate::{self, Eight, OneSide, TwoSides};
use super::blocks::BlockForms;
use super::by_digits::{self, Tables, Target};
use super::codes::{Arithmetic, Codes, Run, Segment};
use super::columns::EightColumns;
use super::extent::{self, Ends, Extent, Sixteen};
use super::near::{Cells, EvenReach, FloatReach};
use super::vector::{LANES, Vector};
use super::{Number, Sides};

/// Work that is compiled for each instruction set.
pub trait Task {
    /// Its result.
    type Output;

    /// Does the work. Must be `#[inline(always)]`, to be compiled with the set's instructions.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

/// An instruction set, within a [`Task`].
///
/// Operations that return a count do as much of their work as fills whole vectors, from the
/// front; the caller's definition does the rest.
pub trait Isa: BlockForms {
    /// Eight numbers at a time.
    type Vector: Vector;

    /// The same number in every lane.
    fn splat(self, value: f32) -> Self::Vector;

    /// These numbers.
    fn load(self, lanes: &[f32; LANES]) -> Self::Vector;

    /// These numbers, by value.
    #[inline(always)]
    fn vector(self, lanes: [f32; LANES]) -> Self::Vector {
        self.load(&lanes)
    }

    /// Rounds each of `values` to `out`'s type. NaN stays NaN.
    #[inline(always)]
    fn narrow<T: Number>(self, values: &[f32], out: &mut [T]) {
        out.iter_mut().zip(values).for_each(|(o, &value)| *o = T::narrow(value));
    }

    /// Prefetches memory that will be written soon.
    #[inline(always)]
    fn prefetch<T>(self, _: &[T]) {}

    /// Transposes the whole squares of a matrix; returns how many rows and columns of `from` they
    /// cover.
    #[inline(always)]
    fn transpose<T: Number>(self, _: Sides, _from: &[T], _to: &mut [T]) -> (usize, usize) {
        (0, 0)
    }

    /// Signed bytes times a scale; returns how many it did.
    #[inline(always)]
    fn scaled_bytes<T: Number>(self, _scale: f32, _: &[u8], _: &mut [T]) -> usize {
        0
    }

    /// Decodes the whole groups at the front of a run; returns how many codes. `signs` is
    /// [`Codes::mirror`].
    #[inline(always)]
    fn code_groups<T: Number>(
        self,
        _: &Codes,
        _signs: Option<[u8; 16]>,
        _: Arithmetic,
        _stepwise: bool,
        _: &Run<'_>,
        _: &mut [T],
    ) -> usize {
        0
    }

    /// Decodes codes from the front of a segment; returns how many.
    #[inline(always)]
    fn code_segment<T: Number>(
        self,
        _: &Codes,
        _: Arithmetic,
        _: Segment<'_>,
        _: &mut [T],
    ) -> usize {
        0
    }

    /// Transposes a matrix of 32-bit words: `row(r)`, from byte `4 * columns.start` on, is a row,
    /// and each of `streams` a column. Returns how many rows and columns are done.
    #[inline(always)]
    fn turn_words<'a, const BYTES: usize, const COLUMNS: usize>(
        self,
        _streams: &mut [[u8; BYTES]; COLUMNS],
        _row: impl Fn(usize) -> &'a [u8],
        _columns: &Range<usize>,
        _rows: &Range<usize>,
    ) -> (usize, usize) {
        (0, 0)
    }

    /// Transposes a matrix of nibbles, at most 64 columns. Each word holds eight columns, column
    /// `c` in nibble `order[c % 8]`; each of `streams` is a column, low nibbles first. Returns how
    /// many rows are done.
    #[inline(always)]
    fn turn_nibbles<'a, const BYTES: usize, const COLUMNS: usize>(
        self,
        _streams: &mut [[u8; BYTES]; COLUMNS],
        _row: impl Fn(usize) -> &'a [u8],
        _columns: &Range<usize>,
        _rows: &Range<usize>,
        _order: [u32; 8],
    ) -> usize {
        0
    }

    /// Decodes eight columns side by side: eight numbers of `out` for each row of codes.
    #[inline(always)]
    fn eight_columns<'a, T: Number, const STRIDE: usize>(
        self,
        codes: EightColumns<'a, impl Fn(usize) -> &'a [u8], STRIDE>,
        out: &mut [T],
    ) {
        codes.define(out);
    }

    /// Sums over the numbers of one side of a comparison.
    #[inline(always)]
    fn one_side(self, numbers: &[Eight]) -> OneSide {
        accumulate::one_side(numbers)
    }

    /// Sums over the numbers of both sides of a comparison.
    #[inline(always)]
    fn two_sides(self, a: &[Eight], b: &[Eight]) -> TwoSides {
        accumulate::two_sides(a, b)
    }

    /// Sums, zeros and the extremes of each block of numbers, which sets its place in `ends`.
    #[inline(always)]
    fn extent(self, numbers: &[Sixteen], ends: &mut [Ends]) -> Extent {
        extent::extent(numbers, ends)
    }

    /// Whether all originals lie near their numbers, whose neighbours are equally far away.
    #[inline(always)]
    fn near_even(self, reach: &EvenReach, values: &[f32], originals: &[f32]) -> bool {
        reach.hold_all(values, originals)
    }

    /// The same for floating-point numbers.
    #[inline(always)]
    fn near_floats(self, reach: &FloatReach, values: &[f32], originals: &[f32]) -> bool {
        reach.hold_all(values, originals)
    }

    /// Whether all originals lie in the cells of their numbers.
    #[inline(always)]
    fn in_cells(self, cells: &Cells, values: &[f32], originals: &[f32]) -> bool {
        cells.hold_all(values, originals)
    }

    /// Of some codes the nearest to a target, the first of equals.
    #[inline(always)]
    fn nearest_code<const DIGITS: usize>(
        self,
        codes: &[[u16; LANES]],
        target: &Target<'_, DIGITS>,
    ) -> u16 {
        target.nearest(codes)
    }

    /// Two sums for each of eight lanes: of what tables hold for the digits of a code, one code
    /// after the other.
    #[inline(always)]
    fn sums_by_digits<const DIGITS: usize>(
        self,
        codes: &[[u16; LANES]],
        tables: &[Tables],
    ) -> [[f32; LANES]; 2] {
        by_digits::sums::<DIGITS>(codes, tables)
    }
}
