//! The stored tensors of a weight, as members find and describe them.

use crate::catalog::TensorInfo;
use crate::framework::{Part, StoredTensor};

/// The parts of a weight: those of its tensors that were found, in this order.
pub(crate) fn parts_of<'a>(
    tensors: impl IntoIterator<Item = (&'static str, Option<StoredTensor<'a>>)>,
) -> Vec<Part> {
    let part = |(role, found): (_, Option<StoredTensor<'a>>)| Some(Part { role, tensor: found?.0 });
    tensors.into_iter().filter_map(part).collect()
}

/// The type and the shape of a tensor, for a message.
pub(crate) fn described(info: &TensorInfo) -> String {
    format!("{} {:?}", info.stored.name(), info.shape)
}
