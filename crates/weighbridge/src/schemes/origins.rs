//! What a weight's storage says about the numbers it was made from.

use std::ops::Range;

use crate::bounds::Bounds;
use crate::error::Result;
use crate::source::Staged;

/// What must hold between a weight and its original, if nothing but storing it lies between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Every original lies within the bounds of its stored number.
    Bounded,
    /// The same, unless scales were fitted again after the codes were chosen: then most still do,
    /// and none is farther out than some multiple of the bounds.
    Refitted {
        /// How many times as far as the bounds an original may lie where few do not keep to them.
        tight: f32,
        /// The same where an importance matrix was used, or many do not.
        loose: f32,
        /// Whether the file says that an importance matrix was used.
        by_importance: bool,
        /// Elements that share a scale: their order is kept whatever the scale is.
        block: u64,
    },
    /// The same as [`Bounded`](Self::Bounded), unless codes were chosen together, which nothing
    /// says: then many rows have originals outside, and rows are looked at instead.
    BoundedOrByRows(RowRule),
    /// There are no bounds for single numbers. Signs and rows are looked at.
    ByRows(RowRule),
}

/// What holds for rows of a weight whose codes were chosen together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowRule {
    /// Of each aligned eight, how many signs may be the other; none where signs say nothing. If it
    /// is one, there is no bit for the sign of the smallest.
    pub wrong_signs: Option<u32>,
    /// The least correlation of a row with its original.
    pub correlation: f64,
    /// The least and most that the original of each `gain_over` elements is of them, as the
    /// factor that fits best; none where an importance matrix may have bent it.
    pub gain: Option<[f64; 2]>,
    /// Elements for which [`gain`](Self::gain) is taken; 0 for a whole row.
    pub gain_over: u64,
    /// The same for a whole row.
    pub row_gain: Option<[f64; 2]>,
    /// Blocks of this many elements are left out of the sign rule where over half are zero.
    pub sparse_block: u64,
    /// Originals whose root mean square is less than this are not judged: half precision has too
    /// few digits for their scales.
    pub smallest: f64,
}

/// Knows where the originals of stored numbers may have been.
pub trait Origins: Send + Sync {
    /// What must hold.
    fn rule(&self) -> Rule;

    /// The bounds of some elements, of which `values` are the stored numbers. `staged` is what
    /// decoding them was given. Not asked where the rule is [`ByRows`](Rule::ByRows).
    fn bounds(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        values: &[f32],
        out: &mut [Bounds],
    ) -> Result<()>;
}
