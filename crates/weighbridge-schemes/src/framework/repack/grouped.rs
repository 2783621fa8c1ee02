//! Matrices of codes whose groups of columns share a scale, and perhaps a zero point.
//!
//! The common form has one byte per integer, row by row, or per two floats, the first in the low
//! bits; the scales of each row's groups as stored; and one byte per zero point, in the same order.
//! Any rows and columns of integers can be read, so that layouts with rows outermost and with
//! columns outermost can both be written piece by piece. For floats, any range of elements can be
//! read.

use std::ops::Range;

use crate::dtype::DType;
use crate::error::Result;
use crate::source::{Slab, Staged};

/// The form of a matrix of codes, and its grouping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupedForm {
    /// Meaning of the codes.
    pub numbers: CodeNumbers,
    /// Rows: outputs.
    pub rows: u64,
    /// Columns: inputs, a multiple of the group size.
    pub columns: u64,
    /// Columns of a row that share their factors.
    pub group: u64,
    /// The type of the scales.
    pub scale: DType,
}

/// Meaning of a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CodeNumbers {
    /// An unsigned integer, from which a zero point is subtracted.
    Integers {
        /// Bits per code; words hold whole codes.
        bits: u32,
        /// Whether zero points are stored; otherwise all are the middle value.
        has_zeros: bool,
    },
    /// A four-bit float (E2M1).
    Floats {
        /// Whether code 8 is minus zero; otherwise it is zero.
        has_minus_zero: bool,
    },
}

impl GroupedForm {
    /// Returns the bits per code.
    #[must_use]
    pub fn bits(&self) -> u32 {
        match self.numbers {
            CodeNumbers::Integers { bits, .. } => bits,
            CodeNumbers::Floats { .. } => 4,
        }
    }

    /// Returns the bytes of `codes` codes in the common form.
    #[must_use]
    pub fn bytes_of_codes(&self, codes: usize) -> usize {
        match self.numbers {
            CodeNumbers::Integers { .. } => codes,
            CodeNumbers::Floats { .. } => codes / 2,
        }
    }

    /// Returns the codes per 32-bit word.
    #[must_use]
    pub fn codes_a_word(&self) -> u64 {
        u64::from(32 / self.bits())
    }

    /// Returns the groups per row.
    #[must_use]
    pub fn groups(&self) -> u64 {
        self.columns / self.group.max(1)
    }

    /// Returns the bytes per scale.
    #[must_use]
    pub fn scale_bytes(&self) -> u64 {
        u64::from(self.scale.bits() / 8)
    }

    /// Returns the zero point of codes without stored zero points.
    #[must_use]
    pub fn middle(&self) -> u8 {
        1 << (self.bits() - 1)
    }

    /// Creates the form of integers if words hold whole codes and groups whole words; otherwise
    /// returns why they cannot be moved.
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

/// A component of a matrix of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Codes: one byte per integer or per two floats.
    Codes,
    /// Scales, as stored.
    Scales,
    /// Zero points, one byte each.
    Zeros,
}

/// A destination for codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// Tensors of a repository, whose config describes their layout.
    Layout,
    /// Blocks in one file.
    Blocks,
}

/// A range of rows of a matrix and, in each, a range of columns; for scales and zero points, of
/// groups. A range of elements is stored as columns of the first row, counted through all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// Rows.
    pub rows: Range<u64>,
    /// Columns or groups.
    pub across: Range<u64>,
}

impl Extract {
    /// Returns the number of rows, and of columns or groups in each.
    #[must_use]
    pub fn sides(&self) -> [usize; 2] {
        [&self.rows, &self.across]
            .map(|of| usize::try_from(of.end.saturating_sub(of.start)).unwrap_or(usize::MAX))
    }
}

/// A scale for all numbers of a weight, or one for each of its matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    /// The part that holds it, in f32.
    pub part: usize,
    /// Whether scales are divided by it; otherwise they are multiplied.
    pub divides: bool,
    /// Suffix of the tensor with the activation scale in the weight's module, which applies the
    /// same way.
    pub input: &'static str,
}

/// A weight whose codes and factors can be read unchanged, by rows and groups of columns.
pub trait GroupedCodes: Send + Sync {
    /// Returns the form of the codes, or why they cannot be moved to that destination.
    fn form(&self, taker: Taker) -> Result<GroupedForm, String>;

    /// Returns the global scale, if there is one.
    fn global(&self) -> Option<Global> {
        None
    }

    /// Appends the byte ranges that [`check`](Self::check) reads.
    fn needs_for_check(&self, _slabs: &mut Vec<Slab>) {}

    /// Checks the stored bytes: returns why codes cannot be moved although their form allows it.
    fn check(&self, _staged: &[Staged<'_>]) -> Result<(), String> {
        Ok(())
    }

    /// Appends the byte ranges that an extract needs.
    fn needs(&self, kind: Kind, of: &Extract, slabs: &mut Vec<Slab>);

    /// Reads an extract, row by row. `staged[i]` holds the bytes of the `i`th slab of
    /// [`needs`](Self::needs).
    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()>;
}

/// Reason for codes that no other scheme can store.
pub const NOT_MOVED: &str = "its codes cannot be moved to another layout unchanged";
