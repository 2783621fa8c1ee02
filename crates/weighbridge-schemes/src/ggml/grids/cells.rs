//! Which points of a grid lie nearest to any digits.
//!
//! A cell is one choice of digits. Encoders round numbers to a cell; if that is no point of the
//! grid, they choose among the points that are nearest to it by the squares of their distance. All
//! points at the least few distances count, in the order of their distance, then of their index.
//!
//! Distances are sums over both halves of the digits, which have few cells each: a whole table
//! takes some milliseconds. It is made when it is first asked for.

use std::sync::LazyLock;

use super::digits;

/// Points are looked at in eights.
pub(in super::super) const EIGHT: usize = 8;

/// A grid of `DIGITS` digits: eight of two bits that are at most 2, or four of three bits.
pub(in super::super) struct Cells<const DIGITS: usize> {
    cells: Vec<Cell>,
    /// Codes of points. Where a list does not fill its last eight, its first is repeated.
    near: Vec<[u16; EIGHT]>,
    /// The index of each code that is a point.
    indices: Vec<u16>,
}

/// Where a cell's points are.
#[derive(Clone, Copy)]
struct Cell {
    /// The place of the first; the code of the cell, if it is a point itself.
    first: u16,
    /// How many points; none if the cell is a point itself.
    count: u16,
}

/// What lies in a cell, or near it.
#[derive(Clone, Copy)]
pub(in super::super) enum Near<'a> {
    /// The point of this code.
    Point(u16),
    /// None; the nearest have these codes. The first is repeated where they do not fill the last
    /// eight.
    Around(&'a [[u16; EIGHT]]),
}

impl<const DIGITS: usize> Cells<DIGITS> {
    const PLACES: u32 = if DIGITS == 8 { 8 } else { 4 };
    /// The largest digit.
    pub(in super::super) const TOP: u8 = if DIGITS == 8 { 2 } else { 7 };
    /// Bits of a digit in a code, the first digit in the lowest.
    pub(in super::super) const BITS: usize = if DIGITS == 8 { 2 } else { 3 };
    /// Digits are below this. The number of a cell has its digits to this base, the first the
    /// lowest.
    pub(in super::super) const BASE: usize = if DIGITS == 8 { 3 } else { 8 };

    /// The digits of a code.
    #[inline(always)]
    pub(in super::super) fn digits(code: u16) -> [u8; DIGITS] {
        let mask = (1 << Self::BITS) - 1;
        std::array::from_fn(|place| (code >> (Self::BITS * place) & mask).to_le_bytes()[0])
    }

    /// What lies in a cell, or near it.
    #[inline(always)]
    pub(in super::super) fn near(&self, cell: usize) -> Near<'_> {
        let cell = self.cells[cell];
        let count = usize::from(cell.count);
        if count == 0 {
            return Near::Point(cell.first);
        }
        Near::Around(&self.near[usize::from(cell.first)..][..count.div_ceil(EIGHT)])
    }

    /// The codes of the points in a cell or near it, and whether it is one in it.
    ///
    /// [`near`](Self::near) without a branch, for loops that mispredict it.
    #[inline(always)]
    pub(in super::super) fn codes(&self, cell: usize) -> (&[u16], bool) {
        let cell = &self.cells[cell];
        let is_point = cell.count == 0;
        let near = self.near.as_flattened();
        let from = if is_point { 0 } else { usize::from(cell.first) * EIGHT };
        let near = &near[from..][..usize::from(cell.count)];
        (if is_point { std::slice::from_ref(&cell.first) } else { near }, is_point)
    }

    /// The index of a point.
    #[inline(always)]
    pub(in super::super) fn index(&self, code: u16) -> u16 {
        self.indices[usize::from(code)]
    }

    /// Of a grid's points, given by digits; `distances` is how many distances count.
    fn new(points: &[[u8; DIGITS]], distances: usize) -> Self {
        let code = |digits: &[u8]| {
            (0..)
                .zip(digits)
                .fold(0, |code, (n, &digit)| code | u16::from(digit) << (Self::BITS * n))
        };
        let codes: Vec<u16> = points.iter().map(|point| code(point)).collect();
        let most = codes.iter().max().copied().unwrap_or_default();
        let mut indices = vec![u16::MAX; usize::from(most) + 1];
        (0..).zip(&codes).for_each(|(index, &code)| indices[usize::from(code)] = index);
        let (low, high) = (Self::halves(points, 0), Self::halves(points, DIGITS / 2));
        let mut made = Self { cells: Vec::new(), near: Vec::new(), indices };
        let mut away = vec![0; points.len()];
        for cell in 0..Self::BASE.pow(Self::PLACES) {
            let half = Self::BASE.pow(Self::PLACES / 2);
            let halves = low[cell % half].iter().zip(&high[cell / half]);
            away.iter_mut().zip(halves).for_each(|(away, (low, high))| *away = low + high);
            let digits: [u8; DIGITS] = digits_of(cell, Self::BASE);
            made.push(code(&digits), &codes, &away, distances);
        }
        made
    }

    /// How far each point is from every half of a cell, in the digits from `from` on.
    fn halves(points: &[[u8; DIGITS]], from: usize) -> Vec<Vec<u8>> {
        let of = |half: usize| {
            let digits: [u8; DIGITS] = digits_of(half, Self::BASE);
            let away = |point: &[u8; DIGITS]| {
                let pairs = point[from..from + DIGITS / 2].iter().zip(digits);
                pairs.map(|(&a, b)| a.abs_diff(b).pow(2)).sum()
            };
            points.iter().map(away).collect()
        };
        (0..Self::BASE.pow(Self::PLACES / 2)).map(of).collect()
    }

    /// Adds the next cell, from which points are that far away.
    fn push(&mut self, code: u16, codes: &[u16], away: &[u8], distances: usize) {
        // The largest grid has 43 thousand.
        let first = u16::try_from(self.near.len()).unwrap_or(u16::MAX);
        if self.indices.get(usize::from(code)).is_some_and(|&index| index != u16::MAX) {
            self.cells.push(Cell { first: code, count: 0 });
            return;
        }
        let mut is_there = [false; 256];
        away.iter().for_each(|&away| is_there[usize::from(away)] = true);
        let mut list = Vec::new();
        for distance in (0..=u8::MAX).filter(|&at| is_there[usize::from(at)]).take(distances) {
            let at = codes.iter().zip(away).filter(|&(_, &away)| away == distance);
            list.extend(at.map(|(&code, _)| code));
        }
        let count = u16::try_from(list.len()).unwrap_or(u16::MAX);
        list.resize(list.len().next_multiple_of(EIGHT), list[0]);
        self.near.extend(list.as_chunks::<EIGHT>().0);
        self.cells.push(Cell { first, count });
    }
}

