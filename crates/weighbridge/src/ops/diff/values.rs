//! Compares the numbers of two weights, tile by tile.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use half::{bf16, f16};

use super::figure::{Chunk, Figure, Kept};
use super::judge::{Judge, Status, settle_rows};
use super::piece::Piece;
use super::precision::{Precision, Rounding};
use super::side::{Side, SideBuffers};
use crate::bounds::{Bounds, Candidates};
use crate::compare::{
    Outside, PIECE, Place, ROUNDING, Statistics, Wide, measure, one_by_one, steps, steps_in,
};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Weight;
use crate::pipeline::{OrderedSum, Tiled, Tiling, chunks, held_at_once, share_of};
use crate::simd;

/// Two weights whose numbers are compared.
pub(super) struct Values<'m> {
    /// Both sides; only one if the other has the same bytes.
    sides: Vec<Side<'m>>,
    tiling: Tiling,
    precision: Precision,
    judge: Judge,
    /// Elements of a row in the view that both sides share.
    row: u64,
    stored_bytes: u64,
    elements: u64,
    /// Whether each rounding may still explain all differences so far.
    possible: [AtomicBool; 2],
    /// The most steps found so far.
    most_steps_found: AtomicU64,
    /// The largest difference found so far, as bits, which sort as the differences do.
    largest: AtomicU64,
    found: OrderedSum<Found>,
    /// Why the comparison failed.
    error: OnceLock<Error>,
}

/// Something of both sides.
type Two<T> = [T; 2];

/// What was found in some tiles.
#[derive(Clone, Debug, Default)]
struct Found {
    stats: Statistics,
    outside: Outside,
}

impl Found {
    fn plus(&mut self, other: &Self) {
        self.stats.plus(&other.stats);
        self.outside.plus(&other.outside);
    }
}

/// What comparing two weights has found.
pub(super) struct Outcome {
    pub(super) stats: Statistics,
    pub(super) outside: Outside,
    pub(super) precision: Precision,
    pub(super) judge: Judge,
    /// Rows of the view that both sides share.
    pub(super) rows: u64,
    /// Whether columns may have factors of their own that the verdict did not see.
    pub(super) may_be_rescaled: bool,
}

impl Outcome {
    /// The status that follows from what was found.
    pub(super) fn status(&self) -> Status {
        let Self { stats, outside, judge, rows, .. } = self;
        match () {
            () if stats.identical == stats.elements => Status::Identical,
            () if stats.unlike > 0 => Status::Changed,
            () if stats.unrounded.contains(&false) => Status::EqualAfterRounding,
            () => judge.status(outside, stats, *rows),
        }
    }
}

/// What a worker keeps of both sides from one tile to the next.
#[derive(Default)]
pub(super) struct Buffers {
    kept: Two<Kept>,
    singles: Two<SideBuffers<f32>>,
    wide: Two<SideBuffers<Wide>>,
    bf16: Two<SideBuffers<bf16>>,
    f16: Two<SideBuffers<f16>>,
    bounds: Two<SideBuffers<Bounds>>,
}

impl Buffers {
    fn clear(&mut self) {
        self.kept.iter_mut().for_each(Kept::clear);
        self.singles.iter_mut().for_each(SideBuffers::clear);
        self.wide.iter_mut().for_each(SideBuffers::clear);
        self.bf16.iter_mut().for_each(SideBuffers::clear);
        self.f16.iter_mut().for_each(SideBuffers::clear);
        self.bounds.iter_mut().for_each(SideBuffers::clear);
    }
}

impl<'m> Values<'m> {
    /// Compares two sides of the same shape; without `b`, the other side has the bytes of `a`.
    pub(super) fn new(a: Side<'m>, b: Option<Side<'m>>) -> Result<Self> {
        let other = b.as_ref().unwrap_or(&a);
        let tiling = Tiling::of_pair(a.elements(), &a.weight, &other.weight);
        let precision = Precision::of(a.stored, other.stored);
        let (judge, row) = (Judge::of(a.stored, other.stored), a.view.row_len().max(1));
        let sides: Vec<Side<'m>> = std::iter::once(a).chain(b).collect();
        if tiling.tiles() > 0 {
            sides.iter().try_for_each(|side| side.check_memory(&tiling.tile(0)))?;
        }
        let bytes = sides.iter().map(|side| {
            let share = side.elements().min(side.stored.elements());
            share_of(side.stored.stored_bytes(), share, side.stored.elements())
        });
        Ok(Self {
            tiling,
            precision,
            judge,
            row,
            stored_bytes: bytes.sum(),
            elements: sides.iter().map(Side::elements).max().unwrap_or(0),
            sides,
            possible: [(); 2].map(|()| AtomicBool::new(true)),
            most_steps_found: AtomicU64::new(0),
            largest: AtomicU64::new(0),
            found: OrderedSum::default(),
            error: OnceLock::new(),
        })
    }

