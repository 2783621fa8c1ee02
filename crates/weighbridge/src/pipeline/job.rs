//! One tensor on its way into the output.

use super::cut::Cut;
use crate::catalog::TensorInfo;
use crate::containers::writing::Planned;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::model::Weight;
use crate::source::Source;

/// How a tensor becomes its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its bytes stay as they are.
    Copy,
    /// Plain numbers in another type.
    Cast,
    /// A scheme's recipe turns its parts into numbers.
    Decode,
}

/// Where the numbers come from.
#[derive(Clone)]
pub enum Origin<'m> {
    /// A weight, whatever it is made of.
    Weight(Weight),
    /// A stored tensor as it is.
    Stored(&'m Source, &'m TensorInfo),
}

/// The scheme of a stored tensor that nobody looks into.
const STORED: &str = "stored";

/// One tensor on its way into the output.
pub struct Job<'m> {
    /// What it is called there.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin<'m>,
    /// What its bytes are there.
    pub stored: StoredType,
    /// How it gets there.
    pub action: Action,
    /// Where its first byte goes in the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub bytes: u64,
    /// How it is cut into tiles.
    pub cut: Cut,
}

impl Job<'_> {
    /// Its name in the source.
    pub fn source_name(&self) -> &str {
        match &self.origin {
            Origin::Weight(weight) => weight.name(),
            Origin::Stored(_, info) => &info.name,
        }
    }

    /// Its dimensions, outermost first.
    pub fn shape(&self) -> &[u64] {
        match &self.origin {
            Origin::Weight(weight) => weight.shape(),
            Origin::Stored(_, info) => &info.shape,
        }
    }

    /// How many numbers it has.
    pub fn elements(&self) -> u64 {
        match &self.origin {
            Origin::Weight(weight) => weight.elements(),
            Origin::Stored(_, info) => info.elements(),
        }
    }

    /// How many bytes it takes in the source.
    pub fn stored_bytes(&self) -> u64 {
        match &self.origin {
            Origin::Weight(weight) => weight.stored_bytes(),
            Origin::Stored(_, info) => info.bytes,
        }
    }

    /// Its scheme, and the kind within it.
    pub fn scheme(&self) -> (&'static str, &str) {
        match &self.origin {
            Origin::Weight(weight) => (weight.scheme(), weight.variant()),
            Origin::Stored(_, info) => (STORED, info.stored.name()),
        }
    }

    /// The type of its elements; of blocks, bytes.
    pub fn dtype(&self) -> DType {
        self.stored.element().unwrap_or(DType::U8)
    }

    /// The weight; an error for a tensor that is not looked into.
    pub fn weight(&self) -> Result<&Weight> {
        match &self.origin {
            Origin::Weight(weight) => Ok(weight),
            Origin::Stored(..) => {
                Err(Error::usage("it is copied as it is stored").in_tensor(&self.name))
            }
        }
    }

    /// The stored tensor of one that is not made of several.
    pub fn only_part(&self) -> Result<(&Source, &TensorInfo)> {
        match &self.origin {
            Origin::Stored(source, info) => Ok((source, info)),
            Origin::Weight(weight) => {
                let part = weight.parts().next().map(|(_, source, info)| (source, info));
                part.ok_or_else(|| Error::usage("it is made of nothing").in_tensor(weight.name()))
            }
        }
    }

    /// The same for whoever lays out a file.
    pub fn planned(&self) -> Planned<'_> {
        Planned { name: &self.name, stored: &self.stored, shape: self.shape(), bytes: self.bytes }
    }
}
