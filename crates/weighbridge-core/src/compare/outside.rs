//! Elements outside the bounds that storage allows: how many there are, and where.

use half::{bf16, f16};

use crate::bounds::Bounds;
use crate::dtype::DType;
use crate::simd::{Level, kernel};

/// How many places are kept.
const PLACES: usize = 8;

/// What f32 arithmetic may lose, relative to a number.
pub const ROUNDING: f32 = 1e-6;

/// An element that lies outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its index among all elements.
    pub index: u64,
    /// Its value on the first side.
    pub a: f64,
    /// Its value on the second side.
    pub b: f64,
    /// How far out it is: 1 is the bound itself. None where there is no such measure.
    pub times: Option<f64>,
}

/// What lies outside, over a weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outside {
    /// How many elements lie outside.
    pub elements: u64,
    /// The rows that hold them, in the order of the tiles; a row may occur more than once.
    pub rows: Vec<u64>,
    /// The first of them.
    pub places: Vec<Place>,
    /// The one that is farthest out.
    pub worst: Option<Place>,
    /// Elements that are out of order within their block.
    pub disordered: u64,
    /// Sums over rows, where rows are judged.
    pub row_sums: Vec<RowSums>,
    /// What lies outside, but no farther than refitting the scales can move it.
    pub moved: Option<Box<Outside>>,
    /// Whether something would lie outside even if the originals were rounded to each of
    /// [`COPIES`] first. Known only where something lies outside.
    pub unexplained: [bool; COPIES.len()],
}

/// The types that a model is often copied to before it is quantized.
pub const COPIES: [DType; 2] = [DType::BF16, DType::F16];

/// Originals that are rounded at a time: most weights that changed are told by the first few.
const AT_A_TIME: usize = 64;

/// Whether some originals lie outside their bounds even if they are rounded to a type first.
pub fn are_outside_rounded(level: Level, to: DType, originals: &[f32], bounds: &[Bounds]) -> bool {
    let mut rounded = [0.0; AT_A_TIME];
    originals.chunks(AT_A_TIME).zip(bounds.chunks(AT_A_TIME)).any(|(originals, bounds)| {
        let rounded = &mut rounded[..originals.len()];
        for (rounded, &x) in rounded.iter_mut().zip(originals) {
            *rounded = match to {
                DType::BF16 => bf16::from_f32(x).to_f32(),
                _ => f16::from_f32(x).to_f32(),
            };
        }
        count_outside(level, rounded, bounds, 0.0) > 0
    })
}

/// Sums over a row, or the part of it that a piece holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowSums {
    /// The index of the row.
    pub row: u64,
    /// Squares of the first side.
    pub squares_a: f64,
    /// Squares of the second side.
    pub squares_b: f64,
    /// Products of both sides.
    pub products: f64,
    /// How many elements were added up.
    pub elements: u64,
    /// How many of each side are zero.
    pub zeros: [u64; 2],
}

impl RowSums {
    /// The row of two stretches of numbers.
    pub fn of(row: u64, a: &[f32], b: &[f32]) -> Self {
        let mut sums = Self { row, elements: a.len() as u64, ..Self::default() };
        sums.zeros = [a, b].map(|side| side.iter().filter(|x| **x == 0.0).count() as u64);
        for (&a, &b) in a.iter().zip(b) {
            let (a, b) = (f64::from(a), f64::from(b));
            if a.is_finite() && b.is_finite() {
                sums.squares_a += a * a;
                sums.squares_b += b * b;
                sums.products += a * b;
            }
        }
        sums
    }

    /// How alike both sides are, whatever their norms: 1 is the same direction.
    pub fn correlation(&self) -> f64 {
        let norms = (self.squares_a * self.squares_b).sqrt();
        if norms > 0.0 { self.products / norms } else { 0.0 }
    }

    /// The factor that brings the stored side nearest to the original; `None` where it is zero.
    pub fn gain(&self, original: usize) -> Option<f64> {
        let stored = if original == 0 { self.squares_b } else { self.squares_a };
        (stored > 0.0).then(|| self.products / stored)
    }

    /// Whether both sides are smaller than `count` numbers of this size would be.
    pub fn is_below(&self, size: f64, count: u64) -> bool {
        self.squares_a.max(self.squares_b) < size * size * count.max(1) as f64
    }

    /// Adds another part of the row.
    pub fn plus(&mut self, other: &Self) {
        self.squares_a += other.squares_a;
        self.squares_b += other.squares_b;
        self.products += other.products;
        self.elements += other.elements;
        self.zeros[0] += other.zeros[0];
        self.zeros[1] += other.zeros[1];
    }
}