    /// Bytes that have to be held at once while it is read over a network, and its name.
    pub(super) fn held(&self) -> (u64, &str) {
        let sides = || self.sides.iter().map(|side| side.stored);
        (sides().map(held_at_once).sum(), sides().next().map_or("", |weight| weight.name()))
    }

    /// Bytes that a worker needs for a tile.
    pub(super) fn needed_bytes(&self) -> Result<u64> {
        if self.tiling.tiles() == 0 {
            return Ok(0);
        }
        let (tile, width) = (self.tiling.tile(0), if self.precision.is_wide { 16 } else { 4 });
        let held = |(index, side): (usize, &Side<'_>)| {
            // A second copy of the numbers, and their bounds.
            let bounds = if self.judge.needs_bounds(index) { 12 } else { 0 };
            side.needed_bytes(&tile, width + bounds)
        };
        self.sides.iter().enumerate().map(held).sum()
    }

    /// What was found, or why the comparison failed.
    pub(super) fn outcome(self) -> Result<Outcome> {
        self.error.into_inner().map_or(Ok(()), Err)?;
        let Found { mut stats, mut outside } = self.found.sum();
        for (unrounded, rounding) in stats.unrounded.iter_mut().zip(self.precision.roundings) {
            *unrounded |= rounding.is_none();
        }
        let rows = self.elements.div_ceil(self.row);
        let may_be_rescaled = settle_rows(&self.judge, &mut outside, rows, self.elements);
        let (precision, judge) = (self.precision, self.judge);
        Ok(Outcome { stats, outside, precision, judge, rows, may_be_rescaled })
    }

    fn compare(&self, buffers: &mut Buffers, tile: &Range<u64>) -> Result<Found> {
        buffers.clear();
        let mut all = Found::default();
        for elements in chunks(tile) {
            let at = Chunk { tile: tile.clone(), elements };
            let Found { mut stats, outside } = if self.precision.is_wide {
                self.compare_wide(buffers, &at)?
            } else {
                self.compare_singles(buffers, &at)?
            };
            for index in 0..2 {
                if let Some(rounding) = self.precision.roundings[index] {
                    let may_be = &self.possible[index];
                    stats.unrounded[index] = stats.unrounded[index]
                        && !(may_be.load(Ordering::Relaxed)
                            && self.is_rounded_by(rounding, &at, buffers)?);
                    may_be.fetch_and(!stats.unrounded[index], Ordering::Relaxed);
                }
            }
            all.plus(&Found { stats, outside });
        }
        Ok(all)
    }

    fn compare_singles(&self, buffers: &mut Buffers, at: &Chunk) -> Result<Found> {
        let Buffers { kept, singles, bounds, .. } = buffers;
        let [a, b] = self.both(at, singles, kept)?;
        let (level, first) = (simd::level(), at.elements.start);
        let pieces =
            || (0..).map(|index| index * PIECE as u64).zip(a.chunks(PIECE).zip(b.chunks(PIECE)));
        let mut measured = Vec::with_capacity(a.len().div_ceil(PIECE));
        for (_, (a, b)) in pieces() {
            let known = f64::from_bits(self.largest.load(Ordering::Relaxed));
            let (mut piece, apart) = measure(level, a, b, known);
            if let Some((value, _)) = piece.largest {
                self.largest.fetch_max(value.to_bits(), Ordering::Relaxed);
            }
            let is_same = piece.identical == piece.elements;
            if !is_same {
                self.look_at_steps(&mut piece, a, b, apart);
            }
            let mut unrounded = piece.unrounded.iter().zip(self.precision.roundings);
            let is_rounded = unrounded.any(|(other, known)| !other && known.is_some());
            measured.push((piece, is_same || is_rounded && self.judge.takes_roundings()));
        }
        // What is the same, rounded or not, needs no bounds; and none are made to find that nothing
        // lies outside them.
        let needs_bounds = measured.iter().any(|(_, is_same)| !is_same)
            && !self.are_inside([a, b], &at.elements, kept)?;
        let mut here = [&[][..]; 2];
        for (index, (side, buffers)) in self.sides.iter().zip(bounds).enumerate() {
            if needs_bounds && self.judge.needs_bounds(index) {
                here[index] = side.read(at, buffers, &mut kept[index])?;
            }
        }
        let (bounds, mut found) = (here, Found::default());
        for ((before, (a, b)), (piece, is_same)) in pieces().zip(measured) {
            if !is_same {
                let here = bounds.map(|bounds| part(bounds, before, a.len()));
                let looked =
                    Piece { values: [a, b], bounds: here, row: self.row, first: first + before };
                found.outside.plus(&looked.look(&self.judge, &self.precision));
            }
            found.stats.plus(&placed(piece, first + before));
        }
        Ok(found)
    }

