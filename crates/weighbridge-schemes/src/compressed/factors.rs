//! Factors that a grid does not hold: packed zero points, and columns in act-order.
//!
//! Zero points are packed down the rows: codes of consecutive rows of one group follow one another
//! in words that are a row of words apart. Each of several stacked matrices starts with a new word.

use std::ops::Range;
use std::sync::OnceLock;

use crate::arithmetic::matrix::{Factor, Factors, GROUPS, Grid, RowGroups};
use crate::error::{Error, Result};
use crate::source::{Slab, Staged};

/// Scales in a grid, with zero points and a column order that may be packed.
pub(super) struct Arranged {
    pub(super) scale: Grid,
    pub(super) zero: Zero,
    pub(super) order: Option<Order>,
}

/// Zero points.
#[derive(Clone, Copy, Debug)]
pub(super) enum Zero {
    /// None.
    None,
    /// One number each.
    Plain(Grid),
    /// Small floats; the library only writes zeros.
    Floats(Grid),
    /// Codes in words.
    Packed(PackedZeros),
}

/// Zero points in words, `[matrices, words, cells]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedZeros {
    pub(super) part: usize,
    pub(super) bits: u32,
    /// Whether codes cross words, instead of leaving the rest of a word unused.
    pub(super) stream: bool,
    /// Rows per stacked matrix.
    pub(super) rows: u64,
    /// Rows of words per matrix.
    pub(super) words: u64,
    /// Groups per row.
    pub(super) cells: u64,
}

impl PackedZeros {
    /// Returns the rows of words that `rows` rows need.
    pub(super) fn words_for(rows: u64, bits: u32, stream: bool) -> u64 {
        if stream {
            (rows * u64::from(bits)).div_ceil(32)
        } else {
            rows.div_ceil(u64::from(32 / bits))
        }
    }

    /// Returns the first bit of a row's codes, over all rows of words.
    fn bit(&self, row: u64) -> u64 {
        let (matrix, row) = (row / self.rows, row % self.rows);
        let inside = if self.stream {
            row * u64::from(self.bits)
        } else {
            let per_word = u64::from(32 / self.bits);
            row / per_word * 32 + row % per_word * u64::from(self.bits)
        };
        matrix * self.words * 32 + inside
    }

    pub(super) fn slab(&self, rows: &Range<u64>) -> Slab {
        let first = self.bit(rows.start) / 32;
        let last = (self.bit(rows.end.max(rows.start + 1) - 1) + u64::from(self.bits) - 1) / 32;
        Slab::whole(self.part, first * self.cells * 4, (last + 1 - first) * self.cells * 4)
    }

    /// Reads the zero points of a row's groups from `group` on, given the words for rows from
    /// `first` on.
    fn numbers(&self, staged: &[u8], first: u64, row: u64, group: u64, out: &mut [f32]) {
        let start = self.bit(row) - self.bit(first) / 32 * 32;
        let shift = u32::try_from(start % 32).unwrap_or(0);
        if shift + self.bits > 32 {
            // Codes cross words.
            return (group..)
                .zip(out)
                .for_each(|(group, out)| *out = self.number(staged, first, row, group));
        }
        let at = usize::try_from(start / 32 * self.cells + group).unwrap_or(usize::MAX);
        let words = &staged.as_chunks::<4>().0[at..];
        let (mask, middle) = (u32::MAX >> (32 - self.bits), 1i32 << (self.bits - 1));
        for (word, out) in words.iter().zip(out) {
            let code = u32::from_le_bytes(*word) >> shift & mask;
            *out = (code.cast_signed() - middle) as f32;
        }
    }

    /// Returns the zero point of a row's group, given the words for rows from `first` on.
    fn number(&self, staged: &[u8], first: u64, row: u64, group: u64) -> f32 {
        let code = self.code(staged, first, row, group);
        f32::from(code) - (1u32 << (self.bits - 1)) as f32
    }

