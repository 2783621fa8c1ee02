//! PyTorch's element types, by the names of dtypes and of the storages of old.

use crate::dtype::{DType, StoredType};

/// An element type as PyTorch knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element(&'static Row);

type Name = &'static str;

#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// `torch.<name>`.
    dtype: Name,
    /// The shorter name of some.
    alias: Name,
    /// `torch.<name>Storage`; new types have none.
    storage: Name,
    stored: Stored,
    /// Bytes of one element.
    bytes: u8,
}

#[derive(Debug, PartialEq, Eq)]
enum Stored {
    Plain(DType),
    Opaque(Name),
}

const fn plain(dtype: Name, alias: Name, storage: Name, stored: DType, bytes: u8) -> Row {
    Row { dtype, alias, storage, stored: Stored::Plain(stored), bytes }
}

const fn opaque(dtype: Name, storage: Name, name: Name, bytes: u8) -> Row {
    Row { dtype, alias: "", storage, stored: Stored::Opaque(name), bytes }
}

/// The most frequent first.
static TABLE: &[Row] = &[
    plain("float32", "float", "Float", DType::F32, 4),
    plain("bfloat16", "", "BFloat16", DType::BF16, 2),
    plain("float16", "half", "Half", DType::F16, 2),
    plain("int64", "long", "Long", DType::I64, 8),
    plain("uint8", "", "Byte", DType::U8, 1),
    plain("int8", "", "Char", DType::I8, 1),
    plain("int32", "int", "Int", DType::I32, 4),
    plain("int16", "short", "Short", DType::I16, 2),
    plain("bool", "", "Bool", DType::Bool, 1),
    plain("float64", "double", "Double", DType::F64, 8),
    plain("float8_e4m3fn", "", "", DType::F8_E4M3, 1),
    plain("float8_e5m2", "", "", DType::F8_E5M2, 1),
    plain("float8_e8m0fnu", "", "", DType::F8_E8M0, 1),
    plain("float8_e4m3fnuz", "", "", DType::F8_E4M3FNUZ, 1),
    plain("float8_e5m2fnuz", "", "", DType::F8_E5M2FNUZ, 1),
    plain("uint16", "", "", DType::U16, 2),
    plain("uint32", "", "", DType::U32, 4),
    plain("uint64", "", "", DType::U64, 8),
    plain("complex32", "chalf", "ComplexHalf", DType::C32, 4),
    plain("complex64", "cfloat", "ComplexFloat", DType::C64, 8),
    plain("complex128", "cdouble", "ComplexDouble", DType::C128, 16),
    opaque("qint8", "QInt8", "QI8", 1),
    opaque("quint8", "QUInt8", "QU8", 1),
    opaque("qint32", "QInt32", "QI32", 4),
    opaque("quint4x2", "QUInt4x2", "QU4X2", 1),
    opaque("quint2x4", "QUInt2x4", "QU2X4", 1),
    opaque("float4_e2m1fn_x2", "", "F4_X2", 1),
    opaque("bits8", "", "BITS8", 1),
    opaque("bits16", "", "BITS16", 2),
    opaque("bits1x8", "", "BITS1X8", 1),
    opaque("bits2x4", "", "BITS2X4", 1),
    opaque("bits4x2", "", "BITS4X2", 1),
    opaque("uint1", "", "U1", 1),
    opaque("uint2", "", "U2", 1),
    opaque("uint3", "", "U3", 1),
    opaque("uint4", "", "U4", 1),
    opaque("uint5", "", "U5", 1),
    opaque("uint6", "", "U6", 1),
    opaque("uint7", "", "U7", 1),
    opaque("int1", "", "I1", 1),
    opaque("int2", "", "I2", 1),
    opaque("int3", "", "I3", 1),
    opaque("int4", "", "I4", 1),
    opaque("int5", "", "I5", 1),
    opaque("int6", "", "I6", 1),
    opaque("int7", "", "I7", 1),
];

impl Element {
    /// The type called `torch.<name>`.
    pub(crate) fn of_dtype(name: &str) -> Option<Self> {
        let named = |row: &&Row| row.dtype == name || (row.alias == name && !name.is_empty());
        TABLE.iter().find(named).map(Self)
    }

    /// The type of the elements of `torch.<name>Storage`, or of `torch.<name>Tensor`.
    pub(crate) fn of_storage(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.storage == name && !name.is_empty()).map(Self)
    }

    /// The catalog's name for it.
    pub(crate) fn stored(self) -> StoredType {
        match self.0.stored {
            Stored::Plain(dtype) => dtype.into(),
            Stored::Opaque(name) => StoredType::opaque(name),
        }
    }

    /// The plain type, where it is one.
    pub(crate) fn plain(self) -> Option<DType> {
        match self.0.stored {
            Stored::Plain(dtype) => Some(dtype),
            Stored::Opaque(_) => None,
        }
    }

    /// Bytes of one element.
    pub(crate) fn bytes(self) -> u64 {
        self.0.bytes.into()
    }

    /// PyTorch's name for it.
    pub(crate) fn name(self) -> &'static str {
        self.0.dtype
    }
}
