//! Compares the numbers of two weights, tile by tile.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};

use super::figure::{Figure, Kept};
use super::judge::{Judge, Status, settle_rows};
use super::piece::Piece;
use super::precision::{Precision, Rounding};
use super::side::{Chunk, Side, SideBuffers};
use crate::bounds::{Bounds, Candidates};
use crate::compare::{
    Coarse, Outside, PIECE, Place, ROUNDING, Statistics, Wide, measure, one_by_one, steps, steps_in,
};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::pipeline::{OrderedSum, Tiled, Tiling, announce_weight, chunks, held_at_once};
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
    found: Mutex<OrderedSum<Found>>,
    error: Mutex<Option<Error>>,
    failed: AtomicBool,
}

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
    kept: [Kept; 2],
    singles: [SideBuffers<f32>; 2],
    wide: [SideBuffers<Wide>; 2],
    bf16: [SideBuffers<bf16>; 2],
    f16: [SideBuffers<f16>; 2],
    bounds: [SideBuffers<Bounds>; 2],
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
    /// Compares two sides of the same shape.
    pub(super) fn new([a, b]: [Side<'m>; 2]) -> Result<Self> {
        let tiling = Tiling::of_pair(a.elements(), &a.weight, &b.weight);
        if tiling.tiles() > 0 {
            a.check_memory(&tiling.tile(0))?;
            b.check_memory(&tiling.tile(0))?;
        }
        let (precision, judge) = (Precision::of(a.stored, b.stored), Judge::of(a.stored, b.stored));
        Ok(Self::of(vec![a, b], tiling, precision, judge))
    }

    /// Takes the statistics of one side, if the other has the same bytes.
    pub(super) fn of_same(a: Side<'m>) -> Result<Self> {
        let tiling = Tiling::of_pair(a.elements(), &a.weight, &a.weight);
        if tiling.tiles() > 0 {
            a.check_memory(&tiling.tile(0))?;
        }
        let precision = Precision::of(a.stored, a.stored);
        Ok(Self::of(vec![a], tiling, precision, Judge::Exact))
    }

    fn of(sides: Vec<Side<'m>>, tiling: Tiling, precision: Precision, judge: Judge) -> Self {
        let bytes = sides.iter().map(|side| {
            let share = side.elements().min(side.stored.elements());
            share_of(side.stored.stored_bytes(), share, side.stored.elements())
        });
        Self {
            tiling,
            precision,
            judge,
            row: sides.iter().map(|side| side.view.row_len()).next().unwrap_or(1).max(1),
            stored_bytes: bytes.sum(),
            elements: sides.iter().map(Side::elements).max().unwrap_or(0),
            sides,
            possible: [(); 2].map(|()| AtomicBool::new(true)),
            most_steps_found: AtomicU64::new(0),
            largest: AtomicU64::new(0),
            found: Mutex::default(),
            error: Mutex::default(),
            failed: AtomicBool::new(false),
        }
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
        if let Some(error) = self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Found { mut stats, mut outside } = found.sum();
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
            let Found { mut stats, outside } = match self.precision.is_wide {
                true => self.compare_wide(buffers, &at)?,
                false => self.compare_singles(buffers, &at)?,
            };
            for index in 0..2 {
                if let Some(rounding) = self.precision.roundings[index] {
                    stats.unrounded[index] = stats.unrounded[index]
                        && !self.is_rounded_by_its_scheme(buffers, &at, rounding, index)?;
                    if stats.unrounded[index] {
                        self.possible[index].store(false, Ordering::Relaxed);
                    }
                }
            }
            all.plus(&Found { stats, outside });
        }
        Ok(all)
    }

    fn compare_singles(&self, buffers: &mut Buffers, at: &Chunk) -> Result<Found> {
        let Buffers { kept: [kept_a, kept_b], singles, bounds, .. } = buffers;
        let [buffers_a, buffers_b] = singles;
        let a = self.sides[0].read(at, buffers_a, kept_a)?;
        let b = match self.sides.get(1) {
            None => a,
            Some(side) => side.read(at, buffers_b, kept_b)?,
        };
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
            && !self.are_inside([a, b], &at.elements, &mut [&mut *kept_a, &mut *kept_b])?;
        let [bounds_a, bounds_b] = bounds;
        let bounds = match needs_bounds {
            true => [
                self.read_bounds(0, at, bounds_a, kept_a)?,
                self.read_bounds(1, at, bounds_b, kept_b)?,
            ],
            false => [&[][..]; 2],
        };
        let mut found = Found::default();
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
        values: [&[f32]; 2],
        area: &Range<u64>,
        kept: &mut [&mut Kept; 2],
    ) -> Result<bool> {
        let Judge::Original { bounded, rounded, .. } = self.judge else { return Ok(false) };
        let Some(side) = self.sides.get(bounded) else { return Ok(false) };
        let (stored, originals) = (values[bounded], values[1 - bounded]);
        let candidates = Candidates { stored, originals, share: rounded + ROUNDING };
        let outside = side.count_outside(area, candidates, kept[bounded])?;
        let whole = Piece { values, bounds: [&[]; 2], row: self.row, first: area.start };
        Ok(outside == Some(0) && !whole.has_lost_rows())
    }

    /// The bounds of a side, where they are needed.
    fn read_bounds<'s>(
        &self,
        side: usize,
        at: &Chunk,
        buffers: &'s mut SideBuffers<Bounds>,
        kept: &mut Kept,
    ) -> Result<&'s [Bounds]> {
        match self.sides.get(side).filter(|_| self.judge.needs_bounds(side)) {
            Some(side) => side.read(at, buffers, kept),
            None => Ok(&[]),
        }
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
        let Buffers { kept: [kept_a, kept_b], wide: [buffers_a, buffers_b], .. } = buffers;
        let a = self.sides[0].read(at, buffers_a, kept_a)?;
        let b = match self.sides.get(1) {
            None => a,
            Some(side) => side.read(at, buffers_b, kept_b)?,
        };
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
    fn is_rounded_by_its_scheme(
        &self,
        buffers: &mut Buffers,
        at: &Chunk,
        rounding: Rounding,
        index: usize,
    ) -> Result<bool> {
        let is_seen_as_it_is =
            self.sides.get(rounding.from).is_some_and(|side| !side.view.changes_values());
        if !rounding.by_scheme || !is_seen_as_it_is || !self.possible[index].load(Ordering::Relaxed)
        {
            return Ok(false);
        }
        Ok(self.in_type(buffers, at, rounding.to)?.1)
    }

    /// Decodes both sides to a type: the most steps between them, and whether they are the same.
    fn in_type(&self, buffers: &mut Buffers, at: &Chunk, dtype: DType) -> Result<(u64, bool)> {
        let Buffers { kept, singles, bf16, f16, .. } = buffers;
        match dtype {
            DType::BF16 => self.decoded(bf16, at, kept),
            DType::F16 => self.decoded(f16, at, kept),
            _ => self.decoded(singles, at, kept),
        }
    }

    fn decoded<T: Figure + Coarse>(
        &self,
        [buffers_a, buffers_b]: &mut [SideBuffers<T>; 2],
        at: &Chunk,
        [kept_a, kept_b]: &mut [Kept; 2],
    ) -> Result<(u64, bool)> {
        let a = self.sides[0].read(at, buffers_a, kept_a)?;
        let b = match self.sides.get(1) {
            None => a,
            Some(side) => side.read(at, buffers_b, kept_b)?,
        };
        Ok(steps_in(a, b))
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

/// The share of `bytes` that `part` of `whole` things take.
fn share_of(bytes: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

impl Tiled for Values<'_> {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        self.tiling.tiles()
    }

    fn is_sequential(&self) -> bool {
        self.sides.iter().any(|side| side.stored.is_sequential())
    }

    fn is_settled(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn announce(&self) {
        self.sides.iter().for_each(|side| announce_weight(side.stored));
    }

    fn tile(&self, buffers: &mut Buffers, index: u64) -> Result<u64> {
        let tile = self.tiling.tile(index);
        match self.compare(buffers, &tile) {
            Ok(here) => {
                let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                found.add(index, here, Found::plus);
            }
            Err(error) => {
                let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error);
                self.failed.store(true, Ordering::Relaxed);
            }
        }
        Ok(share_of(self.stored_bytes, tile.end - tile.start, self.elements))
    }
}
