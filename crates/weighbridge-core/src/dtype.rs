//! Element types: the type of one stored number, before any scheme decodes it.
//!
//! Names follow safetensors, the most widely written format. Types that only other formats have are
//! named in the same style.

use std::fmt;
use std::sync::Arc;

use crate::blocks::Block;

/// Declares the types: name, bits per element, bits that swap together when the byte order
/// changes, floating or not.
macro_rules! types {
    ($($variant:ident $name:literal $bits:literal $swapped:literal $is_float:literal,)*) => {
        /// A type whose elements are independent: a fixed number of bits each, nothing shared
        /// between neighbours.
        #[allow(missing_docs)] // The names are the documentation.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $($variant,)*
        }

        /// A row for each type, in the same order.
        const TABLE: &[(DType, &str, u32, u32, bool)] =
            &[$((DType::$variant, $name, $bits, $swapped, $is_float)),*];
    };
}

types! {
    Bool "BOOL" 8 8 false,
    F4 "F4" 4 8 true,
    F6_E2M3 "F6_E2M3" 6 8 true,
    F6_E3M2 "F6_E3M2" 6 8 true,
    U8 "U8" 8 8 false,
    I8 "I8" 8 8 false,
    F8_E5M2 "F8_E5M2" 8 8 true,
    F8_E4M3 "F8_E4M3" 8 8 true,
    F8_E8M0 "F8_E8M0" 8 8 true,
    F8_E4M3FNUZ "F8_E4M3FNUZ" 8 8 true,
    F8_E5M2FNUZ "F8_E5M2FNUZ" 8 8 true,
    I16 "I16" 16 16 false,
    U16 "U16" 16 16 false,
    F16 "F16" 16 16 true,
    BF16 "BF16" 16 16 true,
    I32 "I32" 32 32 false,
    U32 "U32" 32 32 false,
    F32 "F32" 32 32 true,
    C32 "C32" 32 16 false,
    C64 "C64" 64 32 false,
    F64 "F64" 64 64 true,
    I64 "I64" 64 64 false,
    U64 "U64" 64 64 false,
    C128 "C128" 128 64 false,
}

impl DType {
    /// Returns every type, in safetensors order with the others interleaved.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Returns the type with this exact name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, u32, u32, bool) {
        &TABLE[self as usize]
    }

    /// Returns its name, as safetensors spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the number of bits per element.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.row().2
    }

    /// Bytes that are reversed together when the byte order changes: the two parts of a complex
    /// number are reversed separately.
    #[must_use]
    pub fn swap_width(self) -> u8 {
        u8::try_from(self.row().3 / 8).unwrap_or(1)
    }

    /// Whether elements are real floating-point numbers, so that a change of precision applies.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.row().4
    }

    /// Bytes of `elements` elements; `None` if they do not fill whole bytes or the count overflows.
    #[must_use]
    pub fn bytes_for(self, elements: u64) -> Option<u64> {
        let bits = elements.checked_mul(self.bits().into())?;
        (bits % 8 == 0).then_some(bits / 8)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The declared type of a stored tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredType {
    /// Independent elements.
    Element(DType),
    /// Elements that share a block's scale, as in GGUF and APR.
    Block(&'static Block),
    /// A type that is unknown or cannot be read as numbers, under the file's own name.
    Opaque(Arc<str>),
}

impl StoredType {
    /// Creates an opaque type.
    #[must_use]
    pub fn opaque(name: impl Into<Arc<str>>) -> Self {
        Self::Opaque(name.into())
    }

    /// Returns the name shown in reports and JSON.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Element(dtype) => dtype.name(),
            Self::Block(block) => block.name,
            Self::Opaque(name) => name,
        }
    }

    /// Returns the element type, if elements are independent.
    #[must_use]
    pub fn element(&self) -> Option<DType> {
        match self {
            Self::Element(dtype) => Some(*dtype),
            _ => None,
        }
    }
}

impl From<DType> for StoredType {
    fn from(dtype: DType) -> Self {
        Self::Element(dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_names_are_unique() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{}", row.1);
            assert_eq!(DType::from_name(row.1), Some(row.0));
        }
    }

    #[test]
    fn sub_byte_types_must_fill_bytes() {
        assert_eq!(DType::F4.bytes_for(6), Some(3));
        assert_eq!(DType::F4.bytes_for(5), None);
        assert_eq!(DType::F6_E2M3.bytes_for(4), Some(3));
        assert_eq!(DType::F64.bytes_for(u64::MAX), None);
    }
}
