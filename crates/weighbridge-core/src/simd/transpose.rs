//! Transposes small matrices, so that what is stored by columns can be written by rows.

use super::{Level, Number};

/// A matrix that lies somewhere in a slice.
#[derive(Clone, Copy, Debug)]
pub struct Sides {
    /// Rows of the matrix that is read: columns of the one that is written.
    pub rows: usize,
    /// Columns of the matrix that is read.
    pub columns: usize,
    /// Elements from one row to the next, where it is read.
    pub from: usize,
    /// Elements from one row to the next, where it is written.
    pub to: usize,
}

/// Writes `from[r * sides.from + c]` to `to[c * sides.to + r]`.
pub fn transpose<T: Number>(level: Level, sides: Sides, from: &[T], to: &mut [T]) {
    let Sides { rows, columns, .. } = sides;
    if rows == 0 || columns == 0 {
        return;
    }
    let from = &from[..(rows - 1) * sides.from + columns];
    let to = &mut to[..(columns - 1) * sides.to + rows];
    transpose_within(level, sides, from, to);
}

kernel! {
    /// Transposes a matrix whose slices end with it.
    fn transpose_within[T: Number](isa; sides: Sides, from: &[T], to: &mut [T]) -> () {
        let (whole_rows, whole_columns) = isa.transpose(sides, from, to);
        let mut move_one = |row: usize, column: usize| {
            to[column * sides.to + row] = from[row * sides.from + column];
        };
        for column in whole_columns..sides.columns {
            (0..whole_rows).for_each(|row| move_one(row, column));
        }
        for row in whole_rows..sides.rows {
            (0..sides.columns).for_each(|column| move_one(row, column));
        }
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    fn check<T: Number + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> T) {
        for (rows, columns) in [(0, 3), (1, 1), (8, 8), (9, 17), (64, 32), (33, 7), (5, 40)] {
            let sides = Sides { rows, columns, from: columns + 3, to: rows + 5 };
            let from: Vec<T> = (0..rows * (columns + 3)).map(&number).collect();
            for &level in Level::available() {
                let mut to = vec![T::default(); columns * (rows + 5)];
                transpose(level, sides, &from, &mut to);
                for (index, found) in to.iter().enumerate() {
                    let (column, row) = (index / sides.to, index % sides.to);
                    let inside = row < rows;
                    let wanted =
                        if inside { from[row * sides.from + column] } else { T::default() };
                    assert_eq!(*found, wanted, "{level:?} {rows} x {columns}: {column}, {row}");
                }
            }
        }
    }

    #[test]
    fn every_element_lands_in_its_place_and_nothing_else_is_touched() {
        check::<f32>(|index| index as f32 + 1.0);
        check::<bf16>(|index| bf16::from_bits(u16::try_from(index).unwrap() + 1));
    }
}
