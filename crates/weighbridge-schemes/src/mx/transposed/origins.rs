//! Bounds on the originals of transposed blocks.
//!
//! The elements of a block are a row apart in the result. So those of one block are gathered, and
//! their bounds are scattered.

use super::{BLOCK, Transposed, length, power_of_two};
use crate::arithmetic::matrix::{Arithmetic, Factor, Loss, Numbers};
use crate::bounds::Bounds;
use crate::error::{Error, Result};
use crate::framework::{Origins, Portion, Rule};

/// The highest four-bit float.
const HIGHEST: f32 = 6.0;

impl Origins for Transposed {
    fn rule(&self) -> Rule {
        Rule::Bounded
    }

    fn bounds(&self, of: &Portion<'_>, values: &[f32], out: &mut [Bounds]) -> Result<()> {
        let (numbers, loss) = (Numbers::of(&self.codes), Loss::of_powers(HIGHEST));
        let (mut values, mut out) = (values, out);
        for (panel, staged) in self.panels(of.elements.clone()).zip(of.staged.chunks(2)) {
            let [_, scales] = staged else {
                return Err(Error::usage("expected MXFP4 blocks and scales"));
            };
            let count = length(panel.elements.end - panel.elements.start);
            let (now, rest) = values.split_at(count);
            let (bounds, others) = out.split_at_mut(count);
            (values, out) = (rest, others);
            for (at, row) in panel.rows.clone().enumerate() {
                for (&scale, group) in scales.row(at).iter().zip(panel.groups.clone()) {
                    let factor = Factor { scale: power_of_two(scale), offset: 0.0 };
                    let levels = loss.levels(numbers, Arithmetic::Times, factor, 0.0);
                    let places = group * BLOCK as u64..(group + 1) * BLOCK as u64;
                    let places = places.map(|column| column * self.rows + row);
                    let places = places.filter(|place| panel.elements.contains(place));
                    let places = places.map(|place| length(place - panel.elements.start));
                    let (mut gathered, mut found) = ([0.0; BLOCK], [Bounds::default(); BLOCK]);
                    let mut count = 0;
                    for (place, gathered) in places.clone().zip(&mut gathered) {
                        *gathered = now[place];
                        count += 1;
                    }
                    levels.fill(&gathered[..count], &mut found[..count]);
                    places.zip(found).for_each(|(place, found)| bounds[place] = found);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Staged;

    /// Bounds of the transposed matrix are those of the numbers where they lie.
    #[test]
    fn bounds_go_where_their_numbers_are() {
        let (rows, columns) = (3u64, 64u64);
        let of = Transposed::new(rows, columns, crate::dtype::DType::BF16);
        let scales: Vec<u8> = (0..6).map(|group| 120 + group).collect();
        let blocks = vec![0x72u8; 96];
        for (start, end) in [(0, 192), (5, 190), (40, 41), (7, 100)] {
            let panel = of.panels(start..end).next().unwrap();
            let cut = |all: &[u8], width: u64| -> Vec<u8> {
                let rows = panel.rows.clone();
                let groups = length(panel.groups.start * width)..length(panel.groups.end * width);
                rows.flat_map(|row| all[length(row * 2 * width)..][groups.clone()].to_vec())
                    .collect()
            };
            let across = length(panel.groups.end - panel.groups.start);
            let (blocks, scales_here) = (cut(&blocks, 16), cut(&scales, 1));
            let staged =
                [Staged::of_rows(&blocks, across * 16), Staged::of_rows(&scales_here, across)];
            // All codes are 1 or 6.
            let scale = |place: u64| {
                let (column, row) = (place / rows, place % rows);
                power_of_two(scales[length(row * 2 + column / 32)])
            };
            let is_low = |place: u64| (place / rows).is_multiple_of(2);
            let number = |place: u64| if is_low(place) { 1.0 } else { 6.0 };
            let values: Vec<f32> = (start..end).map(|at| number(at) * scale(at)).collect();
            let mut out = vec![Bounds::default(); values.len()];
            let portion = Portion { staged: &staged, elements: start..end };
            of.bounds(&portion, &values, &mut out).unwrap();
            for (place, found) in (start..end).zip(&out) {
                let [low, high] = [found.low, found.high].map(|end| end / scale(place));
                let wanted = if number(place) == 1.0 { [0.75, 1.25] } else { [5.0, 8.025] };
                assert!((low - wanted[0]).abs() < 0.01 && (high - wanted[1]).abs() < 0.01);
            }
        }
    }
}
