//! Encoding of the types whose blocks are magnitudes from a grid, signs and small scales: IQ2 and
//! IQ3.
//!
//! A block of 256 has parts with a scale each. How much a number matters is its importance times
//! the root of its square plus the block's variance; without importance a type has its own rule.
//! Where seven signs are stored for eight numbers, an odd number of signs becomes even by that of
//! the number that matters least: its magnitude is negative from then on.

mod lanes;
mod search;

use std::sync::LazyLock;

pub(super) use self::search::{Again, Rules};
use self::search::{Found, Part, Way, largest};
use super::grids::cells::Cells;
use super::grids::picking::InLanes;
#[cfg(test)]
use super::grids::picking::Plain;
use super::kernel::Rows;
use super::rounding::half_bytes;
use super::search::{low_byte, nearest};
use crate::simd::Isa;
use crate::simd::vector::LANES;

/// What the types differ in.
pub(super) struct Kind<const D: usize> {
    pub(super) cells: &'static LazyLock<Cells<D>>,
    pub(super) rules: Rules,
    /// Whether the number of signs among eight numbers is made even.
    pub(super) even_signs: bool,
    /// Parts whose largest magnitude is below this are zeros.
    pub(super) least: f32,
    /// Whether the search starts from a scale that is fitted.
    pub(super) fits_first: bool,
    /// The factor of the variance.
    pub(super) variance: f32,
    /// Without importance a number matters by its square plus so much of the variance.
    pub(super) plain_weight: f32,
    /// The factor that the block's scale is stored with.
    pub(super) stored: f32,
}

/// An encoded block.
pub(super) struct Encoded {
    /// The scale, half precision.
    pub(super) d: [u8; 2],
    /// Whether all parts have the scale 0.
    pub(super) is_zero: bool,
    /// As many as there are.
    pub(super) parts: [EncodedPart; 16],
}

/// The numbers of one scale.
#[derive(Clone, Copy, Default)]
pub(super) struct EncodedPart {
    /// Whether nothing was searched, since its numbers are too small.
    pub(super) is_zero: bool,
    /// Indices of points of the grid, as many as there are.
    pub(super) points: [u16; 8],
    /// Signs of eight numbers each, as many as there are.
    pub(super) signs: [u8; 4],
    /// Four bits.
    pub(super) scale: u8,
    exact_scale: f32,
}

/// A block's numbers, ready to be searched.
struct Prepared {
    magnitudes: [f32; 256],
    weights: [f32; 256],
    roots: [f32; 256],
    signs: [u8; 32],
}

impl<const D: usize> Kind<D> {
    /// Encodes each block of a row, and gives it to `write` with its index: the definition.
    #[cfg(test)]
    pub(super) fn define<const N: usize>(
        &self,
        row: &[f32],
        importance: Option<&[f32]>,
        write: impl FnMut(usize, &Encoded),
    ) {
        self.encode_row::<N>(row, importance, Plain, write);
    }

    /// Encodes each block of some rows with a set of instructions.
    #[inline(always)]
    pub(super) fn encode<I: Isa, const N: usize, const BYTES: usize>(
        &self,
        isa: I,
        rows: Rows<'_>,
        out: &mut [[u8; BYTES]],
        write: impl Fn(&Encoded, &mut [u8; BYTES]),
    ) {
        for (row, out) in rows.each().zip(out.chunks_exact_mut(rows.columns / 256)) {
            self.encode_row::<N>(row, rows.importance, InLanes(isa), |index, of| {
                write(of, &mut out[index]);
            });
        }
    }

    /// Encodes each block of a row, and gives it to `write` with its index.
    #[inline(always)]
    fn encode_row<const N: usize>(
        &self,
        row: &[f32],
        importance: Option<&[f32]>,
        way: impl Way,
        mut write: impl FnMut(usize, &Encoded),
    ) {
        for (index, values) in row.as_chunks::<256>().0.iter().enumerate() {
            let importance = importance.map(|all| &all.as_chunks::<256>().0[index]);
            let prepared = self.prepare(values, importance);
            let mut encoded =
                Encoded { d: [0; 2], is_zero: true, parts: [EncodedPart::default(); 16] };
            let most = largest_of_parts::<N>(&prepared.magnitudes);
            let mut starts = most.map(|most| (most / largest::<D>(), most));
            if self.fits_first {
                let fitted = way.first_scales(&prepared.magnitudes, &prepared.weights);
                starts[..LANES].copy_from_slice(&fitted.map(|scale| (scale, scale * 3.0)));
            }
            for (index, part) in encoded.parts.iter_mut().take(256 / N).enumerate() {
                part.is_zero = most[index] < self.least || starts[index].1 <= 0.0;
                if !part.is_zero {
                    self.encode_part::<N>(&prepared, index, starts[index], way, part);
                }
            }
            self.store_scales(&mut encoded, 256 / N);
            write(index, &encoded);
        }
    }

