//! A matrix of small codes with factors in a grid, shared by most schemes.
//!
//! In most schemes each row of the weight is a row of codes (bytes, nibbles, a bit stream). Each
//! code stands for a number, and every `group` columns of a row share a scale, sometimes also an
//! offset. A scheme states how its codes are packed ([`Codes`]), where factors come from
//! ([`Factors`]) and how the two are combined ([`Arithmetic`]). Rows, ranges, output types and CPU
//! levels are handled here. Codes that continue across rows are one [endless](ENDLESS) row.
//!
//! The working type is f32. If the output has the weight's native type of sixteen bits,
//! [`Arithmetic`] and [`Factors`] may round in between, as the reference library does.

use std::ops::Range;

use crate::arithmetic::length;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::recipe::{in_type_of, rows_of};
use crate::framework::{Origins, Portion, Recipe};
use crate::number::{Element, Out};
use crate::simd::{self, Number};
use crate::source::{Slab, Staged};

mod e2m1;
mod grid;
mod origins;

pub(crate) use crate::simd::codes::Numbers;
pub(crate) use e2m1::{E2M1, FLOATS4};
pub(crate) use grid::{Cell, Grid, Scales, rounded, scale_of};
pub(crate) use origins::{Choice, Loss};

pub(crate) use crate::simd::codes::{Arithmetic, Codes, Factor, Packing, Run, decode};

/// Source of the factors of a matrix.
pub(crate) trait Factors: Send + Sync {
    /// Appends the byte ranges with the factors of some matrix rows, and at least of these groups
    /// of each.
    fn needs(&self, rows: Range<u64>, groups: Range<u64>, slabs: &mut Vec<Slab>);

    /// Computes the factors of some groups of a matrix row, at most [`GROUPS`].
    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()>;

    /// Writes how far each scale of [`fill`](Self::fill) may be from the one that codes were chosen
    /// with; writes nothing if they are certain.
    fn unsure(&self, _: &RowGroups<'_>, _out: &mut [f32]) {}
}

/// Some groups of a matrix row.
pub(crate) struct RowGroups<'a> {
    /// The slabs of [`Factors::needs`] for rows and groups from `first` and `first_group` on.
    pub staged: &'a [Staged<'a>],
    pub first: u64,
    pub first_group: u64,
    pub row: u64,
    pub groups: Range<u64>,
    /// Whether the output has the weight's native type, so that the reference library's rounding
    /// applies.
    pub native: bool,
}

/// A weight of codes and factors. Part 0 holds the codes.
pub(crate) struct Matrix {
    /// Packing and meaning of the codes.
    pub codes: Codes,
    /// Columns of a matrix row; [`ENDLESS`] for codes that continue across rows.
    pub columns: u64,
    /// Stored bytes per matrix row of codes.
    pub row_bytes: u64,
    /// Columns that share their factors.
    pub group: u64,
    /// Source of the factors.
    pub factors: Box<dyn Factors>,
    /// Combination of numbers and factors.
    pub arithmetic: Arithmetic,
    /// Type that the reference library decodes to.
    pub native: DType,
    /// How codes were chosen.
    pub choice: Choice,
}

/// Groups whose factors are computed at a time: enough to make finding their position cheap.
pub(crate) const GROUPS: usize = 256;

/// Number of columns of a matrix whose codes continue across the rows of the weight. They form a
/// single row, and its groups do not align with the weight's rows.
pub(crate) const ENDLESS: u64 = u64::MAX;

impl Matrix {
    /// Returns the matrix rows that hold some elements, and the columns that are staged of each:
    /// all columns of several rows, or the elements' columns of one row.
    fn sides(&self, elements: &Range<u64>) -> [Range<u64>; 2] {
        let rows = rows_of(elements, self.columns);
        if rows.end - rows.start > 1 {
            return [rows, 0..self.columns];
        }
        let before = rows.start * self.columns;
        [rows, elements.start - before..elements.end - before]
    }

    fn groups_of(&self, columns: &Range<u64>) -> Range<u64> {
        columns.start / self.group..columns.end.div_ceil(self.group)
    }

