//! Which numbers of a weight are compared with another, and in which order.

use crate::catalog::Shape;

/// A weight, or a part of it, in the shape and order of its counterpart.
///
/// A weight is a sequence of numbers, row-major. Cut it into rows as long as the last dimension
/// of `shape`: row `r` of the view is row [`View::row`]`(r)` of that cut, with `add` added to
/// each number. For a matrix these rows are its own. A vector whose order is changed is seen as
/// a column, `[n, 1]`: its rows are its numbers. A vector that keeps its order stays one row.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The shape as seen.
    pub shape: Shape,
    /// Which rows of the weight, in which order.
    pub rows: Rows,
    /// Added to every value of the weight. llama.cpp's converter, which makes this change, adds in
    /// f32, but to an f16 weight in f16: its sum is rounded to f16 even where it is then written as
    /// f32.
    pub add: f32,
    /// Whether an `[a, b]` weight is seen as `[b, a]`. Its rows are then the weight's columns,
    /// from the first one on.
    pub transposed: bool,
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
}

impl View {
    /// A weight as it is.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Self {
        Self::part(shape, 0)
    }

    /// Consecutive rows, seen in a shape.
    pub(super) fn part(shape: &[u64], start: u64) -> Self {
        Self { shape: shape.into(), rows: Rows::From(start), add: 0.0, transposed: false }
    }

    /// Whether the numbers seen are those of the weight, in their order: all of them, or
    /// consecutive rows.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self.rows, Rows::From(_)) && self.add == 0.0 && !self.transposed
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
        crate::catalog::element_count(outer).unwrap_or(0)
    }

    /// The row of the weight that a row of the view is; of a transposed view, the column.
    #[must_use]
    pub fn row(&self, row: u64) -> u64 {
        match self.rows {
            Rows::From(start) => start + row,
            Rows::Heads { start, head_rows, to_halves, .. } => {
                let half = (head_rows / 2).max(1);
                let (head, at) = (row / (2 * half), row % (2 * half));
                let there =
                    if to_halves { at % half * 2 + at / half } else { at % 2 * half + at / 2 };
                start + head * 2 * half + there
            }
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
    fn shapes_have_rows() {
        assert_eq!(
            (View::whole(&[3, 4, 5]).row_count(), View::whole(&[3, 4, 5]).row_len()),
            (12, 5)
        );
        assert_eq!((View::whole(&[7]).row_count(), View::whole(&[7]).row_len()), (1, 7));
        assert_eq!((View::whole(&[]).row_count(), View::whole(&[]).row_len()), (1, 1));
    }
}