impl Outside {
    /// Adds an element that lies outside.
    pub fn add(&mut self, place: Place, row: u64) {
        self.elements += 1;
        if self.rows.last() != Some(&row) {
            self.rows.push(row);
        }
        if self.places.len() < PLACES {
            self.places.push(place);
        }
        self.see_worst(&place);
    }

    /// Adds an element that lies no farther outside than refitting the scales can move it.
    pub fn add_moved(&mut self, place: Place, row: u64) {
        self.moved.get_or_insert_default().add(place, row);
    }

    /// The type that the originals were rounded to before they were stored, if that explains all
    /// that lies outside.
    pub fn copied_as(&self) -> Option<DType> {
        let is_outside = self.elements > 0 || self.moved.is_some();
        let copies = COPIES.into_iter().zip(self.unexplained);
        copies.filter(|(_, unexplained)| is_outside && !unexplained).map(|(to, _)| to).next()
    }

    /// What to show of a changed weight: what moved, if nothing else is wrong.
    pub fn shown(&self) -> &Self {
        self.moved.as_deref().filter(|_| self.elements == 0).unwrap_or(self)
    }

    /// Takes elements of a row that lie outside, without their places.
    pub fn add_counted(&mut self, row: u64, elements: u64) {
        self.elements += elements;
        if elements > 0 && self.rows.last() != Some(&row) {
            self.rows.push(row);
        }
    }

    fn see_worst(&mut self, place: &Place) {
        let is_worse = |worst: &Place| place.times > worst.times;
        if place.times.is_some() && self.worst.as_ref().is_none_or(is_worse) {
            self.worst = Some(*place);
        }
    }

    /// Adds what was found in the elements that follow.
    pub fn plus(&mut self, other: &Self) {
        self.elements += other.elements;
        let again = self.rows.last().is_some() && self.rows.last() == other.rows.first();
        self.rows.extend(&other.rows[usize::from(again)..]);
        let room = PLACES - self.places.len();
        self.places.extend(other.places.iter().take(room));
        if let Some(worst) = &other.worst {
            self.see_worst(worst);
        }
        self.disordered += other.disordered;
        for (unexplained, other) in self.unexplained.iter_mut().zip(other.unexplained) {
            *unexplained |= other;
        }
        for sums in &other.row_sums {
            self.add_sums(*sums);
        }
        if let Some(moved) = &other.moved {
            self.moved.get_or_insert_default().plus(moved);
        }
    }

    /// Adds to the sums of a row.
    pub fn add_sums(&mut self, sums: RowSums) {
        match self.row_sums.last_mut().filter(|last| last.row == sums.row) {
            Some(last) => last.plus(&sums),
            None => self.row_sums.push(sums),
        }
    }

    /// Sorts the rows and removes duplicates.
    pub fn settle(&mut self) {
        self.rows.sort_unstable();
        self.rows.dedup();
        if let Some(moved) = &mut self.moved {
            moved.settle();
        }
        self.row_sums.sort_by_key(|sums| sums.row);
        self.row_sums.dedup_by(|next, first| {
            let is_same = next.row == first.row;
            if is_same {
                first.plus(next);
            }
            is_same
        });
    }
}

kernel! {
    /// How many originals lie outside their bounds. A source that was rounded itself may be off by
    /// the share `rounded` of each number.
    pub fn count_outside(_isa; originals: &[f32], bounds: &[Bounds], rounded: f32) -> u64 {
        let (mut count, share) = (0u32, rounded + ROUNDING);
        for (&x, bounds) in originals.iter().zip(bounds) {
            count += u32::from(bounds.exclude(x, share));
        }
        count.into()
    }
}

/// How far outside its bounds an original lies, where it does: 1 is the bound itself.
pub fn times_outside(x: f32, stored: f32, bounds: Bounds, rounded: f32) -> Option<f64> {
    let share = rounded + ROUNDING;
    if !bounds.exclude(x, share) {
        return None;
    }
    let more = f64::from(x.abs() * share);
    let (x, stored) = (f64::from(x), f64::from(stored));
    let (apart, allowed) = if x > f64::from(bounds.high) {
        (x - stored - more, f64::from(bounds.high) - stored)
    } else {
        (stored - x - more, stored - f64::from(bounds.low))
    };
    Some(if allowed > 0.0 { apart / allowed } else { f64::INFINITY })
}

kernel! {
    /// How many pairs of bounds do not meet.
    pub fn count_apart(_isa; a: &[Bounds], b: &[Bounds]) -> u64 {
        let mut count = 0u32;
        for (&a, &b) in a.iter().zip(b) {
            count += u32::from(are_apart(a, b));
        }
        count.into()
    }
}

/// Whether two bounds do not meet.
#[inline(always)]
pub fn are_apart(a: Bounds, b: Bounds) -> bool {
    (a.low - a.low.abs() * ROUNDING > b.high) | (b.low - b.low.abs() * ROUNDING > a.high)
}

