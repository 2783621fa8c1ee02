//! Factors in a separate tensor, one cell per block of the matrix.

use std::ops::Range;

use half::{bf16, f16};

use super::{Factor, Factors, GROUPS, RowGroups, length};
use crate::arithmetic::plain;
use crate::dtype::DType;
use crate::error::Result;
use crate::simd::{Number, half_to_f32};
use crate::source::{Slab, Staged};

/// A tensor with one number per block of a matrix, or of each of several stacked matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Index of the part that holds it.
    pub part: usize,
    /// Type of its numbers. Bytes that stand for powers of two are `F8_E8M0`, regardless of their
    /// stored type.
    pub dtype: DType,
    /// Rows per stacked matrix.
    pub matrix: u64,
    /// Rows that share their cells.
    pub band: u64,
    /// Rows of cells per matrix in the tensor, padding included.
    pub bands: u64,
    /// Cells per row of cells.
    pub cells: u64,
}

impl Grid {
    /// Creates a grid of one number for the whole weight.
    pub(crate) fn single(part: usize, dtype: DType) -> Self {
        Self { part, dtype, matrix: u64::MAX, band: u64::MAX, bands: 1, cells: 1 }
    }

    /// Creates a grid of one number per row, or per group of columns of each row.
    pub(crate) fn rows(part: usize, dtype: DType, cells: u64) -> Self {
        Self { part, dtype, matrix: u64::MAX, band: 1, bands: u64::MAX, cells }
    }

    fn band_of(&self, row: u64) -> u64 {
        match self.matrix {
            // Divisions are slow, and most grids need none.
            u64::MAX if self.band == 1 => row,
            u64::MAX if self.band == u64::MAX => 0,
            u64::MAX => row / self.band,
            matrix => row / matrix * self.bands + row % matrix / self.band,
        }
    }

    fn width(&self) -> u64 {
        u64::from(self.dtype.bits() / 8)
    }

    /// Returns the cells that some matrix rows need.
    pub(crate) fn slab(&self, rows: &Range<u64>) -> Slab {
        let (first, last) = (self.band_of(rows.start), self.band_of(rows.end.saturating_sub(1)));
        let bytes = self.cells * self.width();
        Slab::whole(self.part, first * bytes, (last + 1 - first) * bytes)
    }

    /// Returns the number for a group of a matrix row, given the cells for rows from `first` on.
    pub(crate) fn number(&self, staged: &Staged<'_>, first: u64, row: u64, group: u64) -> f32 {
        let cell = if self.cells == 1 { 0 } else { group };
        let band = self.band_of(row) - self.band_of(first);
        scale_of(self.dtype, staged.bytes(), length(band * self.cells + cell))
    }

    /// Reads the numbers for groups of a matrix row, from `group` on.
    pub(crate) fn numbers(
        &self,
        staged: &Staged<'_>,
        first: u64,
        row: u64,
        group: u64,
        out: &mut [f32],
    ) {
        if self.cells == 1 {
            return out.fill(self.number(staged, first, row, 0));
        }
        let band = self.band_of(row) - self.band_of(first);
        let start = length((band * self.cells + group) * self.width());
        let bytes = out.len() * length(self.width());
        plain::numbers(self.dtype, &staged.bytes()[start..start + bytes], out);
    }
}

/// Returns number `index` of some bytes, as f32.
pub(crate) fn scale_of(dtype: DType, bytes: &[u8], index: usize) -> f32 {
    let number = |dtype| plain::number(dtype, bytes, index);
    match dtype {
        DType::F16 => half_to_f32(u16::from_le_bytes(bytes.as_chunks().0[index])),
        dtype => number(dtype),
    }
}

/// Operation on a cell before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// None.
    AsIs,
    /// Multiplied by a number for the whole matrix, and rounded to f32.
    TimesGlobal,
    /// Divided by a number for the whole matrix, and rounded to f32.
    OverGlobal,
}

/// Scales in a grid, optionally with a global scale and with offsets in a grid.
pub(crate) struct Scales {
    /// The scales.
    pub scale: Grid,
    /// Global scale: one number, or one per stacked matrix.
    pub global: Option<Grid>,
    /// Combination of the two.
    pub cell: Cell,
    /// Zero points, or values to add.
    pub offset: Option<Grid>,
    /// Type that each step is rounded to if the output has the native type: some libraries compute
    /// scales in it.
    pub steps: Option<DType>,
}

impl Scales {
    /// Creates scales that are used unchanged.
    pub(crate) fn plain(scale: Grid) -> Self {
        Self { scale, global: None, cell: Cell::AsIs, offset: None, steps: None }
    }
}

/// Rounds to a 16-bit type and back.
pub(crate) fn rounded(to: Option<DType>, value: f32) -> f32 {
    match to {
        Some(DType::BF16) => bf16::step(value),
        Some(DType::F16) => f16::step(value),
        _ => value,
    }
}

/// Rounds several numbers to a 16-bit type and back, in one loop for each type.
fn round_all(to: Option<DType>, values: &mut [f32]) {
    match to {
        Some(DType::BF16) => values.iter_mut().for_each(|value| *value = bf16::step(*value)),
        Some(DType::F16) => values.iter_mut().for_each(|value| *value = f16::step(*value)),
        _ => {}
    }
}

impl Factors for Scales {
    fn needs(&self, rows: Range<u64>, _: Range<u64>, slabs: &mut Vec<Slab>) {
        let grids = [Some(self.scale), self.global, self.offset];
        slabs.extend(grids.into_iter().flatten().map(|grid| grid.slab(&rows)));
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, ref groups, native, .. } = of;
        let steps = self.steps.filter(|_| native);
        let mut scales = [0.0; GROUPS];
        let scales = &mut scales[..out.len()];
        self.scale.numbers(&staged[0], first, row, groups.start, scales);
        round_all(steps, scales);
        if let Some(global) = self.global {
            let whole = rounded(steps, global.number(&staged[1], first, row, 0));
            match self.cell {
                Cell::TimesGlobal => scales.iter_mut().for_each(|scale| *scale *= whole),
                Cell::OverGlobal => scales.iter_mut().for_each(|scale| *scale /= whole),
                Cell::AsIs => {}
            }
            round_all(steps, scales);
        }
        for (out, scale) in out.iter_mut().zip(&*scales) {
            *out = Factor { scale: *scale, offset: 0.0 };
        }
        if let Some(offset) = self.offset {
            // The scales have been used.
            let (staged, offsets) = (&staged[1 + usize::from(self.global.is_some())], scales);
            offset.numbers(staged, first, row, groups.start, offsets);
            out.iter_mut().zip(offsets).for_each(|(out, offset)| out.offset = *offset);
        }
        Ok(())
    }
}
