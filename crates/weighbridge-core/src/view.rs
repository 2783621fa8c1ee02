//! Which numbers of a weight another one is made of, and in which order.

use std::ops::Range;

use crate::change::Change;
use crate::shape::{Shape, element_count};

/// A weight, or a part of it, in the shape and order of its counterpart.
///
/// A weight is a sequence of numbers, row-major. Cut it into rows as long as the last dimension
/// of `shape`: row `r` of the view is row [`View::row`]`(r)` of that cut, with each number
/// changed as `change` says. For a matrix these rows are its own. A vector whose order is changed is seen as
/// a column, `[n, 1]`: its rows are its numbers. A vector that keeps its order stays one row.
/// Row `r` of a transposed view is column [`View::row`]`(r)` of a matrix in the weight.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The shape as seen.
    pub shape: Shape,
    /// Which rows of the weight, in which order.
    pub rows: Rows,
    /// What is done to every value of the weight. llama.cpp's converter, which makes this change,
    /// computes in f32, but with an f16 weight in f16: the result is rounded to f16 even where it is
    /// then written as f32.
    pub change: Change,
    /// The matrix in the weight whose columns the rows of the view are, if it is seen transposed.
    pub transposed: Option<Matrix>,
}

/// A matrix in a weight: some of the rows that the weight is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// The first of those rows.
    pub first: u64,
    /// How long they are.
    pub columns: u64,
}

/// Which rows of a weight a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Consecutive rows from this one.
    From(u64),
    /// Rows with the two halves of each head interleaved, or taken apart again. A rotary
    /// embedding turns pairs of rows: Hugging Face keeps the two of a pair half a head apart,
    /// GGUF's `llama` keeps them side by side.
    Heads {
        /// The first row.
        start: u64,
        /// How many heads there are.
        heads: u64,
        /// Rows of a head.
        head_rows: u64,
        /// From pairs side by side into halves; otherwise from halves into pairs.
        to_halves: bool,
    },
    /// Some consecutive rows of every so many.
    Runs {
        /// The first row.
        start: u64,
        /// How many are consecutive.
        run: u64,
        /// How many rows there are from one run to the next.
        period: u64,
    },
    /// Runs of rows that lie group by group, as many in each: first the first of every group, then
    /// the second of every group, and so on. Where there are more rows, this begins anew.
    Tiled {
        /// How many rows before the first group stay where they are.
        start: u64,
        /// How many groups.
        groups: u64,
        /// Runs of a group.
        members: u64,
        /// Rows of a run.
        run: u64,
    },
}

impl Rows {
    /// The row of the weight that a row of the view is.
    #[must_use]
    pub fn row(self, row: u64) -> u64 {
        match self {
            Self::From(start) => start + row,
            Self::Runs { start, run, period } => {
                start + row / run.max(1) * period + row % run.max(1)
            }
            Self::Tiled { start, .. } if row < start => row,
            Self::Tiled { start, groups, members, run } => {
                let (run, row) = (run.max(1), row - start);
                let (groups, members) = (groups.max(1), members.max(1));
                let (before, tile) = (row / run, groups * members);
                let (at, member) = (before % tile, before % tile / groups);
                let there = before - at + at % groups * members + member;
                start + there * run + row % run
            }
            Self::Heads { start, head_rows, to_halves, .. } => {
                let half = (head_rows / 2).max(1);
                let (head, at) = (row / (2 * half), row % (2 * half));
                let there =
                    if to_halves { at % half * 2 + at / half } else { at % 2 * half + at / 2 };
                start + head * 2 * half + there
            }
        }
    }

    /// Returns these rows shifted behind `rows` preceding rows.
    #[must_use]
    pub fn behind(self, rows: u64) -> Self {
        let mut moved = self;
        let (Self::From(start)
        | Self::Heads { start, .. }
        | Self::Runs { start, .. }
        | Self::Tiled { start, .. }) = &mut moved;
        *start += rows;
        moved
    }
}

