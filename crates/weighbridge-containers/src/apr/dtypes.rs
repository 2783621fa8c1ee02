//! From a type's number to a type.
//!
//! The numbers mean different things to the programs that write version 2: the canonical list,
//! its own older one (BF16 was 2, APR_Q4 was 8, APR_Q8 was 9), and ggml's list, which one
//! converter copies as it is. A number therefore stands for several candidates, and the first one
//! whose size for the tensor's shape is the size in the index is meant.

use crate::blocks::{APR_Q8, Block, Standing, Tiling};
use crate::catalog::element_count;
use crate::dtype::{DType, StoredType};

/// What became of a number.
pub(super) enum Resolved {
    /// The type whose size fits.
    Fits(StoredType),
    /// The number is known, but no size fits; the type it stands for first.
    Misfit(StoredType),
    /// The number is not known.
    Unknown,
}

/// Finds the type that number `id` stands for in a tensor of this shape and size.
pub(super) fn resolve(id: u8, shape: &[u64], bytes: u64) -> Resolved {
    let names = candidates(id);
    let types = || names.iter().filter_map(|name| named(name));
    match types().find(|stored| fits(stored, shape, bytes)) {
        Some(stored) => Resolved::Fits(stored),
        None => types().next().map_or(Resolved::Unknown, Resolved::Misfit),
    }
}

/// Whether the canonical list gives the number this meaning, today's or (`old`) the first one.
pub(super) fn is_canonical(id: u8, name: &str, old: bool) -> bool {
    let (bf16, q4, q8) = if old { (2, 8, 9) } else { (30, 128, 129) };
    match name {
        "BF16" => id == bf16,
        "APR_Q4" => id == q4,
        APR_Q8 => id == q8,
        // These numbers never changed their first meaning.
        _ => matches!(id, 0 | 1 | 3..=7 | 12 | 14) && candidates(id).first() == Some(&name),
    }
}

/// The type of that name.
pub(super) fn named(name: &str) -> Option<StoredType> {
    if name == APR_Q8 {
        return Some(StoredType::opaque(APR_Q8));
    }
    let element = DType::from_name(name).map(StoredType::Element);
    element.or_else(|| Block::from_name(name).map(StoredType::Block))
}

/// Whether a tensor of this type and shape takes so many bytes.
pub(super) fn fits(stored: &StoredType, shape: &[u64], bytes: u64) -> bool {
    let Some(elements) = element_count(shape) else { return false };
    match stored {
        StoredType::Element(dtype) => dtype.bytes_for(elements) == Some(bytes),
        StoredType::Block(block) => match block.tiling(shape, bytes) {
            Some(Tiling::Rows) => true,
            // Only the project's own quantizer pads, and it knows only these.
            Some(Tiling::PaddedRows) => ["Q4_K", "Q6_K"].contains(&block.name),
            Some(Tiling::Flat) => {
                block.standing == Standing::Apr || ["Q4_K", "Q6_K"].contains(&block.name)
            }
            None => false,
        },
        StoredType::Opaque(_) => {
            elements.checked_add(4) == Some(bytes) || (elements == 0 && bytes == 0)
        }
    }
}

fn candidates(id: u8) -> &'static [&'static str] {
    match id {
        0 => &["F32"],
        1 => &["F16"],
        2 => &["BF16", "Q4_0"],
        3 => &["F64", "Q4_1"],
        4 => &["I32"],
        5 => &["I64"],
        6 => &["I8", "Q5_0"],
        7 => &["U8", "Q5_1"],
        // Q4_K was 8 and Q6_K was 9 for a while; blocks of Q4_K are as long as those of APR_Q4.
        8 => &["Q8_0", "APR_Q4"],
        9 => &["APR_Q8", "Q8_1", "Q6_K"],
        10 => &["Q2_K", "Q8_0"],
        11 => &["Q3_K"],
        12 => &["Q4_K"],
        13 => &["Q5_K"],
        14 => &["Q6_K"],
        15 => &["Q8_K"],
        24 => &["I8"],
        25 => &["I16"],
        26 => &["I32"],
        27 => &["I64"],
        28 => &["F64"],
        30 => &["BF16"],
        128 => &["APR_Q4"],
        129 => &["APR_Q8"],
        other => {
            Block::from_id(other.into()).map_or(&[], |block| std::slice::from_ref(&block.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_decides() {
        let cases: [(u8, &[u64], u64, &str); 22] = [
            (2, &[2, 32], 128, "BF16"),
            (2, &[2, 32], 36, "Q4_0"),
            (2, &[9], 18, "BF16"),
            (3, &[64], 512, "F64"),
            (3, &[64], 40, "Q4_1"),
            (6, &[64], 64, "I8"),
            (6, &[64], 44, "Q5_0"),
            (7, &[64], 64, "U8"),
            (7, &[64], 48, "Q5_1"),
            (8, &[64], 68, "Q8_0"),
            (8, &[5, 9], 36, "APR_Q4"),
            (8, &[256], 144, "APR_Q4"),
            (9, &[100], 104, "APR_Q8"),
            (9, &[32], 36, "APR_Q8"),
            (9, &[64], 72, "Q8_1"),
            (9, &[256], 210, "Q6_K"),
            (10, &[32], 34, "Q8_0"),
            (12, &[3, 100], 3 * 144, "Q4_K"),
            (12, &[300], 2 * 144, "Q4_K"),
            (13, &[256], 176, "Q5_K"),
            (30, &[], 2, "BF16"),
            (20, &[32], 18, "IQ4_NL"),
        ];
        for (id, shape, bytes, expected) in cases {
            match resolve(id, shape, bytes) {
                Resolved::Fits(stored) => assert_eq!(stored.name(), expected, "{id} {shape:?}"),
                _ => panic!("{id} {shape:?} {bytes}"),
            }
        }
        assert!(matches!(resolve(0, &[2], 9), Resolved::Misfit(_)));
        assert!(matches!(resolve(0, &[u64::MAX, 2], 9), Resolved::Misfit(_)));
        assert!(matches!(resolve(13, &[300], 2 * 176), Resolved::Misfit(_)));
        assert!(matches!(resolve(200, &[2], 8), Resolved::Unknown));
    }

    #[test]
    fn every_candidate_exists() {
        for id in 0..=u8::MAX {
            assert!(candidates(id).iter().all(|name| named(name).is_some()), "{id}");
        }
    }
}
