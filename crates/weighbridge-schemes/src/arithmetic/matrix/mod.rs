//! Shared by most schemes: a matrix of small codes whose factors lie in a grid.
//!
//! In most schemes each row of the weight is a row of codes (bytes, nibbles, a stream of
//! bits), each code stands for a number, and every `group` columns of a row share a scale, some
//! also an offset. A scheme says how its codes lie ([`Codes`]), where factors come from
//! ([`Factors`]) and how the two are combined ([`Arithmetic`]); rows, stretches, output types and
//! CPU levels are dealt with here. Codes that run on over rows are [`Flat`].
//!
//! Working type: f32. Where the weight's native type has sixteen bits and is what is asked for,
//! [`Arithmetic`] and [`Factors`] may round in between as the canonical library does.

use std::ops::Range;

use crate::arithmetic::length;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::recipe::in_type_of;
use crate::framework::{ByElements, Elements, Origins};
use crate::number::{Element, Out};
use crate::simd::{self, Number};
use crate::source::{Slab, Staged};

mod e2m1;
mod flat;
mod grid;
mod origins;

pub(crate) use crate::simd::codes::Numbers;
pub(crate) use e2m1::{E2M1, FLOATS4};
pub(crate) use flat::{BlockFactors, Flat};
pub(crate) use grid::{Cell, Grid, Scales, rounded, scale_of};
pub(crate) use origins::{Choice, Loss, NumberLevels};

pub(crate) use crate::simd::codes::{Arithmetic, Codes, Factor, Packing, Run, decode};

/// Where the factors of a matrix come from.
pub(crate) trait Factors: Send + Sync {
    /// The pieces of the parts that hold the factors of some matrix rows.
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>);

    /// The factors of some groups of a matrix row, at most [`GROUPS`].
    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()>;
}

/// Some groups of a matrix row.
pub(crate) struct RowGroups<'a> {
    /// The slabs of [`Factors::needs`] for rows from `first` on.
    pub staged: &'a [Staged<'a>],
    pub first: u64,
    pub row: u64,
    pub groups: Range<u64>,
    /// Whether the output is of the weight's native type, so that roundings of the canonical library
    /// apply.
    pub native: bool,
}

/// A weight made of codes and factors. Part 0 holds the codes.
pub(crate) struct Matrix {
    /// How codes lie and what they mean.
    pub codes: Codes,
    /// Columns of a matrix row; for codes that run on over rows, all elements of the weight.
    pub columns: u64,
    /// Elements of one row of the outermost dimension: a multiple of `columns`, or (for codes
    /// that run on) a part of it.
    pub outer: u64,
    /// Stored bytes of one matrix row of codes.
    pub row_bytes: u64,
    /// Columns that share their factors.
    pub group: u64,
    /// Their source.
    pub factors: Box<dyn Factors>,
    /// How numbers and factors are combined.
    pub arithmetic: Arithmetic,
    /// The type the canonical library decodes to.
    pub native: DType,
    /// How codes were chosen.
    pub choice: Choice,
}

/// Groups whose factors are made at a time: enough that finding their place costs little.
pub(crate) const GROUPS: usize = 256;

impl Matrix {
    /// The stretches of matrix rows that make up some elements: row and columns.
    fn stretches(&self, elements: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
        let columns = self.columns.max(1);
        let rows = elements.start / columns..elements.end.div_ceil(columns);
        rows.map(move |row| {
            let start = elements.start.max(row * columns) - row * columns;
            (row, start..elements.end.min((row + 1) * columns) - row * columns)
        })
    }

    fn matrix_rows(&self, elements: &Range<u64>) -> Range<u64> {
        let columns = self.columns.max(1);
        elements.start / columns..elements.end.div_ceil(columns)
    }

    /// The bytes of codes for some elements, and how many codes of the first byte come before.
    fn code_slab(&self, elements: &Range<u64>) -> (Slab, u64) {
        let rows = self.matrix_rows(elements);
        if rows.end - rows.start == 1 {
            let columns = elements.start - rows.start * self.columns
                ..elements.end - rows.start * self.columns;
            let (bytes, skip) = self.codes.packing.bytes_of(columns);
            let offset = rows.start * self.row_bytes + bytes.start;
            return (Slab::whole(0, offset, bytes.end - bytes.start), skip);
        }
        let bytes = (rows.end - rows.start) * self.row_bytes;
        (Slab::whole(0, rows.start * self.row_bytes, bytes), 0)
    }

