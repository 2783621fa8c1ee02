//! How a weight lies in its tensors.

use crate::arithmetic::matrix::Packing;
use crate::catalog::Shape;
use crate::dtype::DType;

/// How one weight lies in its tensors, once all evidence agrees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) shape: Shape,
    pub(super) codes: Kind,
    /// Stored bytes of a row of codes.
    pub(super) row_bytes: u64,
    pub(super) cells: Cells,
    pub(super) scale: DType,
    pub(super) zero: ZeroKind,
    pub(super) order: Columns,
    /// The type of `weight_shape`, where that has not been read and must agree.
    pub(super) stated: Option<DType>,
    /// What the library decodes to.
    pub(super) native: DType,
}

/// What a code is.
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

/// Which codes share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    All,
    /// Columns of one row: how many, and how many such groups.
    Rows {
        group: u64,
        cells: u64,
    },
    /// Rows and columns of a block, and blocks beside one another.
    Blocks {
        band: u64,
        group: u64,
        cells: u64,
    },
}

impl Cells {
    /// Cells beside one another.
    pub(super) fn across(self) -> u64 {
        match self {
            Self::All => 1,
            Self::Rows { cells, .. } | Self::Blocks { cells, .. } => cells,
        }
    }
}

/// Which group a column is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// As they lie.
    InOrder,
    /// As `weight_g_idx` lists them.
    Listed,
    /// The config mentions a list, but it is missing.
    Missing,
}

/// How zero points are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZeroKind {
    None,
    /// A signed byte each.
    Bytes,
    /// A small float each.
    Floats(DType),
    /// Packed down the rows; as a stream or in whole words.
    Packed {
        bits: u32,
        stream: bool,
    },
}

impl Layout {
    pub(super) fn columns(&self) -> u64 {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Rows of one matrix.
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
