//! numpy's type strings: byte order, kind, bytes (`<f4`), and what is behind them.

use crate::dtype::{DType, StoredType};

/// An element type as numpy names it.
pub(super) struct Type {
    pub(super) stored: StoredType,
    /// Bytes of one element, where that is known.
    pub(super) bytes: Option<u64>,
    /// Highest byte first.
    pub(super) big_endian: bool,
    /// `V2`, which says "two bytes" and is taken to be bfloat16.
    pub(super) assumed: bool,
    /// Why its values cannot be read.
    pub(super) refused: Option<Box<str>>,
}

/// Types that have a name in numpy.
const NAMES: [(DType, &str); 14] = [
    (DType::Bool, "b1"),
    (DType::I8, "i1"),
    (DType::I16, "i2"),
    (DType::I32, "i4"),
    (DType::I64, "i8"),
    (DType::U8, "u1"),
    (DType::U16, "u2"),
    (DType::U32, "u4"),
    (DType::U64, "u8"),
    (DType::F16, "f2"),
    (DType::F32, "f4"),
    (DType::F64, "f8"),
    (DType::C64, "c8"),
    (DType::C128, "c16"),
];

/// The string for a type, little-endian.
pub(super) fn descr(dtype: DType) -> Option<String> {
    let name = NAMES.iter().find(|row| row.0 == dtype)?.1;
    let order = if dtype.bits() == 8 { '|' } else { '<' };
    Some(format!("{order}{name}"))
}

/// The type with this name, without its byte order.
pub(crate) fn dtype_of(name: &str) -> Option<DType> {
    NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
}

/// The type behind a string such as `<f4`.
pub(super) fn simple(descr: &str) -> Type {
    let (order, rest) = match descr.as_bytes().first() {
        Some(b'<' | b'>' | b'=' | b'|') => descr.split_at(1),
        _ => ("=", descr),
    };
    let kind = rest.chars().next().unwrap_or(' ');
    let width = rest.get(kind.len_utf8()..).unwrap_or_default();
    // Two bytes of unknown meaning: numpy saves bfloat16 like this.
    let named = dtype_of(rest).or((rest == "V2").then_some(DType::BF16));
    let Some(dtype) = named else { return foreign(descr, kind, width) };
    Type {
        stored: dtype.into(),
        bytes: Some(u64::from(dtype.bits() / 8)),
        big_endian: order == ">",
        assumed: kind == 'V',
        refused: None,
    }
}

/// A list of fields, shown as it is written.
pub(super) fn structured(descr: &str) -> Type {
    refused(descr, None, "structured arrays (records) are not supported".into())
}

/// Types that are listed, but cannot be read.
fn foreign(descr: &str, kind: char, width: &str) -> Type {
    let number = width.parse::<u64>().ok();
    let (name, bytes, reason) = match (kind, width) {
        ('V', "1") => (
            "V1",
            Some(1),
            "`V1` is ambiguous: ml_dtypes writes float8_e4m3fn, float8_e4m3fnuz, \
                 float8_e5m2fnuz, float8_e8m0fnu and others this way, and it may be raw bytes",
        ),
        ('f', "1") => (
            descr,
            Some(1),
            "`f1` is ambiguous: ml_dtypes writes float8_e5m2 this way, but it may be another \
                 8-bit float; numpy itself does not load it",
        ),
        ('f' | 'c', _) => (
            descr,
            number,
            "long double layout depends on the machine that wrote it; save the array as \
                 float64",
        ),
        ('V', _) => (descr, number, "raw byte records are not supported"),
        ('S' | 'a', _) => (descr, number, "byte string arrays are not supported"),
        ('U', _) => (descr, number.and_then(|n| n.checked_mul(4)), "text arrays are not supported"),
        ('M' | 'm', _) => (descr, Some(8), "dates and times are not supported"),
        ('O', _) => (
            descr,
            None,
            "object arrays are pickles, which run code when numpy loads them, so they are \
                 not read",
        ),
        _ => (descr, None, "unsupported numpy type"),
    };
    refused(name, bytes, reason.into())
}

fn refused(name: &str, bytes: Option<u64>, reason: Box<str>) -> Type {
    let stored = StoredType::opaque(name);
    Type { stored, bytes, big_endian: false, assumed: false, refused: Some(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let cases = [
            ("<f4", "F32", Some(4), false),
            (">c16", "C128", Some(16), true),
            ("=i8", "I64", Some(8), false),
            ("u2", "U16", Some(2), false),
            ("|b1", "BOOL", Some(1), false),
            ("<V2", "BF16", Some(2), false),
            ("|V2", "BF16", Some(2), false),
        ];
        for (descr, name, bytes, big) in cases {
            let kind = simple(descr);
            assert_eq!(
                (kind.stored.name(), kind.bytes, kind.big_endian),
                (name, bytes, big),
                "{descr}"
            );
            assert!(kind.refused.is_none());
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused_by_name() {
        let cases = [
            ("|V1", "V1", Some(1), "float8_e4m3fn"),
            ("<V1", "V1", Some(1), "float8_e4m3fn"),
            ("<f1", "<f1", Some(1), "float8_e5m2"),
            ("<f16", "<f16", Some(16), "long double"),
            ("<U6", "<U6", Some(24), "text"),
            ("<M8[ns]", "<M8[ns]", Some(8), "dates"),
            ("|O", "|O", None, "pickle"),
            ("|V12", "|V12", Some(12), "record"),
            ("<U9999999999999999999", "<U9999999999999999999", None, "text"),
            ("", "", None, "unsupported numpy type"),
            ("é", "é", None, "unsupported numpy type"),
        ];
        for (descr, name, bytes, reason) in cases {
            let kind = simple(descr);
            assert_eq!((kind.stored.name(), kind.bytes), (name, bytes), "{descr}");
            assert!(kind.refused.unwrap().contains(reason), "{descr}");
        }
    }
}