    /// Returns the stored zero point, with half the range added.
    #[allow(clippy::cast_possible_truncation)] // At most eight bits are left.
    pub(super) fn code(&self, staged: &[u8], first: u64, row: u64, group: u64) -> u8 {
        let start = self.bit(row) - self.bit(first) / 32 * 32;
        let words = staged.as_chunks::<4>().0;
        let word = |index: u64| {
            let at = usize::try_from(index * self.cells + group).unwrap_or(usize::MAX);
            words.get(at).map_or(0, |word| u64::from(u32::from_le_bytes(*word)))
        };
        let pair = word(start / 32) | word(start / 32 + 1) << 32;
        ((pair >> (start % 32)) & ((1 << self.bits) - 1)) as u8
    }
}

/// Group of each column, if groups are not in order.
pub(super) struct Order {
    pub(super) part: usize,
    pub(super) columns: u64,
    pub(super) groups: u64,
    /// Columns per group, for a list that is unset.
    pub(super) group: u64,
    /// Read from the first staged bytes.
    pub(super) list: OnceLock<Result<Vec<u64>, String>>,
}

impl Order {
    fn group(&self, staged: &Staged<'_>, column: u64) -> Result<u64> {
        let list = self.list.get_or_init(|| self.read(staged.bytes()));
        let list = list.as_ref().map_err(|reason| Error::malformed(reason.clone()))?;
        Ok(list.get(usize::try_from(column).unwrap_or(usize::MAX)).copied().unwrap_or(0))
    }

    /// Reads the list. A `-1` anywhere means that it was never set: groups are in order. Otherwise
    /// every group must occur, since the library uses the rank of a group among those that do.
    fn read(&self, bytes: &[u8]) -> Result<Vec<u64>, String> {
        let listed = bytes.as_chunks::<4>().0.iter().map(|four| i32::from_le_bytes(*four));
        if listed.clone().any(|group| group == -1) {
            return Ok((0..self.columns).map(|column| column / self.group).collect());
        }
        let mut seen = vec![false; usize::try_from(self.groups).unwrap_or(0)];
        let mut list = Vec::with_capacity(listed.len());
        for (column, group) in listed.enumerate() {
            match usize::try_from(group).ok().and_then(|group| seen.get_mut(group)) {
                Some(seen) => *seen = true,
                None => refuse!(
                    "weight_g_idx[{column}] is {group}, but there are {} groups",
                    self.groups
                ),
            }
            list.push(u64::try_from(group).unwrap_or(0));
        }
        match seen.iter().position(|seen| !seen) {
            Some(group) => Err(format!("weight_g_idx assigns no column to group {group}")),
            None => Ok(list),
        }
    }
}

impl Factors for Arranged {
    fn needs(&self, rows: Range<u64>, _: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.scale.slab(&rows));
        match &self.zero {
            Zero::None => {}
            Zero::Plain(grid) | Zero::Floats(grid) => slabs.push(grid.slab(&rows)),
            Zero::Packed(zeros) => slabs.push(zeros.slab(&rows)),
        }
        if let Some(order) = &self.order {
            slabs.push(Slab::whole(order.part, 0, order.columns * 4));
        }
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, ref groups, .. } = of;
        let Some(order) = &self.order else {
            return self.fill_in_order(of, out);
        };
        let (scales, zeros) = (&staged[0], staged.get(1));
        let list = staged.get(1 + usize::from(!matches!(self.zero, Zero::None)));
        for (group, out) in groups.clone().zip(out) {
            let group = match list {
                Some(list) => order.group(list, group)?,
                None => group,
            };
            let scale = self.scale.number(scales, first, row, group);
            let offset = match (&self.zero, zeros) {
                (Zero::Plain(grid), Some(zeros)) => grid.number(zeros, first, row, group),
                (Zero::Floats(grid), Some(zeros)) => {
                    zero_or_error(grid.number(zeros, first, row, group), row, group)?
                }
                (Zero::Packed(packed), Some(zeros)) => {
                    packed.number(zeros.bytes(), first, row, group)
                }
                _ => 0.0,
            };
            *out = Factor { scale, offset };
        }
        Ok(())
    }
}

