//! Weights that may be quantized.

use crate::dtype::DType;

/// A weight that may be quantized.
pub struct Candidate<'a> {
    /// Name in the output.
    pub name: &'a str,
    /// Dimensions, outermost first.
    pub shape: &'a [u64],
    /// Type of its numbers, as stored or decoded.
    pub dtype: DType,
    /// Block type it is stored in, if any.
    pub block: Option<&'static str>,
}
