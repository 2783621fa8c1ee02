//! Shapes and strides: how much of a storage a tensor touches, and whether it lies there in order.

use crate::catalog::{Order, Shape, element_count};
use crate::writing::full_count;

/// How elements lie in a storage.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// How many elements there are.
    pub(crate) elements: u64,
    /// Elements from the first to the last, both included.
    pub(crate) span: u64,
    /// Their order.
    pub(crate) order: Order,
}

/// The extent of a view; `None` if a number does not fit or the two do not belong together.
pub(crate) fn extent(shape: &[u64], strides: &[u64]) -> Option<Extent> {
    if shape.len() != strides.len() {
        return None;
    }
    let elements = element_count(shape)?;
    if elements == 0 {
        return Some(Extent { elements, span: 0, order: Order::RowMajor });
    }
    let mut last = 0u64;
    let mut expected = 1u64;
    let mut in_order = true;
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        last = last.checked_add(dim.checked_sub(1)?.checked_mul(stride)?)?;
        if dim != 1 {
            in_order &= stride == expected;
            expected = expected.checked_mul(dim)?;
        }
    }
    let order =
        if in_order { Order::RowMajor } else { Order::Strided(strides.iter().copied().collect()) };
    Some(Extent { elements, span: last.checked_add(1)?, order })
}

/// How many elements a whole array has, and their order; `None` if a number does not fit.
pub(crate) fn measured(shape: &[u64], fortran: bool) -> Option<(u64, Order)> {
    if fortran {
        let extent = extent(shape, &column_major(shape)?)?;
        return Some((extent.elements, extent.order));
    }
    // An empty dimension does not make up for others that are too large.
    full_count(shape)?;
    Some((element_count(shape)?, Order::RowMajor))
}

/// The strides of a column-major array.
fn column_major(shape: &[u64]) -> Option<Shape> {
    let mut stride = 1u64;
    shape
        .iter()
        .map(|&dim| {
            let this = stride;
            stride = stride.checked_mul(dim.max(1))?;
            Some(this)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_recognised() {
        assert_eq!(extent(&[2, 3], &[3, 1]).unwrap().order, Order::RowMajor);
        // The stride of a dimension of one says nothing.
        assert_eq!(extent(&[1, 3], &[77, 1]).unwrap().order, Order::RowMajor);
        assert_eq!(
            extent(&[], &[]).unwrap(),
            Extent { elements: 1, span: 1, order: Order::RowMajor }
        );
        let turned = extent(&[3, 2], &[1, 3]).unwrap();
        assert_eq!((turned.span, turned.elements), (6, 6));
        assert!(matches!(turned.order, Order::Strided(_)));
        let expanded = extent(&[4, 5], &[0, 1]).unwrap();
        assert_eq!((expanded.span, expanded.elements), (5, 20));
        assert_eq!(extent(&[0, 5], &[9, 1]).unwrap().span, 0);
    }

    #[test]
    fn nothing_wraps() {
        assert_eq!(extent(&[u64::MAX, 2], &[2, 1]), None);
        assert_eq!(extent(&[2, 2], &[u64::MAX, 1]), None);
        assert_eq!(extent(&[2], &[1, 1]), None);
        assert_eq!(column_major(&[2, 3, 4]).unwrap().as_slice(), &[1, 2, 6]);
    }
}
