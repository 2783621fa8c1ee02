//! A job: one weight, and the output tensors it becomes.

use std::ops::Range;

use smallvec::SmallVec;

use super::cut::Cut;
use super::encoding::Encoding;
use super::rearranging::Rearranging;
use crate::catalog::{Shape, TensorInfo};
use crate::containers::writing::Planned;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::model::{Model, Weight};
use crate::schemes::{EncodedTensor, Groups, TensorId};
use crate::source::Source;

/// How a weight becomes its output.
#[derive(Clone)]
pub enum Action {
    /// Its bytes stay as they are.
    Copy,
    /// Plain numbers in another type.
    Cast,
    /// A scheme's recipe turns its parts into numbers.
    Decode,
    /// Its numbers are stored in another way.
    Encode(Encoding),
    /// Its codes and factors go into other tensors.
    Rearrange(Rearranging),
}

/// Where the numbers come from.
#[derive(Clone)]
pub enum Origin {
    /// A weight, whatever it is made of.
    Weight(Weight),
    /// A stored tensor as it is.
    Stored(Model, TensorId),
}

/// What reports call the scheme of a stored tensor that is copied undecoded.
const STORED: &str = "stored";

/// A tensor of the output.
#[derive(Clone)]
pub struct OutputTensor {
    /// Its name.
    pub name: String,
    /// What its bytes are.
    pub stored: StoredType,
    /// Its dimensions, outermost first.
    pub shape: Shape,
    /// How many bytes it has.
    pub bytes: u64,
    /// Where its first byte goes in the file.
    pub offset: u64,
    /// Which elements make which bytes; of copied tensors, each byte is an element.
    pub groups: Groups,
    /// Which of the encoder's tensors it is; without an encoder there is only one.
    pub index: usize,
}

impl OutputTensor {
    /// All tensors that are made of one weight, without their places.
    pub fn all(tensors: &[EncodedTensor]) -> impl Iterator<Item = Self> {
        (0..).zip(tensors).map(|(index, tensor)| {
            let EncodedTensor { name, stored, shape, bytes, groups } = tensor.clone();
            Self { name, stored, shape, bytes, offset: 0, groups, index }
        })
    }

    /// What the layout of a file needs to know.
    pub fn planned(&self) -> Planned<'_> {
        let Self { name, stored, shape, bytes, .. } = self;
        Planned { name, stored, shape, bytes: *bytes }
    }

    /// The bytes that some elements make.
    pub fn bytes_of(&self, elements: &Range<u64>) -> Range<u64> {
        self.groups.bytes_of(elements, self.bytes)
    }

    /// Whether so many elements make all of its bytes, in groups of which only the last may be
    /// smaller than the others.
    pub fn is_made_of(&self, count: u64) -> bool {
        let whole = match self.groups {
            Groups::Of { elements, bytes } => (count / elements.max(1)).checked_mul(bytes),
            Groups::Once => Some(0),
        };
        let is_enough = self.bytes_of(&(0..count)).end == self.bytes;
        is_enough && whole.is_some_and(|whole| whole <= self.bytes)
    }
}

/// A weight, and the output tensors it becomes.
#[derive(Clone)]
pub struct Job {
    /// Where it comes from.
    pub origin: Origin,
    /// How it gets there.
    pub action: Action,
    /// What it becomes: at least one tensor.
    pub outputs: SmallVec<[OutputTensor; 1]>,
    /// How it is cut into tiles.
    pub cut: Cut,
    /// Whether NaN and infinite values are accepted, in the source and in the output.
    pub takes_non_finite: bool,
}

impl Origin {
    /// What the weight, or the stored tensor, says.
    pub(super) fn ask<'o, R>(
        &'o self,
        weight: impl FnOnce(&'o Weight) -> R,
        stored: impl FnOnce(&'o Source, &'o TensorInfo) -> R,
    ) -> R {
        match self {
            Self::Weight(of) => weight(of),
            Self::Stored(model, id) => {
                let (source, info) = model.stored(*id);
                stored(source, info)
            }
        }
    }

    /// Its name, and the kind within its scheme.
    pub(super) fn name_and_kind(&self) -> (&str, &str) {
        self.ask(
            |weight| (weight.name(), weight.variant()),
            |_, info| (&*info.name, info.stored.name()),
        )
    }
}

impl Job {
    /// Its name in the source.
    pub fn source_name(&self) -> &str {
        self.origin.name_and_kind().0
    }

    /// The names of the stored tensors that it is made of.
    pub fn stored_names(&self) -> Vec<String> {
        self.origin.ask(
            |weight| weight.parts().map(|(_, _, info)| info.name.to_string()).collect(),
            |_, info| vec![info.name.to_string()],
        )
    }

    /// Its dimensions in the source, outermost first.
    pub fn shape(&self) -> &[u64] {
        self.origin.ask(Weight::shape, |_, info| &info.shape)
    }

    /// How many numbers it has.
    pub fn elements(&self) -> u64 {
        self.origin.ask(Weight::elements, |_, info| info.elements())
    }

    /// How many bytes it takes in the source.
    pub fn stored_bytes(&self) -> u64 {
        self.origin.ask(Weight::stored_bytes, |_, info| info.bytes)
    }

    /// Its scheme, and the kind within it.
    pub fn scheme(&self) -> (&'static str, &str) {
        let scheme = self.origin.ask(Weight::scheme, |_, _| STORED);
        (scheme, self.origin.name_and_kind().1)
    }

    /// Whether the output no longer uses the scheme that it is stored in.
    pub fn leaves_its_scheme(&self) -> bool {
        matches!(self.action, Action::Decode | Action::Encode(_) | Action::Rearrange(_))
    }

    /// The type of the numbers that it is cast or decoded to.
    pub fn dtype(&self) -> Option<DType> {
        match (&self.action, &self.outputs[..]) {
            (Action::Cast | Action::Decode, [only]) => only.stored.element(),
            _ => None,
        }
    }

    /// Why its encoder never stores NaN and infinity, if it does not.
    pub fn refuses_non_finite(&self) -> Option<&'static str> {
        match &self.action {
            Action::Encode(encoding) => encoding.encoder.refuses_non_finite(),
            _ => None,
        }
    }

    /// How many bytes its tensors take in the output.
    pub fn bytes(&self) -> u64 {
        self.outputs.iter().map(|output| output.bytes).fold(0, u64::saturating_add)
    }

    /// Where the first of its tensors begins in the file.
    pub fn offset(&self) -> u64 {
        self.outputs.iter().map(|output| output.offset).min().unwrap_or(0)
    }

    /// How many bytes of its tensors some elements make.
    pub fn bytes_of(&self, elements: &Range<u64>) -> u64 {
        let of = |output: &OutputTensor| output.bytes_of(elements);
        self.outputs.iter().map(of).map(|range| range.end - range.start).sum()
    }

    /// The weight; an error for a stored tensor that is copied undecoded.
    pub fn weight(&self) -> Result<&Weight> {
        match &self.origin {
            Origin::Weight(weight) => Ok(weight),
            Origin::Stored(..) => {
                Err(Error::usage("it is copied as stored").in_tensor(self.source_name()))
            }
        }
    }

    /// The only stored tensor of a plain weight.
    pub fn only_part(&self) -> Result<(&Source, &TensorInfo)> {
        match &self.origin {
            Origin::Stored(model, id) => Ok(model.stored(*id)),
            Origin::Weight(weight) => {
                let part = weight.parts().next().map(|(_, source, info)| (source, info));
                part.ok_or_else(|| Error::usage("it has no parts").in_tensor(weight.name()))
            }
        }
    }
}
