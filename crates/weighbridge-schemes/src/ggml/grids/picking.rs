//! Ways to pick the nearest of some points.

use crate::simd::Isa;
use crate::simd::by_digits::Target;

/// A way to pick points. Its functions are `#[inline(always)]`, to be compiled with the instructions
/// that it uses. (Closures would not be.)
pub(in super::super) trait Picks: Copy {
    /// The nearest of some points, the first of equals.
    fn nearest<const D: usize>(self, near: &[[u16; 8]], target: &Target<'_, D>) -> u16;
}

/// The definition.
#[derive(Clone, Copy)]
pub(in super::super) struct Plain;

impl Picks for Plain {
    #[inline(always)]
    fn nearest<const D: usize>(self, near: &[[u16; 8]], target: &Target<'_, D>) -> u16 {
        target.nearest(near)
    }
}

/// With a set of instructions.
#[derive(Clone, Copy)]
pub(in super::super) struct InLanes<I>(pub(in super::super) I);

impl<I: Isa> Picks for InLanes<I> {
    #[inline(always)]
    fn nearest<const D: usize>(self, near: &[[u16; 8]], target: &Target<'_, D>) -> u16 {
        self.0.nearest_code(near, target)
    }
}
