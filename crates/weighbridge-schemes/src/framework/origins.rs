//! Bounds on the original numbers of a weight, derived from how it is stored.

use std::ops::Range;

use crate::bounds::{Bounds, Candidates};
use crate::error::Result;
use crate::source::Staged;

/// Relation between a weight and its original if the weight was only stored, not changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Every original lies within the bounds of its stored number.
    Bounded,
    /// As [`Bounded`](Self::Bounded), unless scales were refitted after the codes were chosen. Then
    /// most originals are still within bounds, and none is outside a multiple of them.
    Refitted {
        /// The multiple if few originals are outside their bounds.
        tight: f32,
        /// The multiple if an importance matrix was used, or if many originals are outside.
        loose: f32,
        /// Whether the file says that an importance matrix was used.
        by_importance: bool,
        /// Elements that share a scale. Their order is preserved for any scale.
        block: u64,
    },
    /// As [`Bounded`](Self::Bounded), unless codes were chosen together, which no file states. In
    /// that case many rows have originals outside their bounds, and rows are checked instead.
    BoundedOrByRows(RowRule),
    /// Single numbers have no bounds. Signs and rows are checked.
    ByRows(RowRule),
}

/// Limits for the rows of a weight whose codes were chosen together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowRule {
    /// Maximum number of differing signs in each aligned group of eight; `None` if signs are not
    /// checked. If one may differ, it is that of the smallest number, which has no sign bit.
    pub wrong_signs: Option<u32>,
    /// Minimum correlation of a row with its original.
    pub correlation: f64,
    /// Range of the factor that best fits `gain_over` elements to their originals; `None` if an
    /// importance matrix may have changed it.
    pub gain: Option<[f64; 2]>,
    /// Elements over which [`gain`](Self::gain) is computed; 0 for a whole row.
    pub gain_over: u64,
    /// Range of the factor that best fits a whole row to its original.
    pub row_gain: Option<[f64; 2]>,
    /// Blocks of this many elements are exempt from the sign rule if over half of them are zero.
    pub sparse_block: u64,
    /// Originals with a smaller root mean square are not checked: half precision has too few digits
    /// for their scales.
    pub smallest: f64,
}

/// Some elements of a weight, with the bytes needed to decode them.
#[derive(Clone)]
pub struct Portion<'a> {
    /// The bytes of the slabs of [`Recipe::needs`](crate::framework::Recipe::needs).
    pub staged: &'a [Staged<'a>],
    /// The elements.
    pub elements: Range<u64>,
}

/// Computes where the originals of stored numbers may have been.
pub trait Origins: Send + Sync {
    /// Returns the rule that must hold.
    fn rule(&self) -> Rule;

    /// Computes the bounds of some elements whose stored numbers are `values`. Not called if the
    /// rule is [`ByRows`](Rule::ByRows).
    fn bounds(&self, of: &Portion<'_>, values: &[f32], out: &mut [Bounds]) -> Result<()>;

    /// Counts the candidates outside the bounds that [`bounds`](Self::bounds) would give; `None` if
    /// `bounds` must be called instead. A fast path: most compared weights were made from one
    /// another, and the count is zero.
    fn count_outside(&self, _: &Portion<'_>, _: Candidates<'_>) -> Result<Option<u64>> {
        Ok(None)
    }
}