impl Arranged {
    /// Computes the factors of groups that are in order.
    fn fill_in_order(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, groups: Range { start: group, .. }, .. } = of;
        let (mut scales, mut offsets) = ([0.0; GROUPS], [0.0; GROUPS]);
        let (scales, offsets) = (&mut scales[..out.len()], &mut offsets[..out.len()]);
        self.scale.numbers(&staged[0], first, row, group, scales);
        match (&self.zero, staged.get(1)) {
            (Zero::Plain(grid), Some(zeros)) => grid.numbers(zeros, first, row, group, offsets),
            (Zero::Floats(grid), Some(zeros)) => {
                grid.numbers(zeros, first, row, group, offsets);
                for (group, zero) in (group..).zip(offsets.iter()) {
                    zero_or_error(*zero, row, group)?;
                }
            }
            (Zero::Packed(packed), Some(zeros)) => {
                packed.numbers(zeros.bytes(), first, row, group, offsets);
            }
            _ => {}
        }
        for (out, (scale, offset)) in out.iter_mut().zip(scales.iter().zip(&*offsets)) {
            *out = Factor { scale: *scale, offset: *offset };
        }
        Ok(())
    }
}

/// Rejects a zero point of small floats: no library writes one, and its rounding is undefined.
fn zero_or_error(zero: f32, row: u64, group: u64) -> Result<f32> {
    if zero == 0.0 {
        Ok(0.0)
    } else {
        Err(Error::unsupported(format!(
            "the zero point of row {row}, group {group} is {zero}, but float codes have none"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(list: &[i32], groups: u64) -> Result<Vec<u64>, String> {
        let bytes: Vec<u8> = list.iter().flat_map(|group| group.to_le_bytes()).collect();
        let columns = list.len() as u64;
        let group = columns / groups;
        Order { part: 0, columns, groups, group, list: OnceLock::new() }.read(&bytes)
    }

    #[test]
    fn an_unset_order_is_the_plain_one() {
        assert_eq!(order(&[1, 0, 0, 1], 2).unwrap(), [1, 0, 0, 1]);
        assert_eq!(order(&[1, -1, 0, 1], 2).unwrap(), [0, 0, 1, 1]);
        assert!(order(&[0, 2, 1, 1], 2).unwrap_err().contains("weight_g_idx[1] is 2"));
        assert!(order(&[0, -2, 1, 1], 2).unwrap_err().contains("weight_g_idx[1] is -2"));
        assert!(order(&[1, 1, 1, 1], 2).unwrap_err().contains("no column to group 0"));
    }

    /// Every row's zero point is found from any first row, whole words or a stream.
    #[test]
    fn zero_points_come_back_from_every_start() {
        for (bits, stream) in [(3, true), (3, false), (4, true), (7, true), (7, false), (8, true)] {
            let (rows, matrices, cells) = (23u64, 2u64, 2u64);
            let words = PackedZeros::words_for(rows, bits, stream);
            let zeros = PackedZeros { part: 0, bits, stream, rows, words, cells };
            let code = |row: u64, cell: u64| (row * 5 + cell * 3 + 1) % (1 << bits);
            let mut stored = vec![0u32; usize::try_from(matrices * words * cells).unwrap()];
            for row in 0..rows * matrices {
                for cell in 0..cells {
                    for bit in 0..u64::from(bits) {
                        let at = zeros.bit(row) + bit;
                        let word = usize::try_from(at / 32 * cells + cell).unwrap();
                        stored[word] |=
                            u32::try_from(code(row, cell) >> bit & 1).unwrap() << (at % 32);
                    }
                }
            }
            let bytes: Vec<u8> = stored.iter().flat_map(|word| word.to_le_bytes()).collect();
            for first in 0..rows * matrices {
                for end in first + 1..=rows * matrices {
                    let slab = zeros.slab(&(first..end));
                    let [from, to] = [slab.offset, slab.offset + slab.row_bytes]
                        .map(|at| usize::try_from(at).unwrap());
                    let staged = &bytes[from..to];
                    for (row, cell) in (first..end).flat_map(|row| [(row, 0), (row, 1)]) {
                        let expected = code(row, cell) as f32 - (1u32 << (bits - 1)) as f32;
                        assert!(zeros.number(staged, first, row, cell) == expected);
                        let mut several = [0.0; 2];
                        let several = &mut several[..usize::try_from(cells - cell).unwrap()];
                        zeros.numbers(staged, first, row, cell, several);
                        assert!(several[0] == expected);
                    }
                }
            }
        }
    }
}
