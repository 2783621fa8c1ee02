//! The types of decoded numbers, and slices of them to write to.

use half::{bf16, f16};

use crate::dtype::DType;

/// An output buffer for decoded numbers.
pub enum Out<'a> {
    /// Single precision.
    F32(&'a mut [f32]),
    /// bfloat16.
    Bf16(&'a mut [bf16]),
    /// IEEE half precision.
    F16(&'a mut [f16]),
}

impl Out<'_> {
    /// Returns its length in numbers.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(out) => out.len(),
            Self::Bf16(out) => out.len(),
            Self::F16(out) => out.len(),
        }
    }

    /// Returns whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills it with `f(index)`, each rounded once to the type of the output.
    pub fn fill_with(self, mut f: impl FnMut(usize) -> f32) {
        match self {
            Self::F32(out) => out.iter_mut().enumerate().for_each(|(i, o)| *o = f(i)),
            Self::Bf16(out) => {
                out.iter_mut().enumerate().for_each(|(i, o)| *o = bf16::from_f32(f(i)));
            }
            Self::F16(out) => {
                out.iter_mut().enumerate().for_each(|(i, o)| *o = f16::from_f32(f(i)));
            }
        }
    }
}

/// A type weights can be decoded to: `f32`, `bf16` or `f16`.
pub trait Element: Copy + Default + Send + sealed::Sealed {
    /// The matching stored type.
    const DTYPE: DType;
    /// Wraps a slice as an output.
    fn out(slice: &mut [Self]) -> Out<'_>;
}

mod sealed {
    /// Plain data: any bytes are a valid number.
    pub trait Sealed: bytemuck::Pod {}
}

macro_rules! elements {
    ($($type:ty: $dtype:ident $out:ident;)*) => {
        $(impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
            fn out(slice: &mut [Self]) -> Out<'_> {
                Out::$out(slice)
            }
        })*
    };
}

elements! {
    f32: F32 F32;
    bf16: BF16 Bf16;
    f16: F16 F16;
}
