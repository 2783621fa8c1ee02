//! The number types that weights are compared in.
//!
//! Almost all weights are decoded to f32. For doubles and 64-bit integers that is too narrow: they,
//! and what they are compared with, become a sum of two doubles, which holds every 64-bit integer
//! exactly.

use std::ops::Range;

use half::{bf16, f16};

use crate::bounds::{Bounds, Candidates};
use crate::change::Change;
use crate::compare::{Wide, read};
use crate::error::{Error, Result};
use crate::model::{Readahead, Scratch, Weight};
use crate::schemes::Element;
use crate::simd::{self, Sides};
use crate::source::Slab;

/// The buffers of decoding, kept from one tile to the next.
#[derive(Default)]
pub(super) struct Kept {
    scratch: Scratch,
    readahead: Readahead,
    staging: Vec<u8>,
    singles: Vec<f32>,
}

impl Kept {
    /// Forgets what was read ahead: it may belong to another weight.
    pub(super) fn clear(&mut self) {
        self.readahead.forget();
    }
}

impl Kept {
    /// How many candidates lie outside the bounds of some elements; see [`Weight::count_outside`].
    pub(super) fn count_outside(
        &mut self,
        weight: &Weight,
        elements: Range<u64>,
        candidates: Candidates<'_>,
    ) -> Result<Option<u64>> {
        weight.count_outside(elements, candidates, (&mut self.scratch, &mut self.readahead))
    }
}

/// A stretch of a weight.
#[derive(Clone, Debug)]
pub(super) enum Stretch {
    /// Any elements.
    Elements(Range<u64>),
    /// Any elements, with those up to another one read ahead.
    Readahead(Range<u64>, u64),
    /// Whole rows of the outermost dimension.
    Rows(Range<u64>),
}

impl Stretch {
    /// The elements of the weight in this stretch.
    fn elements(self, weight: &Weight) -> Range<u64> {
        match self {
            Self::Elements(elements) | Self::Readahead(elements, _) => elements,
            Self::Rows(rows) => {
                let columns = weight.rows_and_columns().1;
                rows.start * columns..rows.end * columns
            }
        }
    }
}

/// A number in which weights are compared.
pub(super) trait Figure: Copy + Default {
    /// Decodes a stretch into `out`, which has exactly its length.
    fn decode(weight: &Weight, from: Stretch, out: &mut [Self], kept: &mut Kept) -> Result<()>;

    /// With its value changed.
    fn changed(self, change: Change) -> Self;

    /// With its value changed in half precision, which `self` fits in.
    fn changed_in_half(self, change: Change) -> Self;

    /// Transposes a matrix.
    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]);
}

fn decode<T: Element>(
    weight: &Weight,
    from: Stretch,
    out: &mut [T],
    (scratch, readahead): (&mut Scratch, &mut Readahead),
) -> Result<()> {
    match from {
        Stretch::Elements(elements) => weight.decode_elements_with(elements, out, scratch),
        Stretch::Readahead(elements, until) => {
            weight.decode_elements_buffered(elements, until, out, readahead)
        }
        Stretch::Rows(rows) => weight.decode_rows_with(rows, out, scratch),
    }
}

macro_rules! figure {
    ($($type:ident: $narrow:expr, $half:expr;)*) => {
        $(impl Figure for $type {
            fn decode(
                weight: &Weight,
                from: Stretch,
                out: &mut [Self],
                kept: &mut Kept,
            ) -> Result<()> {
                decode(weight, from, out, (&mut kept.scratch, &mut kept.readahead))
            }
            fn changed(self, change: Change) -> Self {
                $narrow(change.of(f32::from(self)))
            }
            fn changed_in_half(self, change: Change) -> Self {
                $half(f16::from_f32(change.of(f32::from(self))))
            }
            fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
                simd::transpose(simd::level(), sides, from, to);
            }
        })*
    };
}

figure!(
    f32: |x: f32| x, f16::to_f32;
    bf16: bf16::from_f32, |x: f16| bf16::from_f32(x.to_f32());
    f16: f16::from_f32, |x: f16| x;
);

impl Figure for Wide {
    fn decode(weight: &Weight, from: Stretch, out: &mut [Self], kept: &mut Kept) -> Result<()> {
        let stored = weight.parts().next().filter(|_| weight.is_plain());
        let part = stored.and_then(|(_, source, info)| {
            let dtype = info.stored.element().filter(|dtype| Self::is_needed(*dtype))?;
            Some((source, info, dtype))
        });
        let Some((source, info, dtype)) = part else {
            kept.singles.resize(out.len(), 0.0);
            let Kept { scratch, readahead, singles, .. } = kept;
            decode(weight, from, singles, (scratch, readahead))?;
            for (out, &value) in out.iter_mut().zip(&kept.singles) {
                *out = f64::from(value).into();
            }
            return Ok(());
        };
        let elements = from.elements(weight);
        let width = u64::from(dtype.bits() / 8);
        let slab = Slab::whole(0, elements.start * width, (elements.end - elements.start) * width);
        let bytes = source.fetch(info, &slab, &mut kept.staging)?.bytes();
        read(dtype, bytes, out)
            .ok_or_else(|| Error::unsupported(format!("{dtype} cannot be read as two doubles")))
    }

    fn changed(self, change: Change) -> Self {
        match change {
            // What the lower part holds is not lost.
            Change::None | Change::Add(_) => Self { upper: change.of_double(self.upper), ..self },
            Change::MinusExp => change.of_double(self.value()).into(),
        }
    }

    #[allow(clippy::cast_possible_truncation)] // It was half precision before.
    fn changed_in_half(self, change: Change) -> Self {
        f16::from_f32(change.of(self.value() as f32)).to_f64().into()
    }

    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
        transpose(sides, from, to);
    }
}

impl Figure for Bounds {
    fn decode(weight: &Weight, from: Stretch, out: &mut [Self], kept: &mut Kept) -> Result<()> {
        weight.bounds(from.elements(weight), &mut kept.singles, out, &mut kept.scratch)
    }

    fn changed(self, change: Change) -> Self {
        let [a, b] = [change.of(self.low), change.of(self.high)];
        Self { low: a.min(b), high: a.max(b) }
    }

    fn changed_in_half(self, change: Change) -> Self {
        // Numbers of about one are rounded by half a step each way.
        const HALF_STEP: f32 = 1.0 / 1024.0;
        let Self { low, high } = self.changed(change);
        Self { low: low - HALF_STEP, high: high + HALF_STEP }
    }

    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
        transpose(sides, from, to);
    }
}

/// Transposes a matrix, one number at a time.
fn transpose<T: Copy>(sides: Sides, from: &[T], to: &mut [T]) {
    for row in 0..sides.rows {
        for column in 0..sides.columns {
            to[column * sides.to + row] = from[row * sides.from + column];
        }
    }
}
