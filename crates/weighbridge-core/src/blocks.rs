//! The table of block types: what ggml and its forks call each one, how many elements a block
//! holds and how many bytes it takes.
//!
//! The rows are facts of the files. Arithmetic lives in `schemes/ggml`, one file per family.

use crate::shape::element_count;

/// One block type of the ggml family.
#[derive(Debug)]
pub struct Block {
    /// The number GGUF files use for it.
    pub id: u32,
    /// ggml's name.
    pub name: &'static str,
    /// llama.cpp's number for a file whose matrices have mostly this type.
    pub file_type: Option<u64>,
    /// Elements in a block.
    pub elements: u32,
    /// Bytes in a block.
    pub bytes: u32,
    /// Bytes in front of each row, before its first block (ik_llama.cpp's row scales).
    pub row_header: u32,
    /// The multi-byte numbers inside a block as (offset, width, count), so that the blocks of a
    /// big-endian file can be turned into little-endian ones. Widths are those of ggml's stores on
    /// a big-endian machine; its structs declare some of these numbers as narrower arrays.
    pub words: &'static [(u16, u8, u16)],
    /// Whether this is still written, and by whom.
    pub standing: Standing,
}

/// Where a block type is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Written by today's ggml.
    Current,
    /// Once written by ggml, since removed: old files exist.
    Removed,
    /// Written by the ik_llama.cpp fork only.
    IkLlama,
    /// Written by APR files only.
    Apr,
}

/// APR's 8-bit type. Its one scale is the whole tensor's, so it is no block and not in the table.
pub const APR_Q8: &str = "APR_Q8";

/// How the blocks of a tensor lie over its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiling {
    /// Every row is made of whole blocks.
    Rows,
    /// The last block of every row is filled up with elements that do not count.
    PaddedRows,
    /// Blocks run over the flat tensor, whatever its rows; the last one is filled up.
    Flat,
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Block {
    /// The block type with this GGUF number.
    pub fn from_id(id: u32) -> Option<&'static Self> {
        BLOCKS.iter().find(|block| block.id == id && block.standing != Standing::Apr)
    }

    /// The block type of this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        BLOCKS.iter().find(|block| block.name == name)
    }

    /// Bytes of a tensor of `rows` rows of `columns` elements; `None` if a row is not made of
    /// whole blocks or the count overflows.
    pub fn bytes_for(&self, rows: u64, columns: u64) -> Option<u64> {
        if !columns.is_multiple_of(self.elements.into()) {
            return None;
        }
        let row = (columns / u64::from(self.elements))
            .checked_mul(self.bytes.into())?
            .checked_add(self.row_header.into())?;
        row.checked_mul(rows)
    }

    /// How blocks must lie for a tensor of this shape to take `bytes` bytes; `None` if they cannot.
    ///
    /// Where padded rows and flat blocks take the same size, a matrix has padded rows, unless the
    /// type is APR's own, which is always flat.
    pub fn tiling(&self, shape: &[u64], bytes: u64) -> Option<Tiling> {
        let elements = element_count(shape)?;
        let columns = shape.last().copied().unwrap_or(1);
        if elements == 0 {
            return (bytes == 0).then_some(Tiling::Rows);
        }
        let rows = elements / columns;
        if self.bytes_for(rows, columns) == Some(bytes) {
            return Some(Tiling::Rows);
        }
        let padded = |rows: u64, columns: u64| {
            let blocks = columns.div_ceil(self.elements.into()).checked_mul(rows)?;
            blocks.checked_mul(self.bytes.into())
        };
        match self.row_header {
            0 if shape.len() == 2
                && self.standing != Standing::Apr
                && padded(rows, columns) == Some(bytes) =>
            {
                Some(Tiling::PaddedRows)
            }
            0 if padded(1, elements) == Some(bytes) => Some(Tiling::Flat),
            _ => None,
        }
    }
}

const fn row(
    id: u32,
    name: &'static str,
    file_type: Option<u64>,
    elements: u32,
    bytes: u32,
    words: &'static [(u16, u8, u16)],
) -> Block {
    let standing = Standing::Current;
    Block { id, name, file_type, elements, bytes, row_header: 0, words, standing }
}

const fn removed(id: u32, name: &'static str, elements: u32, bytes: u32) -> Block {
    Block { standing: Standing::Removed, ..row(id, name, None, elements, bytes, &[]) }
}

const fn ik(id: u32, name: &'static str, elements: u32, bytes: u32, row_header: u32) -> Block {
    Block { row_header, standing: Standing::IkLlama, ..row(id, name, None, elements, bytes, &[]) }
}

const fn apr(id: u32, name: &'static str, elements: u32, bytes: u32) -> Block {
    Block { standing: Standing::Apr, ..row(id, name, None, elements, bytes, &[]) }
}