    /// Calls `take` with the factors of as many groups as are computed at a time, and the columns
    /// of the matrix row that they apply to, in the order of the elements.
    #[inline(always)]
    fn each_run(
        &self,
        Portion { staged, elements }: &Portion<'_>,
        native: bool,
        mut take: impl FnMut(&RowGroups<'_>, Range<u64>, &[Factor]),
    ) -> Result<()> {
        let [rows, staged_columns] = self.sides(elements);
        let (first, first_group) = (rows.start, self.groups_of(&staged_columns).start);
        let mut factors = [Factor::default(); GROUPS];
        for row in rows {
            let before = row * self.columns;
            let end = (elements.end - before).min(self.columns);
            let mut at = elements.start.max(before) - before;
            while at < end {
                let all = self.groups_of(&(at..end));
                let groups = all.start..all.end.min(all.start + GROUPS as u64);
                let columns = at..end.min(groups.end * self.group);
                at = columns.end;
                let factors = &mut factors[..length(groups.end - groups.start)];
                let of = RowGroups { staged, first, first_group, row, groups, native };
                self.factors.fill(&of, factors)?;
                self.check_finite(factors, &of)?;
                take(&of, columns, factors);
            }
        }
        Ok(())
    }

    fn decode_as<T: Number + Element>(&self, of: &Portion<'_>, out: &mut [T]) -> Result<()> {
        let Some((codes, staged)) = of.staged.split_first() else {
            return Err(Error::usage("expected the codes of a matrix"));
        };
        let (level, native) = (simd::level(), self.native == T::DTYPE && T::DTYPE != DType::F32);
        let [rows, columns] = self.sides(&of.elements);
        let (held, _) = self.codes.packing.bytes_of(columns);
        let mut out = out;
        let of = Portion { staged, elements: of.elements.clone() };
        self.each_run(&of, native, |RowGroups { row, .. }, columns, factors| {
            let (now, rest) =
                std::mem::take(&mut out).split_at_mut(length(columns.end - columns.start));
            out = rest;
            let into = length(columns.start % self.group);
            let (inside, skip) = self.codes.packing.bytes_of(columns);
            let start = (row - rows.start) * self.row_bytes + inside.start - held.start;
            let run = Run {
                codes: &codes.bytes()[length(start)..],
                start: length(skip),
                factors,
                group: length(self.group),
                into,
            };
            decode(level, &self.codes, self.arithmetic, native, &run, now);
        })
    }

    fn check_finite(&self, factors: &[Factor], of: &RowGroups<'_>) -> Result<()> {
        let Some(index) = first_not_finite(factors) else { return Ok(()) };
        let (scale, group) = (factors[index].scale, of.groups.start + index as u64);
        Err(match self.columns {
            ENDLESS => no_scale(&format!("block {group}"), scale),
            _ => not_finite(scale, of.row, group),
        })
    }
}

fn first_not_finite(factors: &[Factor]) -> Option<usize> {
    let is_finite = |f: &Factor| f.scale.is_finite() & f.offset.is_finite();
    // All are checked, without a branch for each.
    let all = factors.iter().fold(true, |all, factor| all & is_finite(factor));
    if all { None } else { factors.iter().position(|factor| !is_finite(factor)) }
}

/// Returns the error for a scale that is infinite or NaN.
pub(crate) fn not_finite(scale: f32, row: u64, group: u64) -> Error {
    no_scale(&format!("row {row}, group {group}"), scale)
}

fn no_scale(of: &str, scale: f32) -> Error {
    Error::malformed(format!("the scale of {of} is {scale}"))
        .hint("scales must be finite: the file is damaged, or its scheme is not the detected one")
}

impl Recipe for Matrix {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let [rows, columns] = self.sides(&elements);
        let groups = self.groups_of(&columns);
        let start = rows.start * self.row_bytes;
        slabs.push(match rows.end - rows.start {
            0 | 1 => {
                let (bytes, _) = self.codes.packing.bytes_of(columns);
                Slab::whole(0, start + bytes.start, bytes.end - bytes.start)
            }
            several => Slab::whole(0, start, several * self.row_bytes),
        });
        self.factors.needs(rows, groups, slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        in_type_of!(out, self.decode_as(&Portion { staged, elements }, out))
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }
}
