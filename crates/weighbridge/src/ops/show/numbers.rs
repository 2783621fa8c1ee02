//! Numbers of whatever type a weight is shown in.

use half::{bf16, f16};
use serde::ser::{Serialize, Serializer};

use crate::dtype::DType;

/// The numbers of a window, row by row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // Each is named after its type.
pub enum Numbers {
    F64(Vec<f64>),
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
    /// Integers with a sign, of any width.
    Signed(Vec<i64>),
    /// Integers without a sign, of any width.
    Unsigned(Vec<u64>),
    Bool(Vec<bool>),
}

impl Numbers {
    /// The numbers in little-endian bytes of a type; `None` for types that are not shown as they are.
    #[must_use]
    pub fn of_bytes(dtype: DType, bytes: &[u8]) -> Option<Self> {
        Some(match dtype {
            DType::F64 => Self::F64(each(bytes, f64::from_le_bytes)),
            DType::F32 => Self::F32(each(bytes, f32::from_le_bytes)),
            DType::F16 => Self::F16(each(bytes, f16::from_le_bytes)),
            DType::BF16 => Self::Bf16(each(bytes, bf16::from_le_bytes)),
            DType::I8 => Self::Signed(each(bytes, |x| i8::from_le_bytes(x).into())),
            DType::I16 => Self::Signed(each(bytes, |x| i16::from_le_bytes(x).into())),
            DType::I32 => Self::Signed(each(bytes, |x| i32::from_le_bytes(x).into())),
            DType::I64 => Self::Signed(each(bytes, i64::from_le_bytes)),
            DType::U8 => Self::Unsigned(each(bytes, |x| u8::from_le_bytes(x).into())),
            DType::U16 => Self::Unsigned(each(bytes, |x| u16::from_le_bytes(x).into())),
            DType::U32 => Self::Unsigned(each(bytes, |x| u32::from_le_bytes(x).into())),
            DType::U64 => Self::Unsigned(each(bytes, u64::from_le_bytes)),
            DType::Bool => Self::Bool(each(bytes, |[x]| x != 0)),
            _ => return None,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F64(all) => all.len(),
            Self::F32(all) => all.len(),
            Self::F16(all) => all.len(),
            Self::Bf16(all) => all.len(),
            Self::Signed(all) => all.len(),
            Self::Unsigned(all) => all.len(),
            Self::Bool(all) => all.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes number `index`; one that is not finite is null. A number of fewer than 64 bits is
    /// written with as many digits as tell it from its neighbours in `f32`.
    fn serialize_one<S: Serializer>(&self, index: usize, to: S) -> Result<S::Ok, S::Error> {
        let single =
            |x: f32, to: S| if x.is_finite() { to.serialize_f32(x) } else { to.serialize_none() };
        match self {
            Self::F64(all) if all[index].is_finite() => to.serialize_f64(all[index]),
            Self::F64(_) => to.serialize_none(),
            Self::F32(all) => single(all[index], to),
            Self::F16(all) => single(all[index].to_f32(), to),
            Self::Bf16(all) => single(all[index].to_f32(), to),
            Self::Signed(all) => to.serialize_i64(all[index]),
            Self::Unsigned(all) => to.serialize_u64(all[index]),
            Self::Bool(all) => to.serialize_bool(all[index]),
        }
    }

    /// The numbers as nested arrays of a shape, to be written.
    #[must_use]
    pub fn nested<'a>(&'a self, shape: &'a [u64]) -> impl Serialize + 'a {
        Nested { numbers: self, shape, at: 0 }
    }
}

struct Nested<'a> {
    numbers: &'a Numbers,
    shape: &'a [u64],
    at: usize,
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some((&len, inner)) = self.shape.split_first() else {
            return self.numbers.serialize_one(self.at, to);
        };
        let size = |dim: u64| usize::try_from(dim).unwrap_or(0);
        let below: usize = inner.iter().map(|&dim| size(dim)).product();
        to.collect_seq((0..size(len)).map(|index| Nested {
            numbers: self.numbers,
            shape: inner,
            at: self.at + index * below,
        }))
    }
}

fn each<T, const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|bytes| read(*bytes)).collect()
}