/// Every block type, by number.
pub static BLOCKS: &[Block] = &[
    row(2, "Q4_0", Some(2), 32, 18, &[(0, 2, 1)]),
    row(3, "Q4_1", Some(3), 32, 20, &[(0, 2, 2)]),
    row(6, "Q5_0", Some(8), 32, 22, &[(0, 2, 1), (2, 4, 1)]),
    row(7, "Q5_1", Some(9), 32, 24, &[(0, 2, 2), (4, 4, 1)]),
    row(8, "Q8_0", Some(7), 32, 34, &[(0, 2, 1)]),
    row(9, "Q8_1", None, 32, 36, &[(0, 2, 2)]),
    row(10, "Q2_K", Some(10), 256, 84, &[(80, 2, 2)]),
    row(11, "Q3_K", Some(12), 256, 110, &[(108, 2, 1)]),
    row(12, "Q4_K", Some(15), 256, 144, &[(0, 2, 2)]),
    row(13, "Q5_K", Some(17), 256, 176, &[(0, 2, 2)]),
    row(14, "Q6_K", Some(18), 256, 210, &[(208, 2, 1)]),
    row(15, "Q8_K", None, 256, 292, &[(0, 4, 1), (260, 2, 16)]),
    row(16, "IQ2_XXS", Some(19), 256, 66, &[(0, 2, 1), (2, 4, 16)]),
    row(17, "IQ2_XS", Some(20), 256, 74, &[(0, 2, 33)]),
    row(18, "IQ3_XXS", Some(23), 256, 98, &[(0, 2, 1), (66, 4, 8)]),
    row(19, "IQ1_S", Some(24), 256, 50, &[(0, 2, 1), (34, 2, 8)]),
    row(20, "IQ4_NL", Some(25), 32, 18, &[(0, 2, 1)]),
    row(21, "IQ3_S", Some(26), 256, 110, &[(0, 2, 1)]),
    row(22, "IQ2_S", Some(28), 256, 82, &[(0, 2, 1)]),
    row(23, "IQ4_XS", Some(30), 256, 136, &[(0, 2, 2)]),
    row(29, "IQ1_M", Some(31), 256, 56, &[(48, 2, 4)]),
    removed(31, "Q4_0_4_4", 32, 18),
    removed(32, "Q4_0_4_8", 32, 18),
    removed(33, "Q4_0_8_8", 32, 18),
    row(34, "TQ1_0", Some(36), 256, 54, &[(52, 2, 1)]),
    row(35, "TQ2_0", Some(37), 256, 66, &[(64, 2, 1)]),
    row(39, "MXFP4", Some(38), 32, 17, &[]),
    row(40, "NVFP4", Some(39), 64, 36, &[]),
    row(41, "Q1_0", Some(40), 128, 18, &[(0, 2, 1)]),
    row(42, "Q2_0", Some(41), 64, 18, &[(0, 2, 1)]),
    apr(128, "APR_Q4", 32, 18),
    ik(133, "Q6_0", 32, 26, 0),
    ik(134, "IQ1_BN", 64, 13, 2),
    ik(135, "IQ2_BN", 64, 16, 4),
    ik(137, "IQ2_K", 256, 76, 0),
    ik(138, "IQ3_K", 256, 110, 0),
    ik(139, "IQ4_K", 256, 144, 0),
    ik(140, "IQ5_K", 256, 176, 0),
    ik(141, "IQ6_K", 256, 212, 0),
    ik(144, "IQ4_KS", 256, 136, 4),
    ik(145, "IQ2_KS", 256, 70, 2),
    ik(146, "IQ4_KSS", 256, 128, 4),
    ik(152, "IQ5_KS", 256, 168, 4),
    ik(153, "IQ2_KT", 256, 68, 4),
    ik(154, "IQ3_KT", 256, 100, 4),
    ik(155, "IQ4_KT", 256, 128, 4),
    ik(156, "IQ3_KS", 256, 102, 2),
    ik(157, "IQ2_KL", 256, 86, 2),
    ik(158, "IQ1_KT", 256, 56, 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_inside_their_block_and_numbers_are_unique() {
        for (index, block) in BLOCKS.iter().enumerate() {
            for &(offset, width, count) in block.words {
                let end = u32::from(offset) + u32::from(width) * u32::from(count);
                assert!(end <= block.bytes, "{}", block.name);
            }
            assert!(!BLOCKS[..index].iter().any(|b| b.id == block.id || b.name == block.name));
        }
    }

    #[test]
    fn the_size_tells_how_blocks_lie() {
        let q4_k = Block::from_name("Q4_K").unwrap();
        let cases: [(&[u64], u64, Option<Tiling>); 9] = [
            (&[2, 512], 4 * 144, Some(Tiling::Rows)),
            (&[3, 100], 3 * 144, Some(Tiling::PaddedRows)),
            (&[2, 200], 2 * 144, Some(Tiling::PaddedRows)),
            (&[3, 100], 2 * 144, Some(Tiling::Flat)),
            (&[300], 2 * 144, Some(Tiling::Flat)),
            (&[2, 3, 50], 2 * 144, Some(Tiling::Flat)),
            (&[0, 100], 0, Some(Tiling::Rows)),
            (&[3, 100], 144, None),
            (&[u64::MAX, 100], 144, None),
        ];
        for (shape, bytes, expected) in cases {
            assert_eq!(q4_k.tiling(shape, bytes), expected, "{shape:?} {bytes}");
        }
        let apr_q4 = Block::from_name("APR_Q4").unwrap();
        assert_eq!(apr_q4.tiling(&[2, 30], 2 * 18), Some(Tiling::Flat));
        assert_eq!(apr_q4.tiling(&[3, 30], 3 * 18), Some(Tiling::Flat));
        assert_eq!(apr_q4.tiling(&[3, 20], 3 * 18), None);
    }

    #[test]
    fn rows_are_whole_blocks() {
        let q4_k = Block::from_name("Q4_K").unwrap();
        assert_eq!(q4_k.bytes_for(3, 512), Some(3 * 2 * 144));
        assert_eq!(q4_k.bytes_for(3, 300), None);
        assert_eq!(Block::from_name("IQ4_KS").unwrap().bytes_for(2, 256), Some(2 * (136 + 4)));
    }
}
