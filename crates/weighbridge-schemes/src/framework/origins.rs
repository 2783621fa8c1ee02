//! What a weight's storage says about the numbers it was made from.

use std::ops::Range;

use crate::bounds::{Bounds, Candidates};
use crate::error::Result;
use crate::source::Staged;

/// What must hold between a weight and its original, if nothing but storing it lies between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Every original lies within the bounds of its stored number.
    Bounded,
    /// The same, unless scales were refitted after the codes were chosen: then most originals
    /// still do, and none is farther out than some multiple of the bounds.
    Refitted {
        /// That multiple where few originals lie outside their bounds.
        tight: f32,
        /// The same where an importance matrix was used, or many lie outside.
        loose: f32,
        /// Whether the file says that an importance matrix was used.
        by_importance: bool,
        /// Elements that share a scale: their order is kept whatever the scale is.
        block: u64,
    },
    /// The same as [`Bounded`](Self::Bounded), unless codes were chosen together. No file says so;
    /// but then many rows have originals outside, and rows are judged instead.
    BoundedOrByRows(RowRule),
    /// Single numbers have no bounds: signs and rows are judged.
    ByRows(RowRule),
}

/// What holds for rows of a weight whose codes were chosen together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowRule {
    /// How many signs may differ in each aligned group of eight; `None` where signs say nothing.
    /// If one may, it is that of the smallest number, which has no bit for it.
    pub wrong_signs: Option<u32>,
    /// The least correlation of a row with its original.
    pub correlation: f64,
    /// The least and the greatest factor that may fit each `gain_over` elements best to their
    /// originals; `None` where an importance matrix may have changed it.
    pub gain: Option<[f64; 2]>,
    /// Elements over which [`gain`](Self::gain) is taken; 0 for a whole row.
    pub gain_over: u64,
    /// The same for a whole row.
    pub row_gain: Option<[f64; 2]>,
    /// Blocks of this many elements are left out of the sign rule where over half are zero.
    pub sparse_block: u64,
    /// Originals whose root mean square is less than this are not judged: half precision has too
    /// few digits for their scales.
    pub smallest: f64,
}

/// Some elements of a weight, and the bytes that decoding them was given.
#[derive(Clone)]
pub struct Portion<'a> {
    /// The bytes of the slabs of [`Recipe::needs`](crate::framework::Recipe::needs).
    pub staged: &'a [Staged<'a>],
    /// Which elements.
    pub elements: Range<u64>,
}

/// Knows where the originals of stored numbers may have been.
pub trait Origins: Send + Sync {
    /// What must hold.
    fn rule(&self) -> Rule;

    /// The bounds of some elements, of which `values` are the stored numbers. Not asked where the
    /// rule is [`ByRows`](Rule::ByRows).
    fn bounds(&self, of: &Portion<'_>, values: &[f32], out: &mut [Bounds]) -> Result<()>;

    /// How many candidates lie outside the bounds that [`bounds`](Self::bounds) would give; `None`
    /// where that must be asked. Nearly all weights that are compared were made from one another,
    /// and then counting none is all there is to do.
    fn count_outside(&self, _: &Portion<'_>, _: Candidates<'_>) -> Result<Option<u64>> {
        Ok(None)
    }
}