    /// Weights, signs and magnitudes.
    #[inline(always)]
    fn prepare(&self, values: &[f32; 256], importance: Option<&[f32; 256]>) -> Prepared {
        let squares = values.iter().fold(0.0, |sum, value| sum + value * value);
        let variance = self.variance * squares / 256.0;
        let mut weights = [0.0; 256];
        match importance {
            Some(importance) => {
                for index in 0..256 {
                    let value = values[index];
                    weights[index] = importance[index] * (variance + value * value).sqrt();
                }
            }
            None => {
                for (weight, &value) in weights.iter_mut().zip(values) {
                    *weight = self.plain_weight * variance + value * value;
                }
            }
        }
        let mut made = Prepared { magnitudes: *values, weights, roots: weights, signs: [0; 32] };
        made.roots.iter_mut().for_each(|root| *root = root.sqrt());
        for magnitude in &mut made.magnitudes {
            *magnitude = if *magnitude >= 0.0 { *magnitude } else { -*magnitude };
        }
        for (group, signs) in made.signs.iter_mut().enumerate() {
            let values = &values[group * 8..][..8];
            *signs = (0..8).fold(0, |signs, n| signs | u8::from(is_negative(values[n])) << n);
            if self.even_signs && !signs.count_ones().is_multiple_of(2) {
                let least = least_important(values, &weights[group * 8..][..8]);
                made.magnitudes[group * 8 + least] *= -1.0;
                *signs ^= 1 << least;
            }
        }
        made
    }

    /// Searches the scale and the points of one part, with what the search starts from.
    #[inline(always)]
    fn encode_part<const N: usize>(
        &self,
        prepared: &Prepared,
        index: usize,
        start: (f32, f32),
        way: impl Way,
        out: &mut EncodedPart,
    ) {
        let [magnitudes, weights, roots] =
            [&prepared.magnitudes, &prepared.weights, &prepared.roots]
                .map(|all| &all.as_chunks::<N>().0[index]);
        let part = Part { magnitudes, weights, roots, start };
        let found = way.search(&self.rules, self.cells, &part);
        self.keep(found, &prepared.signs[index * N / 8..][..N / 8], out);
    }

    /// Stores what was found. A negative scale turns all signs.
    #[inline(always)]
    fn keep(&self, found: Found, signs: &[u8], out: &mut EncodedPart) {
        let turned = if found.scale < 0.0 { u8::MAX } else { 0 };
        let stored = if self.even_signs { 127 } else { u8::MAX };
        out.exact_scale = found.scale.abs();
        out.points = found.points.map(|code| self.cells.index(code));
        for (out, signs) in out.signs.iter_mut().zip(signs) {
            *out = (signs ^ turned) & stored;
        }
    }

    /// Stores the scales of all parts, as odd multiples of a 31st of the largest.
    #[inline(always)]
    fn store_scales(&self, encoded: &mut Encoded, parts: usize) {
        let parts = &mut encoded.parts[..parts];
        let most = parts
            .iter()
            .fold(0.0, |most, part| if most > part.exact_scale { most } else { part.exact_scale });
        encoded.is_zero = most == 0.0;
        if encoded.is_zero {
            return;
        }
        let d = most / 31.0;
        encoded.d = half_bytes(d * self.stored);
        let inverse = 1.0 / d;
        for part in parts {
            part.scale = low_byte(nearest(0.5 * (inverse * part.exact_scale - 1.0)).clamp(0, 15));
        }
    }
}

/// Whether a number has a sign to be stored; zero has none.
#[inline(always)]
fn is_negative(value: f32) -> bool {
    value < 0.0 || value.is_nan()
}

/// The largest magnitude of each part, as many as there are.
#[inline(always)]
fn largest_of_parts<const N: usize>(magnitudes: &[f32; 256]) -> [f32; 16] {
    let mut most = [0.0; 16];
    for (most, part) in most.iter_mut().zip(magnitudes.as_chunks::<N>().0) {
        *most = part.iter().copied().fold(part[0], |a, b| if a > b { a } else { b });
    }
    most
}

/// Which of eight numbers matters least, the first of equals.
#[inline(always)]
fn least_important(values: &[f32], weights: &[f32]) -> usize {
    let matters = |n: usize| weights[n] * values[n] * values[n];
    let mut least = (0, matters(0));
    for n in 1..values.len() {
        if matters(n) < least.1 {
            least = (n, matters(n));
        }
    }
    least.0
}
