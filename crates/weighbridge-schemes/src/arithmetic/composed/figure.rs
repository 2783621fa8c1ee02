//! What the numbers of a weight can be had as: numbers of a type, numbers with all of their digits,
//! or the bounds of their originals.

use std::ops::Range;

use half::{bf16, f16};

use super::length;
use crate::bounds::Bounds;
use crate::change::Change;
use crate::compare::Wide;
use crate::error::{Error, Result};
use crate::framework::Recipe;
use crate::number::Element;
use crate::simd::{self, Sides};
use crate::source::Staged;

/// One of them.
pub(super) trait Figure: Copy + Default {
    /// Some elements of a weight, with their values changed; whole rows, where only those
    /// can be decoded.
    fn decode(
        of: &Weighed<'_>,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [Self],
        singles: &mut Vec<f32>,
    ) -> Result<()>;

    /// Transposes a matrix.
    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
        for row in 0..sides.rows {
            for column in 0..sides.columns {
                to[column * sides.to + row] = from[row * sides.from + column];
            }
        }
    }
}

/// A weight, and what is done to its numbers.
pub(super) struct Weighed<'a> {
    pub recipe: &'a dyn Recipe,
    /// Elements of a row of its outermost dimension.
    pub row: u64,
    pub change: Change,
    /// Whether the changed number is rounded to f16.
    pub in_half: bool,
}

impl Weighed<'_> {
    /// Some elements as they are, in f32.
    fn singles<'s>(
        &self,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        singles: &'s mut Vec<f32>,
    ) -> Result<&'s [f32]> {
        singles.resize(length(source.end - source.start), 0.0);
        self.recipe.decode_of(staged, source, self.row, f32::out(singles))?;
        Ok(singles)
    }

    /// A number after the change.
    fn changed(&self, number: f32) -> f32 {
        let changed = self.change.of(number);
        if self.in_half { f16::from_f32(changed).to_f32() } else { changed }
    }
}

macro_rules! numbers {
    ($($type:ident)*) => {
        $(impl Figure for $type {
            fn decode(
                of: &Weighed<'_>,
                staged: &[Staged<'_>],
                source: &Range<u64>,
                out: &mut [Self],
                singles: &mut Vec<f32>,
            ) -> Result<()> {
                if of.change == Change::None {
                    return of.recipe.decode_of(staged, source, of.row, Self::out(out));
                }
                let singles = of.singles(staged, source, singles)?;
                Self::out(out).fill_with(|index| of.changed(singles[index]));
                Ok(())
            }

            fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
                simd::transpose(simd::level(), sides, from, to);
            }
        })*
    };
}

numbers!(f32 bf16 f16);

impl Figure for Wide {
    fn decode(
        of: &Weighed<'_>,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [Self],
        singles: &mut Vec<f32>,
    ) -> Result<()> {
        let by_elements = of.recipe.elements();
        let is_wide = by_elements.map(|all| all.decode_wide(staged, source.clone(), out));
        if !is_wide.transpose()?.unwrap_or(false) {
            let singles = of.singles(staged, source, singles)?;
            out.iter_mut().zip(singles).for_each(|(out, one)| *out = f64::from(*one).into());
        }
        #[allow(clippy::cast_possible_truncation)] // It was half precision before.
        let changed = |number: Self| match of.change {
            _ if of.in_half => f64::from(of.changed(number.value() as f32)).into(),
            // What the lower part holds is not lost.
            change @ Change::Add(_) => Self { upper: change.of_double(number.upper), ..number },
            change => change.of_double(number.value()).into(),
        };
        if of.change != Change::None {
            out.iter_mut().for_each(|number| *number = changed(*number));
        }
        Ok(())
    }
}

impl Figure for Bounds {
    fn decode(
        of: &Weighed<'_>,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [Self],
        singles: &mut Vec<f32>,
    ) -> Result<()> {
        // Numbers of about one are rounded to half precision by half a step each way.
        const HALF_STEP: f32 = 1.0 / 1024.0;
        let origins =
            of.recipe.origins().ok_or_else(|| Error::usage("its bounds are not known"))?;
        origins.bounds(staged, source.clone(), of.singles(staged, source, singles)?, out)?;
        let more = if of.in_half { HALF_STEP } else { 0.0 };
        let changed = |bounds: Self| {
            let [a, b] = [bounds.low, bounds.high].map(|end| of.change.of(end));
            Self { low: a.min(b) - more, high: a.max(b) + more }
        };
        if of.change != Change::None {
            out.iter_mut().for_each(|bounds| *bounds = changed(*bounds));
        }
        Ok(())
    }
}
