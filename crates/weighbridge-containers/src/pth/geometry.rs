//! Shapes and strides: how much of a storage a tensor touches, and whether it lies there in order.

use crate::catalog::{Order, Shape, element_count};

use super::pickle::{Class, Heap, Id, Node};

/// What PyTorch itself allows.
const MAX_DIMENSIONS: usize = 64;

/// Whole numbers out of a tuple, a list or a `torch.Size`; `None` if one is negative.
pub(super) fn sizes(heap: &Heap<'_>, id: Id) -> Option<Shape> {
    let take = |id: Id| heap.int(id).and_then(|value| u64::try_from(value).ok());
    match heap.node(id) {
        Node::Tuple { .. } => {
            let items = heap.tuple(id).filter(|items| items.len() <= MAX_DIMENSIONS)?;
            items.iter().map(|&item| take(item)).collect()
        }
        Node::List(seq) => {
            let shape: Shape = heap
                .items(seq)
                .take(MAX_DIMENSIONS.saturating_add(1))
                .map(take)
                .collect::<Option<_>>()?;
            (shape.len() <= MAX_DIMENSIONS).then_some(shape)
        }
        Node::Object(_) => {
            let object = heap.object(id)?;
            match (heap.class(object.class)?, heap.tuple(object.args)?) {
                (Class::Size, &[inner])
                    if matches!(heap.node(inner), Node::Tuple { .. } | Node::List(_)) =>
                {
                    sizes(heap, inner)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// How elements lie in a storage.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// How many elements there are.
    pub(super) elements: u64,
    /// Elements from the first to the last, both included.
    pub(super) span: u64,
    /// Their order.
    pub(super) order: Order,
}

/// The extent of a view; `None` if a number does not fit or the two do not belong together.
pub(super) fn extent(shape: &[u64], strides: &[u64]) -> Option<Extent> {
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
    let order = match in_order {
        true => Order::RowMajor,
        false => Order::Strided(strides.iter().copied().collect()),
    };
    Some(Extent { elements, span: last.checked_add(1)?, order })
}

/// The strides of a column-major array.
pub(super) fn column_major(shape: &[u64]) -> Option<Shape> {
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
