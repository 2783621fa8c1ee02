//! Tensors that no scheme bids for: independent elements, read unchanged.
//!
//! The native type is the stored type. Decoding widens exactly to f32 and rounds once to the output
//! type. f64 rounds once to each of the three; wide integers round to f32 first, as in PyTorch and
//! numpy.

use std::ops::Range;

use half::{bf16, f16};

use narrow::to_odd;

use crate::bounds::{Bounds, Gaps, Levels, Slack};
use crate::catalog::TensorInfo;
use crate::compare::{self, Wide};
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{Origins, Portion, Recipe, Rule};
use crate::number::Out;
use crate::simd::{self, Level, Number, half_to_f32, small_floats};
use crate::source::{Slab, Staged};
use crate::text::escaped;

mod narrow;

/// Returns the recipe for a stored tensor, or why it cannot be read as numbers.
pub fn recipe(info: &TensorInfo) -> Result<Plain, String> {
    match info.stored.element() {
        Some(dtype) if widen(dtype, Level::BASELINE, &[], &mut []) => Ok(Plain { dtype }),
        Some(dtype) => Err(format!("dtype {dtype} is not supported")),
        None => Err(format!("type {} is not supported", escaped(info.stored.name()))),
    }
}

/// Elements per row: the product of all dimensions except the outermost.
#[must_use]
pub fn columns(shape: &[u64]) -> u64 {
    // A tensor without elements may have dimensions whose product overflows.
    shape.get(1..).unwrap_or_default().iter().fold(1, |product, &dim| dim.saturating_mul(product))
}

/// Recipe for independent elements.
pub struct Plain {
    dtype: DType,
}

impl Plain {
    /// Returns the bytes of some elements.
    pub fn slab(&self, elements: &Range<u64>) -> Slab {
        // Types of less than a byte have no recipe.
        let bytes = u64::from(self.dtype.bits() / 8);
        let [start, end] = [elements.start, elements.end].map(|at| at.saturating_mul(bytes));
        Slab::whole(0, start, end - start)
    }

    /// Whether a stored element is finite before any rounding.
    pub fn is_finite(&self, bytes: &[u8], index: usize) -> bool {
        let width = self.dtype.bits() as usize / 8;
        let element = &bytes[index * width..][..width];
        let mut value = [f32::NAN];
        match <[u8; 8]>::try_from(element) {
            Ok(bytes) if self.dtype == DType::F64 => f64::from_le_bytes(bytes).is_finite(),
            _ => widen(self.dtype, Level::BASELINE, element, &mut value) && value[0].is_finite(),
        }
    }

    fn decode_as<T: Number>(&self, bytes: &[u8], out: &mut [T]) {
        let (level, width) = (simd::level(), self.dtype.bits() as usize / 8);
        let mut values = [0.0; CHUNK];
        for (out, bytes) in out.chunks_mut(CHUNK).zip(bytes.chunks(CHUNK * width)) {
            let values = &mut values[..out.len()];
            // An f64 is rounded once, not to f32 first.
            match self.dtype {
                DType::F64 => simd::map(level, bytes, values, |x| to_odd(f64::from_le_bytes(x))),
                dtype => _ = widen(dtype, level, bytes, values),
            }
            simd::narrow(level, values, out);
        }
    }
}

/// Elements that are widened before they are narrowed.
const CHUNK: usize = 1024;

impl Recipe for Plain {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.slab(&elements));
    }

    fn decode(&self, staged: &[Staged<'_>], _: Range<u64>, out: Out<'_>) -> Result<()> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        match out {
            Out::F32(out) => _ = widen(self.dtype, simd::level(), bytes, out),
            Out::Bf16(out) if self.dtype == DType::BF16 => copy(bytes, out, bf16::from_le_bytes),
            Out::F16(out) if self.dtype == DType::F16 => copy(bytes, out, f16::from_le_bytes),
            Out::Bf16(out) => self.decode_as(bytes, out),
            Out::F16(out) => self.decode_as(bytes, out),
        }
        Ok(())
    }

    fn decode_wide(&self, of: &Portion<'_>, out: &mut [Wide]) -> Result<bool> {
        let bytes = of.staged.first().map(Staged::bytes).unwrap_or_default();
        Ok(compare::read(self.dtype, bytes, out).is_some())
    }

    fn origins(&self) -> Option<&dyn Origins> {
        levels(self.dtype).map(|_| self as &dyn Origins)
    }
}

/// Originals were rounded to a type of few digits.
impl Origins for Plain {
    fn rule(&self) -> Rule {
        Rule::Bounded
    }

