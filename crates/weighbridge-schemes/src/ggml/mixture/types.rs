//! The types that one weight can have, and what becomes of one whose rows are no whole blocks.

use crate::blocks::Block;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::near::did_you_mean;
use crate::text::escaped;

/// Every type that a weight can be given.
pub(super) const TYPES: [&str; 27] = [
    "Q1_0", "Q2_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS",
    "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "F16", "BF16",
];

/// The last type that a weight can be given: what the others are decoded to.
const WHOLE: &str = "F32";

/// What a type becomes where rows are no whole blocks of it: types with smaller blocks.
const SMALLER: [(&str, &str); 16] = [
    ("IQ1_S", "IQ4_NL"),
    ("IQ1_M", "IQ4_NL"),
    ("IQ2_XXS", "IQ4_NL"),
    ("IQ2_XS", "IQ4_NL"),
    ("IQ2_S", "IQ4_NL"),
    ("IQ3_XXS", "IQ4_NL"),
    ("IQ3_S", "IQ4_NL"),
    ("IQ4_XS", "IQ4_NL"),
    ("Q2_0", "Q4_0"),
    ("Q2_K", "Q4_0"),
    ("Q3_K", "Q4_0"),
    ("TQ1_0", "Q4_0"),
    ("TQ2_0", "Q4_0"),
    ("Q4_K", "Q5_0"),
    ("Q5_K", "Q5_1"),
    ("Q6_K", "Q8_0"),
];

/// Types whose blocks are no larger have no smaller ones to become.
const SMALLEST_BLOCK: u64 = 32;

/// The type that users mean, in any letter case.
pub(super) fn named(name: &str) -> Result<&'static str> {
    let all = || TYPES.into_iter().chain([WHOLE]);
    all().find(|one| one.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let hint = || format!("available: {}", all().collect::<Vec<_>>().join(", "));
        Error::usage(format!("`{}` is not a weight type", escaped(name)))
            .hint(did_you_mean(name, all()).unwrap_or_else(hint))
    })
}

/// What its bytes are.
pub(super) fn stored(name: &str) -> Option<StoredType> {
    let block = Block::from_name(name).map(StoredType::Block);
    block.or_else(|| DType::from_name(name).map(StoredType::Element))
}

/// Whether it stores weights in blocks.
pub(super) fn is_blocks(name: &str) -> bool {
    Block::from_name(name).is_some()
}

/// Whether rows of so many columns are whole blocks of a type.
pub(super) fn fits(name: &str, columns: u64) -> bool {
    columns.is_multiple_of(block_len(name))
}

/// How many weights a block has; one of a type without blocks.
pub(super) fn block_len(name: &str) -> u64 {
    Block::from_name(name).map_or(1, |block| block.elements.into())
}

/// The type itself where it fits rows of so many columns, or what it becomes; `None` where no other
/// type is meant for that.
pub(super) fn fitting(name: &'static str, columns: u64) -> Option<&'static str> {
    if fits(name, columns) {
        return Some(name);
    }
    let smaller = match SMALLER.iter().find(|(from, _)| *from == name) {
        Some((_, to)) => to,
        None if block_len(name) <= SMALLEST_BLOCK => name,
        None => return None,
    };
    Some(if fits(smaller, columns) { smaller } else { "F16" })
}

/// Whether a weight of that type is worthless without importance, in a file of that type.
pub(super) fn needs_importance(name: &str, file: &str) -> bool {
    match name {
        "IQ3_XXS" | "IQ2_XXS" | "IQ2_XS" | "IQ2_S" | "IQ1_M" | "IQ1_S" => true,
        "Q2_K" => file == "Q2_K_S",
        _ => false,
    }
}

/// Whether importance changes what is stored in a type.
pub(super) fn takes_importance(name: &str) -> bool {
    is_blocks(name) && !["Q8_0", "MXFP4", "NVFP4", "TQ1_0", "TQ2_0", "Q1_0", "Q2_0"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_known_and_has_one_that_fits_or_none() {
        for name in TYPES {
            assert!(stored(name).is_some(), "{name}");
            assert_eq!(named(&name.to_lowercase()).unwrap(), name);
            assert_eq!(fitting(name, 256), Some(name));
        }
        assert_eq!(fitting("Q4_K", 96), Some("Q5_0"));
        assert_eq!(fitting("Q6_K", 96), Some("Q8_0"));
        assert_eq!(fitting("IQ4_XS", 100), Some("F16"));
        assert_eq!(fitting("MXFP4", 100), Some("F16"));
        assert_eq!(fitting("Q1_0", 96), None);
        assert!(named("Q4_K_M").is_err());
    }
}
