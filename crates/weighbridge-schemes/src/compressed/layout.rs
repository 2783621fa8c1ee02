//! The layout of a weight in its tensors.

use crate::arithmetic::matrix::Packing;
use crate::catalog::Shape;
use crate::dtype::DType;

/// The layout of one weight, once all evidence agrees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) shape: Shape,
    pub(super) codes: Kind,
    /// Stored bytes per row of codes.
    pub(super) row_bytes: u64,
    pub(super) cells: Cells,
    pub(super) scale: DType,
    pub(super) zero: ZeroKind,
    pub(super) order: Columns,
    /// Type of `weight_shape`, if it has not been read and must agree.
    pub(super) stated: Option<DType>,
    /// Type that the library decodes to.
    pub(super) native: DType,
}

/// Type of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer of this many bits, stored with half its range added.
    Packed(u32, Packing),
    /// A signed byte.
    Byte,
    /// A small float in a byte.
    Float(DType),
    /// A four-bit float, with a scale for the whole weight where there is one.
    E2m1 { global: bool },
    /// A six-bit float.
    E2m3,
}

/// Codes that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    All,
    /// Columns of one row: their number, and the number of such groups.
    Rows {
        group: u64,
        cells: u64,
    },
    /// Rows and columns of a block, and blocks per row of blocks.
    Blocks {
        band: u64,
        group: u64,
        cells: u64,
    },
}

impl Cells {
    /// Returns the cells per row of cells.
    pub(super) fn across(self) -> u64 {
        match self {
            Self::All => 1,
            Self::Rows { cells, .. } | Self::Blocks { cells, .. } => cells,
        }
    }
}

/// Group order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// In order.
    InOrder,
    /// As listed in `weight_g_idx`.
    Listed,
    /// The config mentions a list, but it is missing.
    Missing,
}

/// Storage of the zero points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZeroKind {
    None,
    /// One signed byte each.
    Bytes,
    /// One small float each.
    Floats(DType),
    /// Packed down the rows, as a stream or in whole words.
    Packed {
        bits: u32,
        stream: bool,
    },
}

impl Layout {
    pub(super) fn columns(&self) -> u64 {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Returns the rows of one matrix.
    pub(super) fn rows(&self) -> u64 {
        self.shape.iter().rev().nth(1).copied().unwrap_or(1)
    }

    pub(super) fn variant(&self) -> String {
        let codes = match self.codes {
            Kind::E2m1 { global: true } => return "nvfp4".to_owned(),
            Kind::E2m1 { global: false } => return "mxfp4".to_owned(),
            Kind::E2m3 => return "mxfp6".to_owned(),
            Kind::Float(_) if self.scale == DType::F8_E8M0 => return "mxfp8".to_owned(),
            Kind::Packed(bits, Packing::Words(_)) => format!("int{bits}-words"),
            Kind::Packed(bits, _) => format!("int{bits}"),
            Kind::Byte => "int8-bytes".to_owned(),
            Kind::Float(DType::F8_E4M3) => "fp8".to_owned(),
            Kind::Float(other) => other.name().to_lowercase().replace('_', "-"),
        };
        let cells = match self.cells {
            Cells::All => "tensor".to_owned(),
            Cells::Rows { cells: 1, .. } => "channel".to_owned(),
            Cells::Rows { group, .. } => format!("g{group}"),
            Cells::Blocks { band, group, .. } => format!("block{band}x{group}"),
        };
        let zero = if self.zero == ZeroKind::None { "" } else { "-asym" };
        let order = if self.order == Columns::Listed { "-actorder" } else { "" };
        format!("{codes}-{cells}{zero}{order}")
    }
}
