//! Equally spaced pieces of a weight, and where their numbers go.

use std::ops::Range;

use smallvec::SmallVec;

use super::figure::Figure;
use super::length;
use crate::error::{Error, Result};
use crate::simd::Sides;
use crate::source::{Slab, Staged};

/// Shorter pieces are decoded with what lies between them, if that is not much more.
const SHORT: u64 = 64;
const FEW: u64 = 8;

/// Pieces that are decoded before they are transposed.
pub(super) const PANEL: u64 = 64;

/// Equally long, equally spaced pieces of a weight.
#[derive(Debug)]
pub(super) struct Block {
    /// The first element of the weight.
    pub first: u64,
    /// Elements of a piece.
    pub piece: u64,
    /// From one piece to the next.
    pub step: u64,
    /// How many pieces.
    pub count: u64,
    /// Where the first number goes.
    pub at: usize,
    /// Where the others go.
    pub to: To,
}

/// Lists what some elements of a weight need.
type Needs<'a> = &'a mut dyn FnMut(Range<u64>, &mut Vec<Slab>);

/// Where the numbers of a block go.
#[derive(Debug)]
pub(super) enum To {
    /// Pieces stay together, so far from each other.
    Rows { every: usize },
    /// Pieces become columns of a matrix with rows that are so far from each other. Of each piece
    /// these numbers are taken; without a list, all.
    Columns { every: usize, picks: Option<Vec<usize>> },
}

impl Block {
    /// From the first element of the weight to the last.
    pub(super) fn span(&self) -> u64 {
        self.count.saturating_sub(1) * self.step + self.piece
    }

    /// Whether all of the span is decoded at once.
    pub(super) fn is_together(&self) -> bool {
        let is_dense = self.step == self.piece || self.count == 1;
        is_dense || self.piece < SHORT && self.step <= FEW * self.piece
    }

    /// Whether the numbers go where they go without a gap, in their order.
    pub(super) fn is_straight(&self) -> bool {
        let every = match self.to {
            To::Rows { every } => every,
            To::Columns { .. } => return false,
        };
        self.count == 1 || self.step == self.piece && every == length(self.piece)
    }

    /// Its pieces in bands; `needs` says what some elements of the weight need.
    pub(super) fn bands(&self, needs: Needs<'_>, slabs: &mut Vec<Slab>) -> Vec<Band> {
        let mut bands: Vec<Band> = Vec::new();
        for index in 0..self.count {
            let start = self.first + index * self.step;
            slabs.clear();
            needs(start..start + self.piece, slabs);
            if !bands.last_mut().is_some_and(|band| band.add(slabs)) {
                bands.push(Band::new(slabs));
            }
        }
        bands
    }

    /// Puts decoded pieces where they go; they are `pitch` from each other, and the first is
    /// number `index` of the block.
    pub(super) fn place<T: Figure>(
        &self,
        numbers: &[T],
        pitch: usize,
        index: u64,
        picked: &mut Vec<T>,
        out: &mut [T],
    ) {
        let (piece, index) = (length(self.piece), length(index));
        match &self.to {
            To::Rows { every } => {
                let places = out[self.at + index * every..].chunks_mut(*every);
                for (place, numbers) in places.zip(numbers.chunks(pitch)) {
                    place[..piece].copy_from_slice(&numbers[..piece]);
                }
            }
            To::Columns { every, picks } => {
                let rows = numbers.len().div_ceil(pitch);
                let out = &mut out[self.at + index..];
                let Some(picks) = picks else {
                    let sides = Sides { rows, columns: piece, from: pitch, to: *every };
                    return T::transpose(sides, numbers, out);
                };
                picked.clear();
                for numbers in numbers.chunks(pitch) {
                    picked.extend(picks.iter().map(|&at| numbers[at]));
                }
                let columns = picks.len();
                let sides = Sides { rows, columns, from: columns, to: *every };
                T::transpose(sides, picked, out);
            }
        }
    }
}

/// Buffers of decoding.
#[derive(Default)]
pub(super) struct Buffers<T> {
    /// Numbers of several pieces.
    pub numbers: Vec<T>,
    /// Those of them that are wanted.
    pub picked: Vec<T>,
    /// Whole rows of which a part is wanted.
    pub rows: Vec<T>,
    /// Numbers before they are changed.
    pub singles: Vec<f32>,
    /// What is needed of a piece.
    pub slabs: Vec<Slab>,
}

/// Consecutive pieces of a block whose bytes are equally long, equally spaced pieces too.
pub(super) struct Band {
    /// How many pieces.
    pub pieces: u64,
    /// What all of them need.
    pub slabs: SmallVec<[Slab; 4]>,
    /// What the first of them needs.
    own: SmallVec<[Slab; 4]>,
}

impl Band {
    /// A band of one piece.
    pub(super) fn new(slabs: &[Slab]) -> Self {
        Self { pieces: 1, slabs: slabs.into(), own: slabs.into() }
    }

    /// Adds a piece, if its bytes come next.
    pub(super) fn add(&mut self, slabs: &[Slab]) -> bool {
        let step = |((all, own), slab): ((&Slab, &Slab), &Slab)| {
            let delta = slab.offset.checked_sub(own.offset)?;
            let is_alike = Slab { offset: own.offset, ..*slab } == *own;
            let stride = match (self.pieces, delta) {
                // All pieces share it.
                (_, 0) => 0,
                (1, delta) => delta,
                _ => all.stride,
            };
            let is_next = match stride {
                0 => all.count == own.count,
                _ => own.count == 1 && stride >= own.row_bytes && delta == self.pieces * stride,
            };
            // A slab that all pieces so far share stays shared.
            let is_shared = self.pieces > 1 && all.count == own.count;
            (is_alike && is_next && !(is_shared && stride > 0)).then_some(stride)
        };
        if self.own.len() != slabs.len() {
            return false;
        }
        let steps = self.slabs.iter().zip(&self.own).zip(slabs).map(step);
        let Some(steps) = steps.collect::<Option<SmallVec<[u64; 4]>>>() else { return false };
        self.pieces += 1;
        for (slab, stride) in self.slabs.iter_mut().zip(steps).filter(|(_, stride)| *stride > 0) {
            (slab.count, slab.stride) = (self.pieces, stride);
        }
        true
    }

    /// The bytes of a piece of the band, out of those of all.
    pub(super) fn piece<'a>(&self, staged: &[Staged<'a>], index: u64) -> SmallVec<[Staged<'a>; 4]> {
        let one = |((staged, slab), own): ((&Staged<'a>, &Slab), &Slab)| {
            if slab.count == own.count { *staged } else { staged.piece(length(index)) }
        };
        staged.iter().zip(&self.slabs).zip(&self.own).map(one).collect()
    }
}

/// Calls `take` with the bytes of each piece of some bands, and its number; how many of the staged
/// slabs were theirs.
pub(super) fn each_piece(
    bands: &[Band],
    staged: &[Staged<'_>],
    mut take: impl FnMut(&[Staged<'_>], u64) -> Result<()>,
) -> Result<usize> {
    let (mut used, mut index) = (0, 0);
    for band in bands {
        let own = taken(staged.get(used..).unwrap_or_default(), band.slabs.len())?;
        used += own.len();
        for at in 0..band.pieces {
            take(&band.piece(own, at), index)?;
            index += 1;
        }
    }
    Ok(used)
}

/// The first staged slabs.
pub(super) fn taken<'s, 'a>(staged: &'s [Staged<'a>], count: usize) -> Result<&'s [Staged<'a>]> {
    staged.get(..count).ok_or_else(|| Error::usage("some required bytes are not staged"))
}
