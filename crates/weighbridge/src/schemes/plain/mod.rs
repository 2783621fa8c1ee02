//! What nobody bid for: elements that stand alone, read as they are.
//!
//! Recipe: native type is the stored type. Decoding widens exactly to f32 and rounds once to the
//! output type. f64 rounds once to each of the three; wide integers round to f32 first, as
//! PyTorch and numpy have it.

use std::ops::Range;

use half::{bf16, f16};

use super::{Out, Recipe};
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::source::{Slab, Staged};
use crate::text::escaped;

mod narrow;
mod small_floats;

/// The scheme's name in reports.
pub const NAME: &str = "plain";

/// How a stored tensor is read as numbers, or why it cannot be.
pub fn recipe(info: &TensorInfo) -> Result<Plain, String> {
    match info.stored.element() {
        Some(dtype) if reader(dtype).is_some() => {
            Ok(Plain { dtype, columns: columns(&info.shape) })
        }
        Some(dtype) => Err(format!("{dtype} cannot be decoded by this version")),
        None => Err(format!("type {} is not known to this version", escaped(info.stored.name()))),
    }
}

/// The same without rows: elements are counted through the whole tensor.
pub(crate) fn flat(info: &TensorInfo) -> Result<Plain, String> {
    recipe(info).map(|plain| Plain { columns: 1, ..plain })
}

/// Elements of one row: all dimensions but the outermost.
#[must_use]
pub fn columns(shape: &[u64]) -> u64 {
    // A tensor without elements may have dimensions whose product fits nowhere.
    shape.get(1..).unwrap_or_default().iter().fold(1, |product, &dim| dim.saturating_mul(product))
}

/// Elements that stand alone.
pub struct Plain {
    dtype: DType,
    columns: u64,
}

impl Plain {
    /// Where some rows lie.
    pub(crate) fn slab(&self, rows: &Range<u64>) -> Slab {
        let bits = self.columns * u64::from(self.dtype.bits());
        let (start, end) = (rows.start * bits / 8, (rows.end * bits).div_ceil(8));
        Slab::whole(0, start, end - start)
    }

    /// Whether a stored element is a finite number, before anything was rounded.
    pub(crate) fn is_finite(&self, bytes: &[u8], index: usize) -> bool {
        match self.dtype {
            DType::F64 => f64::from_le_bytes(le(bytes, index)).is_finite(),
            dtype => reader(dtype).is_some_and(|read| read(bytes, index).is_finite()),
        }
    }
}

impl Recipe for Plain {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.slab(&rows));
    }

    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        if same_type_copy(self.dtype, bytes, &out) {
            copy_bytes(bytes, out);
            return Ok(());
        }
        let Some(read) = reader(self.dtype) else {
            return Err(Error::unsupported(format!("{} has no meaning as a number", self.dtype)));
        };
        if self.dtype == DType::F64 && !matches!(out, Out::F32(_)) {
            out.fill_with(|index| narrow::to_odd(f64::from_le_bytes(le(bytes, index))));
            return Ok(());
        }
        // Rows of sub-byte types may start inside a byte.
        let bits = self.columns * u64::from(self.dtype.bits());
        let first = usize::try_from(rows.start * bits % 8 / u64::from(self.dtype.bits()))
            .unwrap_or_default();
        out.fill_with(|index| read(bytes, first + index));
        Ok(())
    }
}

fn same_type_copy(dtype: DType, bytes: &[u8], out: &Out<'_>) -> bool {
    let (target, width) = match out {
        Out::F32(_) => (DType::F32, 4),
        Out::Bf16(_) => (DType::BF16, 2),
        Out::F16(_) => (DType::F16, 2),
    };
    target == dtype && bytes.len() == out.len() * width
}

fn copy_bytes(bytes: &[u8], out: Out<'_>) {
    match out {
        Out::F32(out) => {
            for (o, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *o = f32::from_le_bytes(*b);
            }
        }
        Out::Bf16(out) => {
            for (o, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *o = bf16::from_le_bytes(*b);
            }
        }
        Out::F16(out) => {
            for (o, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *o = f16::from_le_bytes(*b);
            }
        }
    }
}

type Reader = fn(&[u8], usize) -> f32;

fn le<const N: usize>(bytes: &[u8], index: usize) -> [u8; N] {
    bytes.as_chunks::<N>().0[index]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Rounding is the point.
fn reader(dtype: DType) -> Option<Reader> {
    Some(match dtype {
        DType::Bool => |b, i| f32::from(u8::from(b[i] != 0)),
        DType::U8 => |b, i| f32::from(b[i]),
        DType::I8 => |b, i| f32::from(b[i].cast_signed()),
        DType::U16 => |b, i| f32::from(u16::from_le_bytes(le(b, i))),
        DType::I16 => |b, i| f32::from(i16::from_le_bytes(le(b, i))),
        DType::U32 => |b, i| u32::from_le_bytes(le(b, i)) as f32,
        DType::I32 => |b, i| i32::from_le_bytes(le(b, i)) as f32,
        DType::U64 => |b, i| u64::from_le_bytes(le(b, i)) as f32,
        DType::I64 => |b, i| i64::from_le_bytes(le(b, i)) as f32,
        DType::F16 => |b, i| f16::from_le_bytes(le(b, i)).to_f32(),
        DType::BF16 => |b, i| bf16::from_le_bytes(le(b, i)).to_f32(),
        DType::F32 => |b, i| f32::from_le_bytes(le(b, i)),
        DType::F64 => |b, i| f64::from_le_bytes(le(b, i)) as f32,
        DType::F8_E4M3 => |b, i| small_floats::e4m3(b[i]),
        DType::F8_E5M2 => |b, i| small_floats::e5m2(b[i]),
        DType::F8_E4M3FNUZ => |b, i| small_floats::e4m3fnuz(b[i]),
        DType::F8_E5M2FNUZ => |b, i| small_floats::e5m2fnuz(b[i]),
        DType::F8_E8M0 => |b, i| small_floats::e8m0(b[i]),
        DType::F4 | DType::F6_E2M3 | DType::F6_E3M2 | DType::C32 | DType::C64 | DType::C128 => {
            return None;
        }
    })
}
