//! An encoder at work on a weight, and the formats that can hold what it gives.

use std::ops::Range;
use std::sync::Arc;

use super::cost::Cost;
use super::ordered_sum::OrderedSum;
use super::{Action, Job};
use crate::containers::WRITERS;
use crate::containers::by_extension;
use crate::containers::conventions::Configs;
use crate::containers::writing::{Planned, Writer};
use crate::dtype::StoredType;
use crate::schemes::{Additions, EncodedTensor, Encoder, Groups};
use crate::shape::least_common_multiple;

/// An encoder at work on a weight, and what it gives.
#[derive(Clone)]
pub struct Encoding {
    /// The encoder.
    pub encoder: Arc<dyn Encoder>,
    /// All tensors that it gives.
    pub tensors: Arc<[EncodedTensor]>,
    /// What it costs, if that is measured.
    pub cost: Option<Arc<OrderedSum<Cost>>>,
}

impl Encoding {
    /// How many elements must be encoded together.
    pub fn unit(&self) -> u64 {
        let of = |tensor: &EncodedTensor| match tensor.groups {
            Groups::Of { elements, .. } => elements,
            Groups::Once => 1,
        };
        self.tensors.iter().map(of).fold(1, least_common_multiple)
    }

    /// Bytes of all tensors that some elements make.
    pub fn bytes_of(&self, elements: &Range<u64>) -> u64 {
        let of = |tensor: &EncodedTensor| tensor.groups.bytes_of(elements, tensor.bytes);
        self.tensors.iter().map(of).map(|range| range.end - range.start).sum()
    }
}

/// The formats that can hold what an encoder gives.
pub fn formats_for(encoder: &dyn Encoder) -> impl Iterator<Item = &'static dyn Writer> {
    let additions = encoder.additions();
    let needs_configs = !additions.config_keys.is_empty() || !additions.files.is_empty();
    formats_of(encoder.types(), needs_configs)
}

/// The formats that have all of these types and, where configs must say how the weights are stored,
/// whose readers look at configs.
pub fn formats_of(
    types: Vec<StoredType>,
    needs_configs: bool,
) -> impl Iterator<Item = &'static dyn Writer> {
    let reads_configs = |writer: &dyn Writer| {
        let extension = by_extension(writer.format()).map(|(_, extension)| extension);
        extension.is_some_and(|extension| extension.configs != Configs::Never)
    };
    WRITERS.iter().copied().filter(move |writer| {
        types.iter().all(|stored| has_type(*writer, stored))
            && (!needs_configs || reads_configs(*writer))
    })
}

/// Whether a format takes the smallest tensor of a type.
fn has_type(writer: &dyn Writer, stored: &StoredType) -> bool {
    let (elements, bytes) = match stored {
        StoredType::Block(block) => (u64::from(block.elements), u64::from(block.bytes)),
        StoredType::Element(dtype) => (8, u64::from(dtype.bits())),
        StoredType::Opaque(_) => return false,
    };
    writer.refuses(&Planned { name: "weight", stored, shape: &[elements], bytes }).is_none()
}

/// What the encoders of these jobs add beside the weights, each addition once.
pub fn additions<'j>(jobs: impl Iterator<Item = &'j Job>) -> Vec<Additions> {
    let mut all: Vec<Additions> = Vec::new();
    for job in jobs {
        if let Action::Encode(encoding) = &job.action {
            let additions = encoding.encoder.additions();
            if !all.contains(&additions) {
                all.push(additions);
            }
        }
    }
    all
}
