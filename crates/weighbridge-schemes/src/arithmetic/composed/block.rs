//! Equally spaced pieces of a weight, and their positions in the output.

use std::ops::Range;

use smallvec::SmallVec;

use super::figure::Figure;
use super::length;
use crate::error::{Error, Result};
use crate::simd::Sides;
use crate::source::{Slab, Staged};

/// Shorter pieces are decoded together with the gaps between them, if these are not much longer.
const SHORT: u64 = 64;
const FEW: u64 = 8;

/// Pieces that are decoded before they are transposed.
pub(super) const PANEL: u64 = 64;

/// Equally long, equally spaced pieces of a weight.
#[derive(Debug)]
pub(super) struct Block {
    /// First element of the weight.
    pub first: u64,
    /// Elements per piece.
    pub piece: u64,
    /// Distance from one piece to the next.
    pub step: u64,
    /// Number of pieces.
    pub count: u64,
    /// Position of the first number in the output.
    pub at: usize,
    /// Arrangement of the numbers in the output.
    pub to: To,
}

/// Lists the byte ranges that some elements of a weight need.
type Needs<'a> = &'a mut dyn FnMut(Range<u64>, &mut Vec<Slab>);

/// Arrangement of the numbers of a block in the output.
#[derive(Debug)]
pub(super) enum To {
    /// Pieces stay contiguous, this far apart.
    Rows { every: usize },
    /// Pieces become columns of a matrix whose rows are `every` apart. `picks` selects numbers of
    /// each piece; `None` takes all.
    Columns { every: usize, picks: Option<Vec<usize>> },
}

impl Block {
    /// Returns the number of elements from the first to the last.
    pub(super) fn span(&self) -> u64 {
        self.count.saturating_sub(1) * self.step + self.piece
    }

    /// Whether the whole span is decoded at once.
    pub(super) fn is_together(&self) -> bool {
        let is_dense = self.step == self.piece || self.count == 1;
        is_dense || self.piece < SHORT && self.step <= FEW * self.piece
    }

    /// Whether the numbers are contiguous in the output, in their order.
    pub(super) fn is_straight(&self) -> bool {
        let every = match self.to {
            To::Rows { every } => every,
            To::Columns { .. } => return false,
        };
        self.count == 1 || self.step == self.piece && every == length(self.piece)
    }

    /// Groups its pieces into bands; `needs` lists the byte ranges of some elements.
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

    /// Places decoded pieces in the output. They are `pitch` apart, and the first is number `index`
    /// of the block.
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

/// Buffers for decoding.
#[derive(Default)]
pub(super) struct Buffers<T> {
    /// Numbers of several pieces.
    pub numbers: Vec<T>,
    /// The selected ones.
    pub picked: Vec<T>,
    /// Whole rows that are needed in part.
    pub rows: Vec<T>,
    /// Numbers before they are changed.
    pub singles: Vec<f32>,
    /// Byte ranges of a piece.
    pub slabs: Vec<Slab>,
}

/// Consecutive pieces of a block whose bytes are equally long and equally spaced too.
pub(super) struct Band {
    /// Number of pieces.
    pub pieces: u64,
    /// Byte ranges of all pieces.
    pub slabs: SmallVec<[Slab; 4]>,
    /// Byte ranges of the first piece.
    own: SmallVec<[Slab; 4]>,
}

impl Band {
    /// Creates a band of one piece.
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

    /// Returns the bytes of one piece of the band.
    pub(super) fn piece<'a>(&self, staged: &[Staged<'a>], index: u64) -> SmallVec<[Staged<'a>; 4]> {
        let one = |((staged, slab), own): ((&Staged<'a>, &Slab), &Slab)| {
            if slab.count == own.count { *staged } else { staged.piece(length(index)) }
        };
        staged.iter().zip(&self.slabs).zip(&self.own).map(one).collect()
    }
}

/// Calls `take` with the bytes and the number of each piece of some bands. Returns how many staged
/// slabs they used.
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

/// Returns the first staged slabs.
pub(super) fn taken<'s, 'a>(staged: &'s [Staged<'a>], count: usize) -> Result<&'s [Staged<'a>]> {
    staged.get(..count).ok_or_else(|| Error::usage("some required bytes are not staged"))
}
