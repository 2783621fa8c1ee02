//! Weights that go from one scheme to another without being decoded.
//!
//! Several schemes store the same thing in another order: four-bit floats (E2M1), and a scale for
//! every so many of a row. The recipe of one hands them out in a common form ([`Coded`]), and
//! another scheme takes them into its own ([`Packer`]); no scheme knows another. A recipe says that
//! it has such codes ([`Recipe::coded`](crate::framework::Recipe::coded)), a scheme lists its packers
//! ([`Scheme::packers`](crate::framework::Scheme::packers)).
//!
//! The common form: two codes a byte, the low nibble first; a byte for the scale of each group.
//!
//! Codes that lie in words, with scales and zero points beside them, have a form of their own
//! ([`GroupedCodes`]), of which any rows and columns can be had. What takes them makes several
//! tensors, and says how all weights of a model lie ([`TargetLayout`]).

use std::ops::Range;

use crate::blocks::Block;
use crate::dtype::DType;
use crate::error::Result;
use crate::source::{Slab, Staged};

mod grouped;
mod layout;

pub use grouped::first;
pub use grouped::{CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind, NotMoved};
pub use layout::{
    CodedWeight, LaidOut, Outermost, PackedWeight, Panel, PanelPacker, TargetLayout, ToLayOut,
    Unfit,
};

/// What kind of codes: those of one kind can be moved from scheme to scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeKind {
    /// The type of the scales, which take a byte.
    pub scale: DType,
    /// Codes that share a scale.
    pub group: u64,
}

/// A weight whose codes can be had as they are.
pub trait Coded: Send + Sync {
    /// What kind they are.
    fn kind(&self) -> CodeKind;

    /// The pieces of the parts that hold the codes and scales of `elements`, which are whole groups.
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>);

    /// Reads the codes and scales of `elements`. `staged[i]` holds the bytes of the `i`th slab of
    /// [`needs`](Self::needs).
    fn read(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<()>;

    /// Factors that lie beside codes and scales.
    fn beside(&self) -> Beside {
        Beside::default()
    }
}

/// Factors that lie beside codes and scales.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The part that holds the factor of the whole weight, in f32, if there is one.
    pub factor: Option<usize>,
    /// The end of the name of a tensor with a scale of the activations, in the weight's module.
    pub input: Option<&'static str>,
    /// Whether these are to be divided by.
    pub is_inverse: bool,
}

/// Takes codes and scales into blocks.
pub trait Packer: Send + Sync {
    /// What kind it takes.
    fn kind(&self) -> CodeKind;

    /// The blocks that it makes.
    fn block(&self) -> Option<&'static Block>;

    /// Elements of a block.
    fn unit(&self) -> u64 {
        self.block().map_or(1, |block| block.elements.into())
    }

    /// What llama.cpp calls files that are mostly made of them, by number.
    fn file_type(&self) -> u32;

    /// Makes blocks; the error is the index of the first scale that they cannot hold.
    fn pack(&self, codes: &[u8], scales: &[u8], out: &mut [u8]) -> Result<(), usize>;
}