    /// Whether all originals are known to lie within their bounds, and no row was lost.
    fn are_inside(
        &self,
        values: Two<&[f32]>,
        at: &Range<u64>,
        kept: &mut Two<Kept>,
    ) -> Result<bool> {
        let Judge::Original { bounded, rounded, .. } = self.judge else { return Ok(false) };
        // Where a tile is decoded as a whole, that is asked of the bounds.
        let side = self.sides.get(bounded).filter(|side| side.unit.is_none());
        let Some(side) = side else { return Ok(false) };
        let (stored, originals) = (values[bounded], values[1 - bounded]);
        let candidates = Candidates { stored, originals, share: rounded + ROUNDING };
        let Kept { scratch, readahead, .. } = &mut kept[bounded];
        let outside = side.weight.count_outside(at.clone(), candidates, (scratch, readahead))?;
        let whole = Piece { values, bounds: [&[]; 2], row: self.row, first: at.start };
        Ok(outside == Some(0) && !whole.has_lost_rows())
    }

    /// The numbers of both sides; twice those of the one, if there is one.
    fn both<'s, T: Figure>(
        &self,
        at: &Chunk,
        [buffers_a, buffers_b]: &'s mut Two<SideBuffers<T>>,
        [kept_a, kept_b]: &mut Two<Kept>,
    ) -> Result<Two<&'s [T]>> {
        let a = self.sides[0].read(at, buffers_a, kept_a)?;
        let b = self.sides.get(1).map(|side| side.read(at, buffers_b, kept_b)).transpose()?;
        Ok([a, b.unwrap_or(a)])
    }

    /// Counts steps and checks roundings in f32, if that can still change the result.
    fn look_at_steps(&self, piece: &mut Statistics, a: &[f32], b: &[f32], apart: u32) {
        let in_type = |dtype| match dtype {
            DType::BF16 => steps::<bf16>(simd::level(), a, b),
            DType::F16 => steps::<f16>(simd::level(), a, b),
            _ => steps::<f32>(simd::level(), a, b),
        };
        let can_be_more = |dtype: &DType| {
            apart > 0 && most_steps(*dtype, apart) > self.most_steps_found.load(Ordering::Relaxed)
        };
        let counted = self.precision.steps.filter(can_be_more).map(|dtype| (dtype, in_type(dtype)));
        if let Some((_, (steps, _))) = counted {
            piece.ulps = steps;
            self.most_steps_found.fetch_max(steps, Ordering::Relaxed);
        }
        for (index, rounding) in self.precision.roundings.into_iter().enumerate() {
            let Some(Rounding { to, .. }) = rounding else { continue };
            piece.unrounded[index] = !match counted {
                Some((dtype, (_, same))) if dtype == to => same,
                _ if self.possible[index].load(Ordering::Relaxed) => in_type(to).1,
                _ => false,
            };
        }
    }

    fn compare_wide(&self, buffers: &mut Buffers, at: &Chunk) -> Result<Found> {
        let [a, b] = self.both(at, &mut buffers.wide, &mut buffers.kept)?;
        let (mut stats, mut outside) = (Statistics::default(), Outside::default());
        let first = at.elements.start;
        for (at, (a, b)) in (0..).zip(a.iter().zip(b)).filter(|(_, (a, b))| !a.is_same(**b)) {
            let (index, a, b) = (first + at, a.value(), b.value());
            if !self.precision.is_rounded_wide(a, b) {
                outside.add(Place { index, a, b, times: None }, index / self.row);
            }
        }
        for (index, (a, b)) in (0..).zip(a.chunks(PIECE).zip(b.chunks(PIECE))) {
            let pairs = a.iter().zip(b);
            let looked_at = pairs.map(|(a, b)| (a.value(), b.value(), a.is_same(*b), a.minus(*b)));
            stats.plus(&placed(one_by_one(looked_at), first + index * PIECE as u64));
        }
        if self.precision.steps == Some(DType::F64) {
            stats.ulps =
                a.iter().zip(b).map(|(a, b)| double_steps(a.upper, b.upper)).max().unwrap_or(0);
        } else if let (Some(dtype), Some(_)) = (self.precision.steps, self.sides.get(1)) {
            stats.ulps = self.in_type(buffers, at, dtype)?.0;
        }
        if self.judge != Judge::Exact {
            // The steps of what is stored with loss are far longer than those of f32.
            outside = self.compare_singles(buffers, at)?.outside;
        }
        // If not all is identical, roundings are checked in the type itself.
        stats.unrounded = [stats.identical != stats.elements; 2];
        Ok(Found { stats, outside })
    }

    /// Whether a side, decoded to the type of the other side, equals it exactly.
    fn is_rounded_by(&self, rounding: Rounding, at: &Chunk, buffers: &mut Buffers) -> Result<bool> {
        let side = self.sides.get(rounding.from).filter(|_| rounding.by_scheme);
        let is_seen_as_it_is = side.is_some_and(|side| !side.view.changes_values());
        Ok(is_seen_as_it_is && self.in_type(buffers, at, rounding.to)?.1)
    }

    /// Decodes both sides to a type: the most steps between them, and whether they are the same.
    fn in_type(&self, buffers: &mut Buffers, at: &Chunk, dtype: DType) -> Result<(u64, bool)> {
        let Buffers { kept, singles, bf16, f16, .. } = buffers;
        match dtype {
            DType::BF16 => self.both(at, bf16, kept).map(|[a, b]| steps_in(a, b)),
            DType::F16 => self.both(at, f16, kept).map(|[a, b]| steps_in(a, b)),
            _ => self.both(at, singles, kept).map(|[a, b]| steps_in(a, b)),
        }
    }
}

