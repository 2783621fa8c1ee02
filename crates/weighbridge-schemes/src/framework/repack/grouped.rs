//! Matrices of codes whose groups of columns share a scale, and perhaps a zero point.
//!
//! The common form: a byte for each whole number, row by row, or for two floats, the first in its low
//! bits; the scales of each row's groups as they are stored; a byte for each zero point, in the same
//! order. Any rows and columns of whole numbers can be had, so that a layout with rows outermost and
//! one with columns outermost can both be written piece by piece. Of floats, any stretch can be had.

use std::ops::Range;

use crate::dtype::DType;
use crate::error::Result;
use crate::source::{Slab, Staged};

/// What the codes of a matrix are, and which of them share their factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupedForm {
    /// What a code stands for.
    pub numbers: CodeNumbers,
    /// Rows: outputs.
    pub rows: u64,
    /// Columns: inputs. They are whole groups.
    pub columns: u64,
    /// Columns of a row that share their factors.
    pub group: u64,
    /// The type of the scales.
    pub scale: DType,
}

/// What a code stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CodeNumbers {
    /// A whole number without a sign, from which a zero point is taken.
    Integers {
        /// Bits of a code: words hold whole ones.
        bits: u32,
        /// Whether zero points are stored; without, they are all the middle.
        has_zeros: bool,
    },
    /// A four-bit float (E2M1).
    Floats {
        /// Whether code 8 is minus zero; otherwise it is zero, too.
        has_minus_zero: bool,
    },
}

impl GroupedForm {
    /// Bits of a code.
    #[must_use]
    pub fn bits(&self) -> u32 {
        match self.numbers {
            CodeNumbers::Integers { bits, .. } => bits,
            CodeNumbers::Floats { .. } => 4,
        }
    }

    /// Bytes of so many codes in the common form.
    #[must_use]
    pub fn bytes_of_codes(&self, codes: usize) -> usize {
        match self.numbers {
            CodeNumbers::Integers { .. } => codes,
            CodeNumbers::Floats { .. } => codes / 2,
        }
    }

    /// Codes of a word of 32 bits.
    #[must_use]
    pub fn codes_a_word(&self) -> u64 {
        u64::from(32 / self.bits())
    }

    /// Groups of a row.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.columns / self.group.max(1)
    }

    /// Bytes of a scale.
    #[must_use]
    pub fn scale_bytes(&self) -> u64 {
        u64::from(self.scale.bits() / 8)
    }

    /// The zero point of codes that have none of their own.
    #[must_use]
    pub fn middle(&self) -> u8 {
        1 << (self.bits() - 1)
    }

    /// The form of integers, if words hold whole codes and groups whole words; otherwise what
    /// stands against moving them.
    pub fn of_integers(
        (bits, has_zeros): (u32, bool),
        [rows, columns, group]: [u64; 3],
        scale: DType,
    ) -> Result<Self, String> {
        if ![4, 8].contains(&bits) {
            return Err(format!(
                "its codes have {bits} bits, but only 4 and 8 bits can be repacked"
            ));
        }
        let numbers = CodeNumbers::Integers { bits, has_zeros };
        let form = Self { numbers, rows, columns, group, scale };
        if group == 0 || !columns.is_multiple_of(group) {
            return Err(format!(
                "row length {columns} is not a multiple of the group size ({group})"
            ));
        }
        let word = form.codes_a_word();
        if columns.is_multiple_of(word) && (form.groups() == 1 || group.is_multiple_of(word)) {
            return Ok(form);
        }
        Err(format!("its {columns} columns in groups of {group} do not fill whole words"))
    }
}

/// One of the things that a matrix of codes is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Codes: a byte for one whole number or two floats.
    Codes,
    /// Scales, as they are stored.
    Scales,
    /// Zero points, a byte each.
    Zeros,
}

/// What takes codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// Tensors of a repository, whose config says how they lie.
    Layout,
    /// Blocks of one file.
    Blocks,
}

/// Some rows of a matrix, and of each some columns; of scales and zero points, some groups. A stretch
/// of a weight is some columns of its first row, which is counted on through all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// Rows.
    pub rows: Range<u64>,
    /// Columns or groups.
    pub across: Range<u64>,
}

impl Extract {
    /// How many rows there are, and how many columns or groups of each.
    #[must_use]
    pub fn sides(&self) -> [usize; 2] {
        [&self.rows, &self.across]
            .map(|of| usize::try_from(of.end.saturating_sub(of.start)).unwrap_or(usize::MAX))
    }
}

/// A factor of all numbers of a weight, or one for each of its matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// The part that holds it, in f32.
    pub part: usize,
    /// Whether scales are divided by it; otherwise they are multiplied.
    pub divides: bool,
    /// The end of the name of a tensor with a scale of the activations, in the weight's module, which
    /// does the same.
    pub input: &'static str,
}

/// A weight whose codes and factors can be had as they are, any rows and groups of columns at a time.
pub trait GroupedCodes: Send + Sync {
    /// What they are; or why they cannot be moved there.
    fn form(&self, taker: Taker) -> Result<GroupedForm, String>;

    /// The factor of all of its numbers, if there is one besides the scales.
    fn global(&self) -> Option<Global> {
        None
    }

    /// The pieces of the parts that [`check`](Self::check) looks at.
    fn needs_for_check(&self, _slabs: &mut Vec<Slab>) {}

    /// Looks at what only the stored bytes tell: why codes cannot be moved although their form allows it.
    fn check(&self, _staged: &[Staged<'_>]) -> Result<(), String> {
        Ok(())
    }

    /// The pieces of the parts that hold something of an extract.
    fn needs(&self, kind: Kind, of: &Extract, slabs: &mut Vec<Slab>);

    /// Reads it, row by row. `staged[i]` holds the bytes of the `i`th slab of [`needs`](Self::needs).
    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()>;
}

/// Why codes stay where they are that no other scheme holds.
pub const NOT_MOVED: &str = "its codes cannot be moved to another layout unchanged";