/// How many elements of a block are out of order: larger than another on one side, and smaller on
/// the other. Both sides of a block are in the same order, whatever its scales are.
pub fn count_disordered(originals: &[f32], stored: &[f32]) -> u64 {
    let mut order: Vec<usize> = (0..originals.len()).collect();
    order.sort_by(|&i, &j| originals[i].total_cmp(&originals[j]));
    let (mut most, mut before, mut count) = (f32::NEG_INFINITY, f32::NEG_INFINITY, 0);
    let mut last = f32::NEG_INFINITY;
    for index in order {
        // Equal originals may have any order.
        if originals[index] > last {
            before = most;
            last = originals[index];
        }
        count += u64::from(stored[index] < before - before.abs() * ROUNDING);
        most = most.max(stored[index]);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Bounds = Bounds { low: -0.5, high: 0.5 };

    #[test]
    fn originals_outside_their_bounds_are_counted_and_measured() {
        let originals = [0.0, 0.5, 0.6, -0.7, f32::NAN, f32::INFINITY];
        for &level in Level::available() {
            assert_eq!(count_outside(level, &originals, &[UNIT; 6], 0.0), 2, "{level:?}");
            assert_eq!(count_outside(level, &originals, &[UNIT; 6], 0.25), 1, "{level:?}");
        }
        assert_eq!(times_outside(0.5, 0.0, UNIT, 0.0), None);
        let times = times_outside(-0.75, 0.0, UNIT, 0.0).unwrap();
        assert!((times - 1.5).abs() < 1e-5, "{times}");
        assert_eq!(times_outside(1.0, 0.5, UNIT, 0.0), Some(f64::INFINITY));
    }

    #[test]
    fn originals_may_lie_inside_once_they_are_rounded() {
        // Between 0.5 and the next BF16 number, 0.50390625.
        let narrow = Bounds { low: 0.5, high: 0.501 };
        for &level in Level::available() {
            let are_outside = |to, x: f32| are_outside_rounded(level, to, &[0.5, x], &[narrow; 2]);
            assert!(!are_outside(DType::BF16, 0.5015) && are_outside(DType::F16, 0.5015));
            assert!(!are_outside(DType::F16, 0.499_99) && are_outside(DType::BF16, 0.503));
        }
        let mut found = Outside::default();
        assert_eq!(found.copied_as(), None);
        found.add(Place { index: 0, a: 0.0, b: 0.0, times: None }, 0);
        assert_eq!(found.copied_as(), Some(DType::BF16));
        found.plus(&Outside { unexplained: [true, false], ..Outside::default() });
        assert_eq!(found.copied_as(), Some(DType::F16));
        found.plus(&Outside { unexplained: [false, true], ..Outside::default() });
        assert_eq!(found.copied_as(), None);
    }

    #[test]
    fn bounds_that_touch_are_not_apart() {
        let other = |low, high| Bounds { low, high };
        assert!(!are_apart(UNIT, other(0.5, 2.0)) && !are_apart(other(0.5, 2.0), UNIT));
        assert!(are_apart(UNIT, other(0.51, 2.0)) && are_apart(other(0.51, 2.0), UNIT));
        assert_eq!(count_apart(Level::BASELINE, &[UNIT; 2], &[UNIT, other(1.0, 2.0)]), 1);
    }

    #[test]
    fn order_is_kept_by_ties_and_broken_by_exchanges() {
        assert_eq!(count_disordered(&[1.0, 2.0, 3.0, 3.0], &[0.0, 0.0, 5.0, 4.0]), 0);
        assert_eq!(count_disordered(&[1.0, 2.0, 3.0], &[0.0, 5.0, 4.0]), 1);
        assert_eq!(count_disordered(&[3.0, 2.0, 1.0], &[0.0, 5.0, 6.0]), 2);
    }

    #[test]
    fn what_tiles_find_is_put_together() {
        let place = |index, times| Place { index, a: 0.0, b: 1.0, times: Some(times) };
        let mut first = Outside::default();
        first.add(place(3, 2.0), 1);
        first.add_sums(RowSums { row: 1, products: 1.0, ..RowSums::default() });
        let mut second = Outside::default();
        second.add(place(4, 5.0), 1);
        second.add(place(9, 4.0), 2);
        second.add_sums(RowSums { row: 1, products: 2.0, ..RowSums::default() });
        first.plus(&second);
        first.settle();
        assert_eq!((first.elements, &first.rows[..]), (3, &[1, 2][..]));
        assert_eq!(first.worst.map(|worst| worst.index), Some(4));
        assert_eq!((first.places.len(), first.row_sums[0].products), (3, 3.0));
    }
}