impl View {
    /// A weight as it is.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Self {
        Self::part(shape, 0)
    }

    /// Consecutive rows, seen in a shape.
    #[must_use]
    pub fn part(shape: &[u64], start: u64) -> Self {
        Self {
            shape: shape.into(),
            rows: Rows::From(start),
            change: Change::None,
            transposed: None,
        }
    }

    /// The transposed matrix that begins at a row of the weight: the columns that `rows` tells.
    #[must_use]
    pub fn across(matrix: Matrix, [columns, rows]: [u64; 2], seen: Rows) -> Self {
        Self { rows: seen, transposed: Some(matrix), ..Self::whole(&[columns, rows]) }
    }

    /// Rows, or the numbers of a vector, that are consecutive, with the two halves of each head
    /// interleaved, or taken apart again; none where they are no such heads.
    #[must_use]
    pub fn by_heads(&self, heads: u64, to_halves: bool) -> Option<Self> {
        let Rows::From(start) = self.rows else { return None };
        // A vector whose order changes is a column.
        let shape = match self.shape[..] {
            [length] => [length, 1],
            [rows, columns] => [rows, columns],
            _ => return None,
        };
        let head_rows = shape[0].checked_div(heads)?;
        let fits = head_rows >= 2 && head_rows % 2 == 0 && head_rows * heads == shape[0];
        let rows = Rows::Heads { start, heads, head_rows, to_halves };
        fits.then(|| Self { rows, ..Self::whole(&shape) })
    }

    /// A matrix, seen by consecutive rows, as its transpose.
    #[must_use]
    pub fn transpose(&self) -> Option<Self> {
        let (&[rows, columns], &Rows::From(first)) = (&self.shape[..], &self.rows) else {
            return None;
        };
        let matrix = Matrix { first, columns };
        self.is_plain().then(|| Self::across(matrix, [columns, rows], Rows::From(0)))
    }

    /// Whether the numbers seen are those of the weight, in their order: all of them, or
    /// consecutive rows.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self.rows, Rows::From(_)) && !self.changes_values() && self.transposed.is_none()
    }

    /// Whether the values seen are others than those of the weight.
    #[must_use]
    pub fn changes_values(&self) -> bool {
        self.change != Change::None
    }

    /// How many numbers a row of the view has.
    #[must_use]
    pub fn row_len(&self) -> u64 {
        self.shape.last().copied().unwrap_or(1)
    }

    /// How many rows the view has.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        let outer = &self.shape[..self.shape.len().saturating_sub(1)];
        element_count(outer).unwrap_or(0)
    }

    /// The row of the weight that a row of the view is; of a transposed view, the column.
    #[must_use]
    pub fn row(&self, row: u64) -> u64 {
        self.rows.row(row)
    }

    /// The elements of the weight that the view shows from `at` on, as far as they are contiguous and
    /// before `end`; not of a transposed view.
    #[must_use]
    pub fn run(&self, at: u64, end: u64) -> Range<u64> {
        let columns = self.row_len().max(1);
        if let Rows::From(start) = self.rows {
            return at + start * columns..end + start * columns;
        }
        let (mut row, column) = (at / columns, at % columns);
        let first = self.row(row) * columns + column;
        let mut len = columns - column;
        while at + len < end && self.row(row + 1) == self.row(row) + 1 {
            row += 1;
            len += columns;
        }
        first..first + len.min(end - at)
    }

    /// Where in the weight the number at a row and column of the view is.
    #[must_use]
    pub fn element(&self, row: u64, column: u64) -> u64 {
        match self.transposed {
            Some(Matrix { first, columns }) => (first + column) * columns + self.row(row),
            None => self.row(row) * self.row_len() + column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(to_halves: bool) -> View {
        let rows = Rows::Heads { start: 10, heads: 2, head_rows: 6, to_halves };
        View { rows, ..View::whole(&[12, 4]) }
    }

    #[test]
    fn halves_become_pairs() {
        let seen: Vec<u64> = (0..12).map(|row| heads(false).row(row)).collect();
        assert_eq!(seen, [10, 13, 11, 14, 12, 15, 16, 19, 17, 20, 18, 21]);
    }

    #[test]
    fn pairs_become_halves_again() {
        for row in 0..12 {
            assert_eq!(heads(true).row(heads(false).row(row) - 10), 10 + row);
        }
    }

    #[test]
    fn a_run_of_every_few_rows_is_seen() {
        let view =
            View { rows: Rows::Runs { start: 1, run: 2, period: 5 }, ..View::whole(&[6, 4]) };
        let seen: Vec<u64> = (0..6).map(|row| view.row(row)).collect();
        assert_eq!(seen, [1, 2, 6, 7, 11, 12]);
        assert!(!view.is_plain());
    }

    #[test]
    fn members_of_groups_are_seen_in_turn() {
        // Two rows, then two groups of three runs of two rows.
        let rows = Rows::Tiled { start: 2, groups: 2, members: 3, run: 2 };
        let view = View { rows, ..View::whole(&[14, 4]) };
        let seen: Vec<u64> = (0..14).map(|row| view.row(row)).collect();
        assert_eq!(seen, [0, 1, 2, 3, 8, 9, 4, 5, 10, 11, 6, 7, 12, 13]);
        let rows = Rows::Tiled { start: 0, groups: 2, members: 3, run: 1 };
        let view = View { rows, ..View::whole(&[12, 4]) };
        let seen: Vec<u64> = (0..12).map(|row| view.row(row)).collect();
        assert_eq!(seen, [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
    }

    #[test]
    fn a_matrix_in_the_middle_is_transposed() {
        // Rows 4 and 5 of a weight whose rows have three columns.
        let view = View::part(&[2, 3], 4).transpose().unwrap();
        let seen = (0..3).flat_map(|row| [(row, 0), (row, 1)]);
        let seen: Vec<u64> = seen.map(|(row, column)| view.element(row, column)).collect();
        assert_eq!((&view.shape[..], seen), (&[3, 2][..], vec![12, 15, 13, 16, 14, 17]));
        assert!(view.transpose().is_none());
        assert_eq!(View::part(&[2, 3], 4).element(1, 2), 17);
    }

    #[test]
    fn shapes_have_rows() {
        assert_eq!(
            (View::whole(&[3, 4, 5]).row_count(), View::whole(&[3, 4, 5]).row_len()),
            (12, 5)
        );
        assert_eq!((View::whole(&[7]).row_count(), View::whole(&[7]).row_len()), (1, 7));
        assert_eq!((View::whole(&[]).row_count(), View::whole(&[]).row_len()), (1, 1));
    }
}
