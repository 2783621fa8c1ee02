//! What a tensor's type number means, and how many bytes it makes of a shape.
//!
//! Numbers of plain types are here, those of block types in `blocks`. Some numbers mean something
//! else in files of a fork, which only the metadata gives away:
//!
//! ```text
//! 4        early Ollama gpt-oss files (architecture `gptoss`): MXFP4 whose two codes of a byte are
//!          neighbours; type 39 has them 16 elements apart
//! 36       BitNet (architecture `bitnet..`, or file type 40): I2_S, n / 4 bytes of two-bit codes
//!          for the whole tensor, then 32 bytes that begin with the scale
//! 37..39   BitNet architectures: I8_S, TL1, TL2, whose sizes depend on tuning outside the file
//! 202..399 ik_llama.cpp: rows interleaved by four, eight or sixteen
//! ```

use crate::blocks::{Block, Standing};
use crate::catalog::{Metadata, Swap};
use crate::cursor::Endian;
use crate::dtype::{DType, StoredType};

/// What a type number came to for one tensor.
pub(super) struct Resolved {
    pub(super) stored: StoredType,
    pub(super) size: Size,
    pub(super) swap: Swap,
    /// Why values cannot be read, although the size is known.
    pub(super) refused: Option<String>,
}

/// How many bytes a tensor takes.
pub(super) enum Size {
    /// Exactly this many bytes.
    Bytes(u64),
    /// Unknown, with the reason; the tensor is taken to end where the next one starts.
    Unknown(String),
    /// The shape does not go with the type. With the reason.
    BadShape(String),
    /// More than a file can hold.
    TooLarge,
}

/// Which fork's reading of type numbers applies to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Dialect {
    bitnet: bool,
    two_bit: bool,
    ollama_gpt_oss: bool,
}

impl Dialect {
    /// Told from the metadata.
    pub(super) fn of(metadata: &Metadata) -> Self {
        let text = |key| metadata.get(key).and_then(crate::catalog::Value::as_str);
        let architecture = text("general.architecture").unwrap_or_default();
        let file_type = metadata.get("general.file_type").and_then(crate::catalog::Value::as_u64);
        let bitnet = architecture.starts_with("bitnet");
        Self {
            bitnet,
            two_bit: bitnet || file_type == Some(40),
            ollama_gpt_oss: architecture == "gptoss",
        }
    }
}

/// Elements of a tensor, cut into rows.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) elements: u64,
    pub(super) columns: u64,
}

impl Extent {
    fn rows(self) -> u64 {
        self.elements.checked_div(self.columns).unwrap_or(0)
    }
}

/// What type number `id` means for a tensor of this extent.
pub(super) fn resolve(id: u32, extent: Extent, dialect: Dialect, endian: Endian) -> Resolved {
    if let Some(fork) = fork(id, extent, dialect) {
        return fork;
    }
    if let Some(dtype) = plain(id) {
        let size = dtype.bytes_for(extent.elements).map_or(Size::TooLarge, Size::Bytes);
        let swap = match (endian, dtype.swap_width()) {
            (Endian::Little, _) | (_, 1) => Swap::None,
            (Endian::Big, width) => Swap::Elements(width),
        };
        return Resolved { stored: dtype.into(), size, swap, refused: None };
    }
    match Block::from_id(id) {
        Some(block) => blocks(block, extent, endian),
        None => opaque(format!("type {id}"), Size::Unknown(unknown(id))),
    }
}

/// Plain types and their numbers.
const PLAIN: [(u32, DType); 8] = [
    (0, DType::F32),
    (1, DType::F16),
    (24, DType::I8),
    (25, DType::I16),
    (26, DType::I32),
    (27, DType::I64),
    (28, DType::F64),
    (30, DType::BF16),
];

fn plain(id: u32) -> Option<DType> {
    PLAIN.iter().find(|row| row.0 == id).map(|row| row.1)
}

/// The number of a plain type.
pub(super) fn number(dtype: DType) -> Option<u32> {
    PLAIN.iter().find(|row| row.1 == dtype).map(|row| row.0)
}

fn blocks(block: &'static Block, extent: Extent, endian: Endian) -> Resolved {
    let big = endian == Endian::Big;
    let known = block.standing == Standing::Current;
    Resolved {
        stored: StoredType::Block(block),
        size: block_size(extent, block.name, block.elements, |rows, columns| {
            block.bytes_for(rows, columns)
        }),
        swap: if big && !block.words.is_empty() { Swap::Blocks(block) } else { Swap::None },
        refused: (big && !known).then(|| {
            format!(
                "{} blocks in big-endian files are not supported: their byte order is unknown",
                block.name
            )
        }),
    }
}

/// Bytes of whole blocks of `length` elements.
fn block_size(
    extent: Extent,
    name: &str,
    length: u32,
    bytes_for: impl Fn(u64, u64) -> Option<u64>,
) -> Size {
    if extent.elements == 0 {
        return Size::Bytes(0);
    }
    match bytes_for(extent.rows(), extent.columns) {
        Some(bytes) => Size::Bytes(bytes),
        None if extent.columns.checked_rem(length.into()) == Some(0) => Size::TooLarge,
        None => Size::BadShape(format!(
            "row length {} is not a multiple of the {name} block size ({length})",
            extent.columns
        )),
    }
}

/// Numbers that mean something else in this file.
fn fork(id: u32, extent: Extent, dialect: Dialect) -> Option<Resolved> {
    let unsized_type = |name: &str| {
        let reason = format!(
            "{name} is specific to BitNet; its layout depends on tuning that the file does \
                 not store"
        );
        opaque(name.to_owned(), Size::Unknown(reason))
    };
    Some(match id {
        4 if dialect.ollama_gpt_oss => opaque(
            "MXFP4".to_owned(),
            block_size(extent, "MXFP4", 32, |rows, columns| {
                let blocks = columns.checked_div(32).filter(|_| columns % 32 == 0)?;
                blocks.checked_mul(17)?.checked_mul(rows)
            }),
        ),
        36 if dialect.two_bit => {
            let bytes = (extent.elements / 4).checked_add(32);
            let size = match extent.elements % 4 {
                0 => bytes.map_or(Size::TooLarge, Size::Bytes),
                _ => Size::BadShape(format!(
                    "I2_S packs four elements per byte, but the element count is {}",
                    extent.elements
                )),
            };
            opaque("I2_S".to_owned(), size)
        }
        37 if dialect.bitnet => unsized_type("I8_S"),
        38 if dialect.bitnet => unsized_type("TL1"),
        39 if dialect.bitnet => unsized_type("TL2"),
        _ => return None,
    })
}

fn opaque(name: String, size: Size) -> Resolved {
    Resolved { stored: StoredType::opaque(name), size, swap: Swap::None, refused: None }
}

fn unknown(id: u32) -> String {
    match id {
        4 | 5 => format!("type {id} was removed from ggml before GGUF existed"),
        36..=38 => format!("type {id} was removed from ggml; only BitNet files reuse it"),
        202..=399 => {
            format!(
                "unsupported type {id}; ik_llama.cpp uses such numbers for row-interleaved \
                     types"
            )
        }
        _ => format!("unsupported type {id}"),
    }
}
