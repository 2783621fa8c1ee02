//! The dimensions of a tensor.

use smallvec::SmallVec;

/// Dimensions, outermost first.
pub type Shape = SmallVec<[u64; 4]>;

/// Elements of a shape; `None` if the count does not fit.
#[must_use]
#[inline]
pub fn element_count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim))
}

/// The coordinates of an element.
#[must_use]
pub fn coordinates(mut index: u64, shape: &[u64]) -> Vec<u64> {
    let mut all = shape.to_vec();
    for side in all.iter_mut().rev() {
        (index, *side) = (index / (*side).max(1), index % (*side).max(1));
    }
    all
}

/// The least number of elements that both divide; of zero, one.
#[must_use]
pub fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
}
