//! The numbers two weights are compared in.
//!
//! Almost all are decoded to f32. Doubles and long integers do not fit there: they, and what they
//! are compared with, become a sum of two doubles, in which every 64-bit integer is exact.

use std::ops::Range;

use half::{bf16, f16};

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::{Ahead, Scratch, Weight};
use crate::schemes::{Element, plain};
use crate::simd::{self, Sides};
use crate::source::Slab;

/// What decoding takes, kept from one tile to the next.
#[derive(Default)]
pub(super) struct Kept {
    scratch: Scratch,
    ahead: Ahead,
    staging: Vec<u8>,
    singles: Vec<f32>,
}

impl Kept {
    /// Forgets what is held: it may be of another weight.
    pub(super) fn clear(&mut self) {
        self.ahead.forget();
    }
}

/// A stretch of a weight.
#[derive(Clone, Debug)]
pub(super) enum Stretch {
    /// Any elements.
    Elements(Range<u64>),
    /// The same, to be followed by those up to another one.
    Ahead(Range<u64>, u64),
    /// Whole rows of the outermost dimension.
    Rows(Range<u64>),
}

/// A number in which weights are compared.
pub(super) trait Figure: Copy + Default {
    /// Decodes a stretch into `out`, which holds exactly it.
    fn decode(weight: &Weight<'_>, from: Stretch, out: &mut [Self], kept: &mut Kept) -> Result<()>;

    /// With something added.
    fn plus(self, more: f32) -> Self;

    /// The same, of a number that half precision has room for, rounded to that.
    fn plus_in_half(self, more: f32) -> Self;

    /// Turns a matrix.
    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]);
}

fn decode<T: Element>(
    weight: &Weight<'_>,
    from: Stretch,
    out: &mut [T],
    (scratch, ahead): (&mut Scratch, &mut Ahead),
) -> Result<()> {
    match from {
        Stretch::Elements(elements) => weight.decode_elements_with(elements, out, scratch),
        Stretch::Ahead(elements, until) => {
            weight.decode_elements_ahead(elements, until, out, ahead)
        }
        Stretch::Rows(rows) => weight.decode_rows_with(rows, out, scratch),
    }
}

macro_rules! figure {
    ($($type:ident: $plus:expr, $half:expr;)*) => {
        $(impl Figure for $type {
            fn decode(
                weight: &Weight<'_>,
                from: Stretch,
                out: &mut [Self],
                kept: &mut Kept,
            ) -> Result<()> {
                decode(weight, from, out, (&mut kept.scratch, &mut kept.ahead))
            }
            fn plus(self, more: f32) -> Self {
                $plus(self, more)
            }
            fn plus_in_half(self, more: f32) -> Self {
                $half(f16::from_f32(f32::from(self) + more))
            }
            fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
                simd::transpose(simd::level(), sides, from, to);
            }
        })*
    };
}

figure!(
    f32: |x: f32, more: f32| x + more, f16::to_f32;
    bf16: |x: bf16, more: f32| bf16::from_f32(x.to_f32() + more), |x: f16| bf16::from_f32(x.to_f32());
    f16: |x: f16, more: f32| f16::from_f32(x.to_f32() + more), |x: f16| x;
);

/// A double, or a long integer as the sum of its upper and lower half.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Wide {
    pub(super) upper: f64,
    pub(super) lower: f64,
}

impl Wide {
    /// Whether numbers of a stored type need this much room.
    pub(super) fn is_needed(dtype: DType) -> bool {
        matches!(dtype, DType::F64 | DType::I32 | DType::U32 | DType::I64 | DType::U64)
    }

    /// The nearest double.
    pub(super) fn value(self) -> f64 {
        self.upper + self.lower
    }

    /// How much larger it is.
    pub(super) fn minus(self, other: Self) -> f64 {
        (self.upper - other.upper) + (self.lower - other.lower)
    }

    /// Whether both are the same to the bit, or both no number.
    pub(super) fn is_same(self, other: Self) -> bool {
        let bits = |x: Self| (x.upper.to_bits(), x.lower.to_bits());
        // An integer in halves may be one that the other side has in one piece.
        let in_halves = self.lower != 0.0 || other.lower != 0.0;
        bits(self) == bits(other)
            || self.upper.is_nan() && other.upper.is_nan()
            || in_halves && self.minus(other) == 0.0
    }

