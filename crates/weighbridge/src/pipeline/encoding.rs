//! An encoder at work on a weight.

use std::ops::Range;
use std::sync::Arc;

use super::tiling::least_common_multiple;
use crate::schemes::{EncodedTensor, Encoder, Groups};

/// An encoder at work on a weight, and what it gives.
#[derive(Clone)]
pub struct Encoding {
    /// The encoder.
    pub encoder: Arc<dyn Encoder>,
    /// All tensors that it gives.
    pub tensors: Arc<[EncodedTensor]>,
}

impl Encoding {
    /// How many elements must be encoded together.
    #[must_use]
    pub fn unit(&self) -> u64 {
        let of = |tensor: &EncodedTensor| match tensor.groups {
            Groups::Of { elements, .. } => elements,
            Groups::Once => 1,
        };
        self.tensors.iter().map(of).fold(1, least_common_multiple)
    }

    /// Bytes of all tensors that some elements make.
    #[must_use]
    pub fn bytes_of(&self, elements: &Range<u64>) -> u64 {
        let of = |tensor: &EncodedTensor| tensor.groups.bytes_of(elements, tensor.bytes);
        self.tensors.iter().map(of).map(|range| range.end - range.start).sum()
    }
}