    fn bounds(&self, _: &Portion<'_>, values: &[f32], out: &mut [Bounds]) -> Result<()> {
        if let Some(levels) = levels(self.dtype) {
            levels.fill(values, out);
        }
        Ok(())
    }
}

/// Returns the levels of a floating-point type of low precision.
fn levels(dtype: DType) -> Option<Levels<'static>> {
    let (digits, smallest_normal, highest, beyond) = match dtype {
        DType::BF16 => (7, f32::MIN_POSITIVE, f32::MAX, f32::MAX / 2048.0),
        DType::F16 => (10, 1.0 / 16384.0, 65504.0, 65504.0 / 2048.0),
        // Values too large for eight bits are often cast to the largest number.
        DType::F8_E4M3 => (3, 1.0 / 64.0, 448.0, f32::INFINITY),
        DType::F8_E5M2 => (2, 1.0 / 16384.0, 57344.0, f32::INFINITY),
        _ => return None,
    };
    Some(Levels {
        gaps: Gaps::Floats { scale: 1.0, digits, smallest_normal },
        zero: 0.0,
        lowest: -highest,
        highest,
        beyond,
        slack: Slack::default(),
    })
}

/// Returns element `index` of some bytes, as f32; NaN for types that are not numbers.
pub(crate) fn number(dtype: DType, bytes: &[u8], index: usize) -> f32 {
    let width = dtype.bits() as usize / 8;
    let mut value = [f32::NAN];
    widen(dtype, Level::BASELINE, &bytes[index * width..][..width], &mut value);
    value[0]
}

pub(crate) use small_floats::e8m0 as power_of_two;

/// Reads all numbers of some bytes, as f32. The type must be numeric.
pub fn numbers(dtype: DType, bytes: &[u8], out: &mut [f32]) {
    widen(dtype, simd::level(), bytes, out);
}

fn copy<T, const N: usize>(bytes: &[u8], out: &mut [T], read: impl Fn([u8; N]) -> T) {
    out.iter_mut().zip(bytes.as_chunks().0).for_each(|(out, bytes)| *out = read(*bytes));
}

/// Reads each element as f32, exact if an f32 can hold it. Returns whether the type is numeric.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Rounding is the point.
fn widen(dtype: DType, level: Level, bytes: &[u8], out: &mut [f32]) -> bool {
    match dtype {
        DType::Bool => simd::map(level, bytes, out, |[x]| f32::from(u8::from(x != 0))),
        DType::U8 => simd::map(level, bytes, out, |[x]| f32::from(x)),
        DType::I8 => simd::map(level, bytes, out, |[x]: [u8; 1]| f32::from(x.cast_signed())),
        DType::U16 => simd::map(level, bytes, out, |x| f32::from(u16::from_le_bytes(x))),
        DType::I16 => simd::map(level, bytes, out, |x| f32::from(i16::from_le_bytes(x))),
        DType::U32 => simd::map(level, bytes, out, |x| u32::from_le_bytes(x) as f32),
        DType::I32 => simd::map(level, bytes, out, |x| i32::from_le_bytes(x) as f32),
        DType::U64 => simd::map(level, bytes, out, |x| u64::from_le_bytes(x) as f32),
        DType::I64 => simd::map(level, bytes, out, |x| i64::from_le_bytes(x) as f32),
        DType::F16 => simd::map(level, bytes, out, |x| half_to_f32(u16::from_le_bytes(x))),
        DType::BF16 => {
            simd::map(level, bytes, out, |[low, high]| f32::from_le_bytes([0, 0, low, high]));
        }
        DType::F32 => simd::map(level, bytes, out, f32::from_le_bytes),
        DType::F64 => simd::map(level, bytes, out, |x| f64::from_le_bytes(x) as f32),
        DType::F8_E4M3 => simd::map(level, bytes, out, |[x]| small_floats::e4m3(x)),
        DType::F8_E5M2 => simd::map(level, bytes, out, |[x]| small_floats::e5m2(x)),
        DType::F8_E4M3FNUZ => simd::map(level, bytes, out, |[x]| small_floats::e4m3fnuz(x)),
        DType::F8_E5M2FNUZ => simd::map(level, bytes, out, |[x]| small_floats::e5m2fnuz(x)),
        DType::F8_E8M0 => simd::map(level, bytes, out, |[x]| small_floats::e8m0(x)),
        DType::F4 | DType::F6_E2M3 | DType::F6_E3M2 | DType::C32 | DType::C64 | DType::C128 => {
            return false;
        }
    }
    true
}
