//! Shapes and strides as a pickle spells them.

use crate::catalog::Shape;

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
            let items = heap.items(seq).take(MAX_DIMENSIONS.saturating_add(1));
            let shape: Shape = items.map(take).collect::<Option<_>>()?;
            (shape.len() <= MAX_DIMENSIONS).then_some(shape)
        }
        Node::Object(_) => {
            let object = heap.object(id)?;
            let (Class::Size, &[inner]) = (heap.class(object.class)?, heap.tuple(object.args)?)
            else {
                return None;
            };
            let is_list = matches!(heap.node(inner), Node::Tuple { .. } | Node::List(_));
            is_list.then(|| sizes(heap, inner))?
        }
        _ => None,
    }
}
