//! Output kinds of decoding: numbers of a type, numbers at full precision, or bounds of the
//! originals.

use half::{bf16, f16};

use super::length;
use crate::bounds::Bounds;
use crate::change::Change;
use crate::compare::Wide;
use crate::error::{Error, Result};
use crate::framework::{Portion, Recipe};
use crate::number::{Element, Out};
use crate::simd::{self, Sides};

/// An output kind.
pub(super) trait Figure: Copy + Default {
    /// Decodes the elements and changes their values.
    fn decode(of: &Weighed<'_>, out: &mut [Self], singles: &mut Vec<f32>) -> Result<()>;

    /// Transposes a matrix.
    fn transpose(sides: Sides, from: &[Self], to: &mut [Self]) {
        for row in 0..sides.rows {
            for column in 0..sides.columns {
                to[column * sides.to + row] = from[row * sides.from + column];
            }
        }
    }
}

/// Some elements of a weight, and the change to apply to them.
pub(super) struct Weighed<'a> {
    pub recipe: &'a dyn Recipe,
    pub portion: Portion<'a>,
    pub change: Change,
    /// Whether the changed number is rounded to f16.
    pub in_half: bool,
}

impl Weighed<'_> {
    /// Decodes the elements without the change.
    fn decode(&self, out: Out<'_>) -> Result<()> {
        self.recipe.decode(self.portion.staged, self.portion.elements.clone(), out)
    }

    /// Decodes the elements without the change, in f32.
    fn singles<'s>(&self, singles: &'s mut Vec<f32>) -> Result<&'s [f32]> {
        singles.resize(length(self.portion.elements.end - self.portion.elements.start), 0.0);
        self.decode(f32::out(singles))?;
        Ok(singles)
    }

    /// Applies the change to a number.
    fn changed(&self, number: f32) -> f32 {
        let changed = self.change.of(number);
        if self.in_half { f16::from_f32(changed).to_f32() } else { changed }
    }
}

macro_rules! numbers {
    ($($type:ident)*) => {
        $(impl Figure for $type {
            fn decode(of: &Weighed<'_>, out: &mut [Self], singles: &mut Vec<f32>) -> Result<()> {
                if of.change == Change::None {
                    return of.decode(Self::out(out));
                }
                let singles = of.singles(singles)?;
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
    fn decode(of: &Weighed<'_>, out: &mut [Self], singles: &mut Vec<f32>) -> Result<()> {
        if !(of.recipe.has_element_access() && of.recipe.decode_wide(&of.portion, out)?) {
            let singles = of.singles(singles)?;
            out.iter_mut().zip(singles).for_each(|(out, one)| *out = f64::from(*one).into());
        }
        #[allow(clippy::cast_possible_truncation)] // It was half precision before.
        let changed = |number: Self| match of.change {
            _ if of.in_half => f64::from(of.changed(number.value() as f32)).into(),
            // The lower part is not lost.
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
    fn decode(of: &Weighed<'_>, out: &mut [Self], singles: &mut Vec<f32>) -> Result<()> {
        // Numbers near one are rounded to half precision by half a step each way.
        const HALF_STEP: f32 = 1.0 / 1024.0;
        let origins = of.recipe.origins().ok_or_else(|| Error::usage("its bounds are unknown"))?;
        origins.bounds(&of.portion, of.singles(singles)?, out)?;
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
