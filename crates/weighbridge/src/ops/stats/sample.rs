//! Which numbers of a weight the histogram counts: all of them, or of a large weight one of every
//! sixteen neighbours.
//!
//! Which of the sixteen is drawn for each of them from where they stand in the weight, and from
//! nothing else: so neither tiles nor workers nor the level change it, and no column, row or
//! block of codes is always passed over.

use super::histogram::{BINS, bin_of};
use crate::simd::{Level, kernel};

/// Counts of the bins. Neighbours are counted apart, since adding to the same count twice in a row
/// must wait for the first sum.
pub(super) type Counts = [[u32; BINS]; 4];

/// A weight with no more numbers than these is counted whole.
pub(super) const WHOLE: u64 = 1 << 20;

/// Neighbours of which one is counted.
const NEIGHBOURS: usize = 16;
/// Neighbours that one draw is for: four of its 64 bits for each sixteen of them.
const GROUP: usize = NEIGHBOURS * NEIGHBOURS;

/// Which numbers are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sample {
    #[default]
    Whole,
    OneOfSixteen,
}

impl Sample {
    /// What a weight of so many numbers is asked for.
    pub(super) fn of(elements: u64) -> Self {
        if elements > WHOLE { Self::OneOfSixteen } else { Self::Whole }
    }

    /// The definition: whether the number at that place is counted.
    #[cfg(test)]
    fn has(self, at: u64) -> bool {
        let (group, within) = (at / GROUP as u64, at % GROUP as u64);
        self == Self::Whole || chosen(group).any(|place| place as u64 == within)
    }

    /// Counts those numbers that are to be counted, the first of which stands at that place. What
    /// is not finite is counted in bins of its own.
    pub(super) fn count(self, level: Level, at: u64, numbers: &[f32], counts: &mut Counts) {
        match self {
            Self::Whole => count_all(level, numbers, counts),
            Self::OneOfSixteen => count_some(level, at, numbers, counts),
        }
    }
}

/// How far the share of numbers below a quantile may be from what is asked, if so many of them
/// were counted: four standard deviations of such a share where it is widest.
#[allow(clippy::cast_precision_loss)] // An error is an estimate.
pub(super) fn rank_error(counted: u64, of: u64) -> f64 {
    if counted >= of { 0.0 } else { (2.0 / (counted.max(1) as f64).sqrt()).min(1.0) }
}

/// The places in a group that are counted: one in each sixteen.
#[inline(always)]
fn chosen(group: u64) -> impl Iterator<Item = usize> {
    let drawn = mixed(group);
    (0..NEIGHBOURS).map(move |index| {
        #[allow(clippy::cast_possible_truncation)] // Only the lowest bits matter.
        let place = (drawn >> (4 * index)) as usize % NEIGHBOURS;
        index * NEIGHBOURS + place
    })
}

/// A number whose bits have nothing in common with those of its neighbours' (the finalizer of
/// SplitMix64).
#[inline(always)]
fn mixed(index: u64) -> u64 {
    let mut bits = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

kernel! {
    fn count_all(_isa; numbers: &[f32], counts: &mut Counts) -> () {
        let (fours, rest) = numbers.as_chunks::<4>();
        let [first, second, third, fourth] = counts;
        for [a, b, c, d] in fours {
            first[bin_of(*a)] += 1;
            second[bin_of(*b)] += 1;
            third[bin_of(*c)] += 1;
            fourth[bin_of(*d)] += 1;
        }
        rest.iter().for_each(|&x| first[bin_of(x)] += 1);
    }
}

kernel! {
    fn count_some(_isa; at: u64, numbers: &[f32], counts: &mut Counts) -> () {
        #[allow(clippy::cast_possible_truncation)] // It is a place in a group.
        let (mut group, before) = (at / GROUP as u64, (at % GROUP as u64) as usize);
        let head = if before == 0 { 0 } else { (GROUP - before).min(numbers.len()) };
        let (head, rest) = numbers.split_at(head);
        if !head.is_empty() {
            count_part(group, before, head, counts);
            group += 1;
        }
        let (groups, tail) = rest.as_chunks::<GROUP>();
        for numbers in groups {
            for (index, place) in chosen(group).enumerate() {
                counts[index % 4][bin_of(numbers[place])] += 1;
            }
            group += 1;
        }
        if !tail.is_empty() {
            count_part(group, 0, tail, counts);
        }
    }
}

/// Counts in a part of a group, before which others of it stand.
#[inline(always)]
fn count_part(group: u64, before: usize, numbers: &[f32], counts: &mut Counts) {
    for place in chosen(group) {
        let number = place.checked_sub(before).and_then(|place| numbers.get(place));
        number.into_iter().for_each(|&x| counts[0][bin_of(x)] += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(level: Level, at: u64, numbers: &[f32]) -> Vec<u32> {
        let mut counts = Box::new([[0; BINS]; 4]);
        Sample::OneOfSixteen.count(level, at, numbers, &mut counts);
        (0..BINS).map(|bin| counts.iter().map(|part| part[bin]).sum()).collect()
    }

    #[test]
    fn what_is_counted_depends_on_places_alone() {
        let numbers: Vec<f32> = (1..=5000u16).map(|x| f32::from(x) * 0.37).collect();
        for at in [0u64, 1, 255, 256, 777, 1 << 40] {
            let mut wanted = vec![0u32; BINS];
            for (place, &x) in (at..).zip(&numbers) {
                wanted[bin_of(x)] += u32::from(Sample::OneOfSixteen.has(place));
            }
            for &level in Level::available() {
                for cut in [0, 1, 16, 100, 256, 4097, 5000] {
                    let (first, second) = numbers.split_at(cut);
                    let mut found = counted(level, at, first);
                    let rest = counted(level, at + cut as u64, second);
                    found.iter_mut().zip(rest).for_each(|(all, other)| *all += other);
                    assert_eq!(found, wanted, "{at} {cut}");
                }
            }
        }
    }

    #[test]
    fn every_column_is_counted_as_often_as_others() {
        let (rows, columns) = (2048u64, 64u64);
        let times = |column| {
            (0..rows).filter(|row| Sample::OneOfSixteen.has(row * columns + column)).count()
        };
        // 128 are expected, with a deviation of 11.
        let (least, most) = (0..columns)
            .map(times)
            .fold((usize::MAX, 0), |(least, most), one| (least.min(one), most.max(one)));
        assert!(least >= 84 && most <= 172, "{least} {most}");
        let all = (0..rows * columns).filter(|at| Sample::OneOfSixteen.has(*at)).count() as u64;
        assert_eq!(all, rows * columns / 16);
    }
}
