//! Elements that do not lie in the order they are wanted in.
//!
//! Consecutive elements of a tensor, in row-major order, are a few *regions*: a range of each
//! dimension. A region is read in the order of the file and written in row-major order, one buffer
//! of stored bytes at a time:
//!
//! ```text
//! dimensions by stored step    1          R              R * C
//!                              [ one read ][ several reads ][ one buffer after another ]
//! ```
//!
//! One read takes in as many dimensions as leave no large gaps. Those that follow take a read for
//! each index, into the same buffer while it has space. Within a buffer, squares of two dimensions
//! are transposed at a time: the dimension with the smallest step in the buffer, and the one with
//! the smallest step in the output. Dimensions whose step is zero (expanded tensors) are read once
//! and written many times.

use std::cell::Cell;
use std::ops::Range;

use smallvec::SmallVec;

use super::strides::{Side, copy, each_index};
use crate::error::Result;
use crate::shape::element_count;

/// What is read at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Unwanted bytes that are read along, if that saves a read.
    gap: u64,
    /// Bytes of the buffer.
    buffer: usize,
}

/// A gap costs about as much as the read that it saves; the buffer stays in the second cache.
pub(super) const NEAR: Reach = Reach { gap: 4 << 10, buffer: 256 << 10 };

/// Over a network, a read costs as much as a megabyte.
pub(super) const FAR: Reach = Reach { gap: 1 << 20, buffer: 8 << 20 };

thread_local! {
    /// The buffer, kept from one tile to the next.
    static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A dimension of what is copied: from where it is stored, which may be a large file.
pub(super) type Dimension = Side<u64>;

pub(super) type Dimensions = SmallVec<[Dimension; 6]>;

/// The elements in a range of each dimension.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Region {
    /// Where the first element is stored.
    pub(super) base: u64,
    /// Where it is written, counted from the first element that is wanted.
    pub(super) at: usize,
    /// Where the last in the file's order is stored.
    pub(super) last: u64,
    pub(super) sides: Dimensions,
}

/// The regions that make up some elements of a tensor; `None` if a number does not fit.
pub(super) fn regions(
    shape: &[u64],
    strides: &[u64],
    wanted: &Range<u64>,
) -> Option<SmallVec<[Region; 4]>> {
    let mut regions = SmallVec::new();
    let all = element_count(shape)?;
    if shape.is_empty() && !wanted.is_empty() {
        regions.push(Region { base: 0, at: 0, last: 0, sides: SmallVec::new() });
        return Some(regions);
    }
    let mut at = wanted.start;
    while at < wanted.end {
        // The outermost dimension of which whole indexes are wanted from here on.
        let mut inner = all;
        let (mut outer, mut base) = (0, 0u64);
        let mut place = at;
        for (dimension, (&side, &stride)) in shape.iter().zip(strides).enumerate() {
            inner /= side;
            let index = place / inner;
            place %= inner;
            base = base.checked_add(index.checked_mul(stride)?)?;
            outer = dimension;
            if place == 0 && inner <= wanted.end - at {
                break;
            }
        }
        let index = at / inner % shape[outer];
        let count = (shape[outer] - index).min((wanted.end - at) / inner);
        let mut region = Region {
            base,
            at: usize::try_from(at - wanted.start).ok()?,
            last: base.checked_add((count - 1).checked_mul(strides[outer])?)?,
            sides: SmallVec::new(),
        };
        region.push(count, strides[outer], inner)?;
        let mut step = inner;
        for (&side, &stride) in shape.iter().zip(strides).skip(outer + 1) {
            step /= side;
            region.last = region.last.checked_add((side - 1).checked_mul(stride)?)?;
            region.push(side, stride, step)?;
        }
        at += count * inner;
        regions.push(region);
    }
    Some(regions)
}

impl Region {
    /// Copies the elements out of memory that holds all of the storage.
    pub(super) fn copy(&self, unit: usize, stored: &[u8], out: &mut [u8]) {
        // What is in memory has places that fit.
        let fits = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let side =
            |side: &Dimension| Side { count: side.count, from: fits(side.from), to: side.to };
        let sides: SmallVec<[Side; 8]> = self.sides.iter().map(side).collect();
        copy(&sides, unit, &stored[fits(self.base) * unit..], &mut out[self.at * unit..]);
    }

    /// Adds a dimension inside those that are there.
    fn push(&mut self, count: u64, from: u64, to: u64) -> Option<()> {
        let (steps, count, to) = (count, usize::try_from(count).ok()?, usize::try_from(to).ok()?);
        match self.sides.last_mut() {
            _ if count == 1 => {}
            // The one before goes on where this one ends.
            Some(outer) if steps.checked_mul(from) == Some(outer.from) => {
                *outer = Dimension { count: outer.count.checked_mul(count)?, from, to };
            }
            _ => self.sides.push(Dimension { count, from, to }),
        }
        Some(())
    }
}

/// Reads some of a tensor's stored bytes, from an offset that counts from the first of them.
type Read<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> Result<()>;

/// Copies a region out of stored bytes.
pub(super) fn gather(
    reach: Reach,
    region: &Region,
    unit: usize,
    out: &mut [u8],
    read: Read<'_>,
) -> Result<()> {
    let mut buffer = KEPT.take();
    let plan = Plan::of(reach, &region.sides, unit);
    buffer.resize(buffer.len().max(plan.bytes), 0);
    let done = plan.run(region, &mut buffer, out, read);
    KEPT.set(buffer);
    done
}