/// The digits of a number to a base, the lowest first.
fn digits_of<const DIGITS: usize>(number: usize, base: usize) -> [u8; DIGITS] {
    let mut rest = number;
    std::array::from_fn(|_| {
        let digit = rest % base;
        rest /= base;
        digit.to_le_bytes()[0]
    })
}

/// IQ1_S and IQ1_M.
pub(in super::super) static IQ1: LazyLock<Cells<8>> =
    LazyLock::new(|| Cells::new(&digits::IQ1.0, 3));
/// IQ2_XXS.
pub(in super::super) static IQ2_XXS: LazyLock<Cells<8>> =
    LazyLock::new(|| Cells::new(&digits::IQ2_XXS.0, 2));
/// IQ2_XS.
pub(in super::super) static IQ2_XS: LazyLock<Cells<8>> =
    LazyLock::new(|| Cells::new(&digits::IQ2_XS.0, 2));
/// IQ2_S.
pub(in super::super) static IQ2_S: LazyLock<Cells<8>> =
    LazyLock::new(|| Cells::new(&digits::IQ2_S.0, 1));
/// IQ3_XXS.
pub(in super::super) static IQ3_XXS: LazyLock<Cells<4>> =
    LazyLock::new(|| Cells::new(&digits::IQ3_XXS.0, 2));
/// IQ3_S.
pub(in super::super) static IQ3_S: LazyLock<Cells<4>> =
    LazyLock::new(|| Cells::new(&digits::IQ3_S.0, 3));

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances of some points from a cell, in their order.
    fn distances<const DIGITS: usize>(cell: usize, codes: &[u16]) -> Vec<u32> {
        let digits: [u8; DIGITS] = digits_of(cell, Cells::<DIGITS>::BASE);
        let away = |&code: &u16| {
            let pairs = Cells::<DIGITS>::digits(code).into_iter().zip(digits);
            pairs.map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
        };
        codes.iter().map(away).collect()
    }

    fn check<const DIGITS: usize>(cells: &Cells<DIGITS>, points: usize, wanted: usize) {
        let mut on_grid = 0;
        for cell in 0..cells.cells.len() {
            match cells.near(cell) {
                Near::Point(code) => {
                    assert!(usize::from(cells.index(code)) < points);
                    assert_eq!(
                        Cells::<DIGITS>::digits(code),
                        digits_of(cell, Cells::<DIGITS>::BASE)
                    );
                    on_grid += 1;
                }
                Near::Around(near) => {
                    let (codes, _) = cells.codes(cell);
                    assert_eq!(near.as_flattened()[..codes.len()], *codes);
                    let mut away = distances::<DIGITS>(cell, codes);
                    assert!(away.is_sorted() && away[0] > 0, "cell {cell}: {away:?}");
                    away.dedup();
                    assert_eq!(away.len(), wanted, "cell {cell}");
                }
            }
        }
        assert_eq!(on_grid, points);
    }

    #[test]
    fn every_cell_is_a_point_or_has_the_nearest_in_order() {
        check(&IQ1, 2048, 3);
        check(&IQ2_XXS, 256, 2);
        check(&IQ2_XS, 512, 2);
        check(&IQ2_S, 1024, 1);
        check(&IQ3_XXS, 256, 2);
        check(&IQ3_S, 512, 3);
    }
}