/// The bounds of a piece of an area.
fn part(bounds: &[Bounds], before: u64, len: usize) -> &[Bounds] {
    let start = usize::try_from(before).unwrap_or(usize::MAX);
    bounds.get(start..start.saturating_add(len)).unwrap_or_default()
}

/// Statistics with positions counted from the start of the whole view.
fn placed(mut stats: Statistics, first: u64) -> Statistics {
    stats.largest = stats.largest.map(|(value, at)| (value, first + at));
    stats.first_unlike = stats.first_unlike.map(|at| first + at);
    stats
}

/// An upper bound of the steps between two numbers in a type, from their steps in f32: the steps
/// of a narrower type are longer by the bits it lacks, and both numbers are rounded.
fn most_steps(dtype: DType, apart: u32) -> u64 {
    let lacking = match dtype {
        DType::BF16 => 16,
        DType::F16 => 13,
        _ => 0,
    };
    u64::from(apart >> lacking) + 3
}

fn double_steps(a: f64, b: f64) -> u64 {
    let place = |x: f64| {
        let bits = x.to_bits().cast_signed();
        let (sign, magnitude) = (bits >> 63, bits & i64::MAX);
        (magnitude ^ sign) - sign
    };
    if a.is_finite() && b.is_finite() { place(a).abs_diff(place(b)) } else { 0 }
}

impl Tiled for Values<'_> {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        self.tiling.tiles()
    }

    fn weights(&self) -> Vec<&Weight> {
        self.sides.iter().map(|side| side.stored).collect()
    }

    fn is_settled(&self) -> bool {
        self.error.get().is_some()
    }

    fn tile(&self, buffers: &mut Buffers, index: u64) -> Result<u64> {
        let tile = self.tiling.tile(index);
        match self.compare(buffers, &tile) {
            Ok(here) => self.found.add(index, here, Found::plus),
            Err(error) => drop(self.error.set(error)),
        }
        Ok(share_of(self.stored_bytes, tile.end - tile.start, self.elements))
    }
}