    #[allow(clippy::cast_precision_loss)] // Halves of 32 bits are exact.
    fn of_signed(value: i64) -> Self {
        let lower = value & 0xffff_ffff;
        Self { upper: (value - lower) as f64, lower: lower as f64 }
    }

    #[allow(clippy::cast_precision_loss)] // Halves of 32 bits are exact.
    fn of_unsigned(value: u64) -> Self {
        let lower = value & 0xffff_ffff;
        Self { upper: (value - lower) as f64, lower: lower as f64 }
    }
}

impl From<f64> for Wide {
    fn from(upper: f64) -> Self {
        Self { upper, lower: 0.0 }
    }
}

impl Figure for Wide {
    fn decode(weight: &Weight<'_>, from: Stretch, out: &mut [Self], kept: &mut Kept) -> Result<()> {
        let stored = weight.parts().next().filter(|_| weight.scheme() == plain::NAME);
        let part = stored.and_then(|(_, source, info)| {
            let dtype = info.stored.element().filter(|dtype| Self::is_needed(*dtype))?;
            Some((source, info, dtype))
        });
        let Some((source, info, dtype)) = part else {
            kept.singles.resize(out.len(), 0.0);
            let Kept { scratch, ahead, singles, .. } = kept;
            decode(weight, from, singles, (scratch, ahead))?;
            for (out, &value) in out.iter_mut().zip(&kept.singles) {
                *out = f64::from(value).into();
            }
            return Ok(());
        };
        let elements = match from {
            Stretch::Elements(elements) | Stretch::Ahead(elements, _) => elements,
            Stretch::Rows(rows) => {
                let columns = weight.rows_and_columns().1;
                rows.start * columns..rows.end * columns
            }
        };
        let width = u64::from(dtype.bits() / 8);
        let slab = Slab::whole(0, elements.start * width, (elements.end - elements.start) * width);
        let bytes = source.fetch(info, &slab, &mut kept.staging)?.bytes();
        read(dtype, bytes, out).ok_or_else(|| Error::unsupported(format!("{dtype} is not read so")))
    }

    fn plus(self, more: f32) -> Self {
        Self { upper: self.upper + f64::from(more), ..self }
    }

    #[allow(clippy::cast_possible_truncation)] // It was half precision before.
    fn plus_in_half(self, more: f32) -> Self {
        f16::from_f32(self.value() as f32 + more).to_f64().into()
    }

    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
        for row in 0..sides.rows {
            for column in 0..sides.columns {
                to[column * sides.to + row] = from[row * sides.from + column];
            }
        }
    }
}

fn read(dtype: DType, bytes: &[u8], out: &mut [Wide]) -> Option<()> {
    fn each<const N: usize>(bytes: &[u8], out: &mut [Wide], f: impl Fn([u8; N]) -> Wide) {
        out.iter_mut().zip(bytes.as_chunks().0).for_each(|(out, bytes)| *out = f(*bytes));
    }
    match dtype {
        DType::F64 => each(bytes, out, |x| f64::from_le_bytes(x).into()),
        DType::I32 => each(bytes, out, |x| f64::from(i32::from_le_bytes(x)).into()),
        DType::U32 => each(bytes, out, |x| f64::from(u32::from_le_bytes(x)).into()),
        DType::I64 => each(bytes, out, |x| Wide::of_signed(i64::from_le_bytes(x))),
        DType::U64 => each(bytes, out, |x| Wide::of_unsigned(u64::from_le_bytes(x))),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_integers_keep_every_bit() {
        let a = Wide::of_signed(i64::MIN + 1);
        let b = Wide::of_signed(i64::MIN);
        assert!(!a.is_same(b));
        assert_eq!(a.minus(b), 1.0);
        assert_eq!(Wide::of_unsigned(u64::MAX).minus(Wide::of_unsigned(u64::MAX - 3)), 3.0);
        assert_eq!(Wide::of_signed(-5).value(), -5.0);
        assert!(Wide::of_signed(-5).is_same((-5.0).into()));
        assert!(!Wide::from(0.0).is_same((-0.0).into()));
        assert!(Wide::from(f64::NAN).is_same(f64::NAN.into()));
    }
}
