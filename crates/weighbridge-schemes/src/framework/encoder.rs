//! Encoders: a weight's numbers become one or more stored tensors.
//!
//! An encoder says which tensors a weight becomes and how many bytes of each so many numbers give.
//! Numbers then arrive tile by tile, on any thread and in any order; a tile holds whole groups of
//! every tensor. What has to be known of the whole weight first (a maximum, a histogram) is
//! gathered in a pass over it before its first tile is encoded.

use std::ops::Range;
use std::sync::Arc;

use crate::catalog::Shape;
use crate::dtype::{DType, StoredType};
use crate::error::Result;
use crate::framework::{Additions, Importance};

/// A way to store numbers.
pub trait Encoder: Send + Sync {
    /// What users call it. No two encoders have one name, in whatever letter case.
    fn name(&self) -> &'static str;

    /// The types of the tensors that it gives: a format without one of them cannot hold them.
    fn types(&self) -> Vec<StoredType>;

    /// The tensors that a weight of that name and shape becomes, or why it cannot be encoded.
    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String>;

    /// Starts on a weight.
    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder>;

    /// The same with the importance of a weight's columns, if it looks at that.
    fn with_importance(&self, _: Arc<dyn Importance>) -> Option<Arc<dyn Encoder>> {
        None
    }

    /// Whether it gives what its library does only with importance: that refuses it without.
    fn needs_importance(&self) -> bool {
        false
    }

    /// What tells it from others that give tensors of the same names, types and shapes: what one of
    /// them has begun, another must not go on with.
    fn identity(&self) -> Result<String> {
        Ok(self.name().to_owned())
    }

    /// What a repository needs beside weights that are stored this way.
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

    /// Sees some numbers during the first pass. Tiles come in any order, so what is gathered must
    /// not depend on it.
    fn see(&self, _elements: Range<u64>, _values: &[f32]) {}

    /// Encodes some numbers. `out` has the bytes of each tensor that they make; of one that is
    /// written [once](Groups::Once), all of them with the weight's first element and none later.
    fn encode(&self, elements: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()>;

    /// Decodes what [`encode`](Self::encode) gave for some numbers, to the f32 that a reader would
    /// see, and adds the levels that they could choose from, if that can be said. Returns whether it
    /// can be decoded.
    fn decode(&self, _encoded: &[&[u8]], _decoded: &mut Decoded) -> Result<bool> {
        Ok(false)
    }
}

/// What was encoded, as numbers again.
#[derive(Default)]
pub struct Decoded {
    /// A place for each number.
    pub numbers: Vec<f32>,
    /// The levels of all of them, in their order; none where these are not known.
    pub levels: Vec<SameLevels>,
}

impl Decoded {
    /// Makes place for so many numbers.
    pub fn start(&mut self, count: usize) {
        self.numbers.resize(count, 0.0);
        self.levels.clear();
    }
}

/// Some numbers, one after the other, that share their levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SameLevels {
    /// How many they are.
    pub elements: usize,
    /// The distance between neighbouring levels; where that differs, the middling one.
    pub step: f32,
    /// The lowest level.
    pub lowest: f32,
    /// The highest level.
    pub highest: f32,
}

/// A tensor that an encoder gives.
#[derive(Clone, Debug)]
pub struct EncodedTensor {
    /// Its name.
    pub name: String,
    /// What its bytes are.
    pub stored: StoredType,
    /// Its dimensions, outermost first.
    pub shape: Shape,
    /// How many bytes it has.
    pub bytes: u64,
    /// Which numbers make which bytes.
    pub groups: Groups,
}

impl EncodedTensor {
    /// A tensor of elements that take whole bytes.
    pub fn of(name: String, dtype: DType, shape: &[u64], groups: Groups) -> Self {
        let bytes = shape.iter().product::<u64>() * u64::from(dtype.bits() / 8);
        Self { name, stored: dtype.into(), shape: shape.into(), bytes, groups }
    }
}

/// Which elements of a weight make which bytes of an output tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Every so many elements make so many bytes: a block, an element, a row's scale. The last
    /// group may have fewer elements, and makes the bytes that are left.
    Of {
        /// Elements of a group.
        elements: u64,
        /// Bytes that they make.
        bytes: u64,
    },
    /// All elements together make all bytes: a tensor's scale.
    Once,
}

impl Groups {
    /// The bytes, of `all`, that some elements make.
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
