//! Encoders: turn the numbers of a weight into one or more stored tensors.
//!
//! An encoder states which tensors a weight becomes, and how many bytes of each a number of
//! elements produces. Numbers then arrive tile by tile, on any thread and in any order. A tile
//! holds whole groups of every tensor. Encoders that need a fact about the whole weight first (a
//! maximum, a histogram) gather it in a pass before the first tile.

use std::ops::Range;
use std::sync::Arc;

use crate::catalog::Shape;
use crate::dtype::{DType, StoredType};
use crate::error::Result;
use crate::framework::{Additions, Importance};

/// A way to store numbers.
pub trait Encoder: Send + Sync {
    /// Name for users, unique regardless of letter case.
    fn name(&self) -> &'static str;

    /// Types of the output tensors. A format must support all of them.
    fn types(&self) -> Vec<StoredType>;

    /// Returns the tensors that a weight of that name and shape becomes, or why it cannot be
    /// encoded.
    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String>;

    /// Starts encoding a weight.
    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder>;

    /// Returns this encoder with the importance of a weight's columns, if it uses importance.
    fn with_importance(&self, _: Arc<dyn Importance>) -> Option<Arc<dyn Encoder>> {
        None
    }

    /// Whether the reference library rejects this type without an importance matrix.
    fn needs_importance(&self) -> bool {
        false
    }

    /// Whether it weights errors by the importance of columns.
    fn uses_importance(&self) -> bool {
        false
    }

    /// Returns why NaN and infinity are never stored, even if the user accepts them; `None` if they
    /// can be.
    fn refuses_non_finite(&self) -> Option<&'static str> {
        None
    }

    /// Identifies the encoder among those with the same tensor names, types and shapes. Output that
    /// one encoder began must not be continued by another.
    fn identity(&self) -> Result<String> {
        Ok(self.name().to_owned())
    }

    /// Files, config keys and metadata that a repository with such weights needs.
    fn additions(&self) -> Additions {
        Additions::default()
    }
}

/// Encodes one weight.
pub trait WeightEncoder: Send + Sync {
    /// Whether every number must be [seen](Self::see) before the first is encoded.
    fn needs_first_pass(&self) -> bool {
        false
    }

    /// Takes some numbers during the first pass. Tiles arrive in any order, so the result must not
    /// depend on it.
    fn see(&self, _elements: Range<u64>, _values: &[f32]) {}

    /// Encodes some numbers. `out` has the bytes of each tensor that they produce. A tensor that is
    /// written [once](Groups::Once) is passed whole with the weight's first element, and empty
    /// later.
    fn encode(&self, elements: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()>;

    /// Decodes the output of [`encode`](Self::encode) for some elements to the f32 values that a
    /// reader would see. Adds the available levels if they are known. Returns whether decoding is
    /// supported.
    fn decode(
        &self,
        _elements: Range<u64>,
        _encoded: &[&[u8]],
        _decoded: &mut Decoded,
    ) -> Result<bool> {
        Ok(false)
    }
}

/// Encoded numbers after decoding.
#[derive(Default)]
pub struct Decoded {
    /// One slot per number.
    pub numbers: Vec<f32>,
    /// Levels of all numbers, in their order; empty if unknown.
    pub levels: Vec<SameLevels>,
}

impl Decoded {
    /// Makes room for `count` numbers.
    pub fn start(&mut self, count: usize) {
        self.numbers.resize(count, 0.0);
        self.levels.clear();
    }
}

/// Consecutive numbers that share their levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SameLevels {
    /// Number of elements.
    pub elements: usize,
    /// Distance between neighbouring levels; a typical one if it varies.
    pub step: f32,
    /// The lowest level.
    pub lowest: f32,
    /// The highest level.
    pub highest: f32,
}

/// An output tensor of an encoder.
#[derive(Clone, Debug)]
pub struct EncodedTensor {
    /// Name.
    pub name: String,
    /// Stored type.
    pub stored: StoredType,
    /// Dimensions, outermost first.
    pub shape: Shape,
    /// Size in bytes.
    pub bytes: u64,
    /// Mapping from elements to bytes.
    pub groups: Groups,
}

impl EncodedTensor {
    /// Creates a tensor whose elements take whole bytes.
    pub fn of(name: String, dtype: DType, shape: &[u64], groups: Groups) -> Self {
        let bytes = shape.iter().product::<u64>() * u64::from(dtype.bits() / 8);
        Self { name, stored: dtype.into(), shape: shape.into(), bytes, groups }
    }
}

/// Mapping from the elements of a weight to the bytes of an output tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Each group of elements produces a fixed number of bytes: a block, an element, a row's scale.
    /// The last group may have fewer elements, and produces the remaining bytes.
    Of {
        /// Elements per group.
        elements: u64,
        /// Bytes per group.
        bytes: u64,
    },
    /// All elements together produce all bytes, as for a tensor's scale.
    Once,
}

impl Groups {
    /// Returns the bytes, out of `all`, that some elements produce.
    #[must_use]
    pub fn bytes_of(self, elements: &Range<u64>, all: u64) -> Range<u64> {
        let before = |element: u64| match self {
            Self::Of { elements, bytes } => (element.div_ceil(elements.max(1)) * bytes).min(all),
            Self::Once if element == 0 => 0,
            Self::Once => all,
        };
        before(elements.start)..before(elements.end)
    }
}
