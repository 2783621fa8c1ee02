//! Copying from one arrangement of elements in memory to another.

use std::convert::Infallible;

use smallvec::SmallVec;

use crate::simd::{self, Number, Sides};

/// A dimension, with the steps between its indexes on both sides, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Side<From = usize> {
    pub(super) count: usize,
    pub(super) from: From,
    pub(super) to: usize,
}

/// Elements along the side of a square that is transposed at a time.
const SQUARE: usize = 64;

/// Copies all elements that some dimensions, all with at least one index, have.
pub(super) fn copy(sides: &[Side], unit: usize, from: &[u8], to: &mut [u8]) {
    match unit {
        1 => copy_units::<1>(sides, from, to),
        2 => copy_units::<2>(sides, from, to),
        4 => copy_units::<4>(sides, from, to),
        8 => copy_units::<8>(sides, from, to),
        16 => copy_units::<16>(sides, from, to),
        unit => {
            // An element of another size is a dimension of bytes.
            let bytes = Side { count: unit, from: 1, to: 1 };
            let wide = sides.iter().map(|side| Side {
                count: side.count,
                from: side.from * unit,
                to: side.to * unit,
            });
            let all: SmallVec<[Side; 8]> = wide.chain([bytes]).collect();
            copy_units::<1>(&all, from, to);
        }
    }
}

fn copy_units<const UNIT: usize>(sides: &[Side], from: &[u8], to: &mut [u8]) {
    let (from, to) = (from.as_chunks::<UNIT>().0, to.as_chunks_mut::<UNIT>().0);
    let mut rest: SmallVec<[Side; 8]> = sides.iter().filter(|s| s.count > 1).copied().collect();
    let one = Side { count: 1, from: 1, to: 1 };
    let across = take_smallest(&mut rest, |side| side.to).unwrap_or(one);
    // The dimension with the smallest step where it is read, unless that is the same one.
    let closest = rest.iter().map(|side| side.from).filter(|&step| step > 0).min();
    let down = match closest.filter(|&step| across.from == 0 || step < across.from) {
        Some(step) => take_smallest(&mut rest, |side| usize::from(side.from != step)),
        None => None,
    };
    let down = down.unwrap_or(one);
    let counts: SmallVec<[usize; 8]> = rest.iter().map(|side| side.count).collect();
    let Ok(()) = each_index(&counts, |index| {
        let place = |step: fn(&Side) -> usize| -> usize {
            index.iter().zip(&rest).map(|(index, side)| index * step(side)).sum()
        };
        let (at, onto) = (place(|side| side.from), place(|side| side.to));
        plane(down, across, &from[at..], &mut to[onto..]);
        Ok::<(), Infallible>(())
    });
}

/// Calls `each` with every combination of indexes, the last one fastest.
pub(super) fn each_index<E>(
    counts: &[usize],
    mut each: impl FnMut(&[usize]) -> Result<(), E>,
) -> Result<(), E> {
    let mut index: SmallVec<[usize; 8]> = counts.iter().map(|_| 0).collect();
    loop {
        each(&index)?;
        let Some(raised) = (0..counts.len()).rev().find(|&d| index[d] + 1 < counts[d]) else {
            return Ok(());
        };
        index[raised] += 1;
        index[raised + 1..].fill(0);
    }
}

fn take_smallest(sides: &mut SmallVec<[Side; 8]>, step: impl Fn(&Side) -> usize) -> Option<Side> {
    let at = (0..sides.len()).min_by_key(|&index| step(&sides[index]))?;
    Some(sides.remove(at))
}

/// Two dimensions: `across` is the one with the smallest step where it is written.
fn plane<const UNIT: usize>(down: Side, across: Side, from: &[[u8; UNIT]], to: &mut [[u8; UNIT]]) {
    if across.from == 1 && across.to == 1 {
        for row in 0..down.count {
            let from = &from[row * down.from..][..across.count];
            to[row * down.to..][..across.count].copy_from_slice(from);
        }
        return;
    }
    for start in (0..across.count).step_by(SQUARE) {
        let across = Side { count: SQUARE.min(across.count - start), ..across };
        let (from, to) = (&from[start * across.from..], &mut to[start * across.to..]);
        for start in (0..down.count).step_by(SQUARE) {
            let down = Side { count: SQUARE.min(down.count - start), ..down };
            square(down, across, &from[start * down.from..], &mut to[start * down.to..]);
        }
    }
}

fn square<const UNIT: usize>(down: Side, across: Side, from: &[[u8; UNIT]], to: &mut [[u8; UNIT]]) {
    if down.from == 1 && across.to == 1 {
        let sides =
            Sides { rows: across.count, columns: down.count, from: across.from, to: down.to };
        let (from, to) = (from.as_flattened(), to.as_flattened_mut());
        let turned = match UNIT {
            2 => turn::<half::bf16>(sides, from, to),
            4 => turn::<f32>(sides, from, to),
            _ => false,
        };
        if turned {
            return;
        }
    }
    for row in 0..down.count {
        for column in 0..across.count {
            to[row * down.to + column * across.to] = from[row * down.from + column * across.from];
        }
    }
}

/// Transposes elements as numbers of their size; false if they are not aligned as those must be.
fn turn<T: Number + bytemuck::Pod>(sides: Sides, from: &[u8], to: &mut [u8]) -> bool {
    match (bytemuck::try_cast_slice::<u8, T>(from), bytemuck::try_cast_slice_mut::<u8, T>(to)) {
        (Ok(from), Ok(to)) => {
            simd::transpose(simd::level(), sides, from, to);
            true
        }
        _ => false,
    }
}