    fn decode_as<T: Number + Element>(
        &self,
        staged: &[Staged<'_>],
        elements: &Range<u64>,
        out: &mut [T],
    ) -> Result<()> {
        let Some((codes, staged)) = staged.split_first() else {
            return Err(Error::usage("a matrix needs its codes"));
        };
        let (_, skip) = self.code_slab(elements);
        let first = elements.start / self.columns.max(1);
        let several = self.matrix_rows(elements).count() > 1;
        let mut out = out;
        for (row, columns) in self.stretches(elements.clone()) {
            let (now, rest) = out.split_at_mut(length(columns.end - columns.start));
            out = rest;
            let (bytes, skip) = match several {
                // Whole rows are staged; the stretch may still begin inside one.
                true => {
                    let (inside, skip) = self.codes.packing.bytes_of(columns.clone());
                    let start = (row - first) * self.row_bytes;
                    (&codes.bytes()[length(start + inside.start)..length(start + inside.end)], skip)
                }
                false => (codes.bytes(), skip),
            };
            self.decode_stretch((bytes, skip), staged, first, (row, columns), now)?;
        }
        Ok(())
    }

    /// Some columns of one matrix row.
    fn decode_stretch<T: Number + Element>(
        &self,
        (bytes, skip): (&[u8], u64),
        staged: &[Staged<'_>],
        first: u64,
        (row, columns): (u64, Range<u64>),
        out: &mut [T],
    ) -> Result<()> {
        let level = simd::level();
        let native = self.native == T::DTYPE && T::DTYPE != DType::F32;
        let mut factors = [Factor::default(); GROUPS];
        let mut at = columns.start;
        let mut out = out;
        while at < columns.end {
            let groups = at / self.group
                ..columns.end.div_ceil(self.group).min(at / self.group + GROUPS as u64);
            let factors = &mut factors[..length(groups.end - groups.start)];
            let of = RowGroups { staged, first, row, groups, native };
            self.factors.fill(&of, factors)?;
            let groups = of.groups;
            check_finite(factors, row, groups.start)?;
            let end = columns.end.min(groups.end * self.group);
            let (now, rest) = out.split_at_mut(length(end - at));
            out = rest;
            let run = Run {
                codes: bytes,
                start: length(skip + at - columns.start),
                factors,
                group: length(self.group),
                // Columns of the first group that lie before the stretch.
                into: length(at % self.group),
            };
            decode(level, &self.codes, self.arithmetic, native, &run, now);
            at = end;
        }
        Ok(())
    }
}

fn check_finite(factors: &[Factor], row: u64, first: u64) -> Result<()> {
    match first_not_finite(factors) {
        None => Ok(()),
        Some(index) => Err(not_finite(factors[index].scale, row, first + index as u64)),
    }
}

fn first_not_finite(factors: &[Factor]) -> Option<usize> {
    let is_finite = |f: &Factor| f.scale.is_finite() & f.offset.is_finite();
    // All are looked at, without a branch for each.
    let all = factors.iter().fold(true, |all, factor| all & is_finite(factor));
    if all { None } else { factors.iter().position(|factor| !is_finite(factor)) }
}

/// The error for a scale that is infinite or NaN.
pub(crate) fn not_finite(scale: f32, row: u64, group: u64) -> Error {
    Error::malformed(format!("the scale of row {row}, group {group} is {scale}"))
        .hint("a scale must be a finite number: the file is damaged, or is stored in another scheme than it seems")
}

impl ByElements for Matrix {
    fn row_elements(&self) -> u64 {
        self.outer
    }
}

impl Elements for Matrix {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.code_slab(&elements).0);
        self.factors.needs(self.matrix_rows(&elements), slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        in_type_of!(out, self.decode_as(staged, &elements, out))
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }
}
