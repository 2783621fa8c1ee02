//! Helpers for finding and describing the stored tensors of a weight.

use crate::catalog::TensorInfo;
use crate::framework::{Part, StoredTensor};

/// Returns the parts of a weight: the tensors that were found, in this order.
pub(crate) fn parts_of<'a>(
    tensors: impl IntoIterator<Item = (&'static str, Option<StoredTensor<'a>>)>,
) -> Vec<Part> {
    let part = |(role, found): (_, Option<StoredTensor<'a>>)| Some(Part { role, tensor: found?.0 });
    tensors.into_iter().filter_map(part).collect()
}

/// Returns the type and the shape of a tensor, for a message.
pub(crate) fn described(info: &TensorInfo) -> String {
    format!("{} {:?}", info.stored.name(), info.shape)
}