/// How a region is read.
#[derive(Debug)]
struct Plan {
    unit: usize,
    /// Bytes of the buffer it takes.
    bytes: usize,
    /// Dimensions of the buffer, the repeated ones last; the cut one is not among them.
    inside: SmallVec<[Placed; 6]>,
    /// The dimension of which the buffer holds some indexes.
    cut: Placed,
    /// How many.
    step: usize,
    /// Dimensions outside, the largest step first.
    outside: Dimensions,
    /// Elements of one read, without the cut dimension.
    stretch: u64,
}

/// A dimension with its step in the buffer; `apart` says that each index takes reads of its own.
#[derive(Clone, Copy, Debug)]
struct Placed {
    side: Dimension,
    pitch: usize,
    apart: bool,
}

impl Plan {
    fn of(reach: Reach, sides: &[Dimension], unit: usize) -> Self {
        let (mut stored, repeated): (Dimensions, Dimensions) =
            sides.iter().copied().partition(|side| side.from > 0);
        stored.sort_by_key(|side| side.from);
        let buffer = (reach.buffer / unit).max(1);
        let alone = Dimension { count: 1, from: 1, to: 1 };
        let mut plan = Self {
            unit,
            bytes: 0,
            inside: SmallVec::new(),
            cut: Placed { side: alone, pitch: 1, apart: false },
            step: 1,
            outside: SmallVec::new(),
            stretch: 1,
        };
        // Elements of the buffer that are taken.
        let mut taken = 1usize;
        let mut rest = stored.iter();
        for &side in rest.by_ref() {
            let gap = side.from.saturating_sub(plan.stretch).saturating_mul(unit as u64);
            let apart = plan.inside.last().is_some_and(|last| last.apart) || gap > reach.gap;
            let pitch = if apart { taken } else { usize::try_from(side.from).unwrap_or(buffer) };
            let most = if apart { buffer / taken } else { (buffer - taken) / pitch + 1 };
            let placed = Placed { side, pitch, apart };
            if most < side.count {
                (plan.cut, plan.step) = (placed, most.max(1));
                taken = plan.cut.end(plan.step, taken);
                break;
            }
            taken = placed.end(side.count, taken);
            if !apart {
                plan.stretch = taken as u64;
            }
            plan.inside.push(placed);
        }
        plan.outside.extend(rest.rev().copied());
        let twice = |&side: &Dimension| Placed { side, pitch: 0, apart: false };
        plan.inside.extend(repeated.iter().map(twice));
        plan.bytes = taken * unit;
        plan
    }

    fn run(
        &self,
        region: &Region,
        buffer: &mut [u8],
        out: &mut [u8],
        read: Read<'_>,
    ) -> Result<()> {
        let outside: SmallVec<[usize; 6]> = self.outside.iter().map(|side| side.count).collect();
        each_index(&outside, |index| {
            let mut base = region.base;
            let mut at = region.at;
            for (&index, side) in index.iter().zip(&self.outside) {
                base += index as u64 * side.from;
                at += index * side.to;
            }
            for first in (0..self.cut.side.count).step_by(self.step) {
                let count = self.step.min(self.cut.side.count - first);
                let base = base + first as u64 * self.cut.side.from;
                let at = at + first * self.cut.side.to;
                self.fill(base, count, buffer, read)?;
                let cut = Placed { side: Dimension { count, ..self.cut.side }, ..self.cut };
                let all = self.inside.iter().chain([&cut]);
                let sides: SmallVec<[Side; 8]> = all.map(Placed::side).collect();
                copy(&sides, self.unit, buffer, &mut out[at * self.unit..]);
            }
            Ok(())
        })
    }

    /// Fills the buffer; `count` is how many indexes of the cut dimension it holds.
    fn fill(&self, base: u64, count: usize, buffer: &mut [u8], read: Read<'_>) -> Result<()> {
        let mut stretch = usize::try_from(self.stretch).unwrap_or(usize::MAX);
        let mut apart: SmallVec<[Placed; 6]> =
            self.inside.iter().filter(|placed| placed.apart).copied().collect();
        let cut = Placed { side: Dimension { count, ..self.cut.side }, ..self.cut };
        if cut.apart {
            apart.push(cut);
        } else {
            stretch = cut.end(count, stretch);
        }
        // In the order of the file.
        apart.reverse();
        let counts: SmallVec<[usize; 6]> = apart.iter().map(|placed| placed.side.count).collect();
        each_index(&counts, |index| {
            let (mut from, mut to) = (base, 0);
            for (&index, placed) in index.iter().zip(&apart) {
                from += index as u64 * placed.side.from;
                to += index * placed.pitch;
            }
            let bytes = &mut buffer[to * self.unit..(to + stretch) * self.unit];
            read(from * self.unit as u64, bytes)
        })
    }
}

impl Placed {
    /// Elements that some indexes take, if one takes so many.
    fn end(&self, count: usize, one: usize) -> usize {
        (count - 1) * self.pitch + one
    }

    fn side(&self) -> Side {
        Side { count: self.side.count, from: self.pitch, to: self.side.to }
    }
}

#[cfg(test)]
mod tests;
