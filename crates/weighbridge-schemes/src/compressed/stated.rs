//! A weight whose shape follows from widths and scales, and is compared with what
//! `weight_shape` says when it is decoded.

use std::ops::Range;

use crate::arithmetic::matrix::Matrix;
use crate::catalog::Shape;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::Recipe;
use crate::number::Out;
use crate::source::{Slab, Staged};

/// The sides in a `weight_shape`.
pub(super) fn sides(dtype: DType, bytes: &[u8]) -> Result<Shape, String> {
    let numbers: Vec<i64> = match dtype {
        DType::I64 => bytes.as_chunks().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect(),
        _ => bytes.as_chunks().0.iter().map(|four| i32::from_le_bytes(*four).into()).collect(),
    };
    let shape: Option<Shape> =
        numbers.iter().map(|&side| u64::try_from(side).ok().filter(|&side| side > 0)).collect();
    shape.ok_or_else(|| format!("weight_shape is {numbers:?}, expected sizes above 0"))
}

/// The weight and its `weight_shape`, which has yet to be read.
pub(super) struct Stated {
    pub(super) matrix: Matrix,
    pub(super) part: usize,
    /// The type of `weight_shape`.
    pub(super) dtype: DType,
    /// What it must say.
    pub(super) shape: Shape,
}

impl Recipe for Stated {
    fn inner(&self) -> Option<&dyn Recipe> {
        Some(&self.matrix)
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        self.matrix.needs(elements, slabs);
        let bytes = self.shape.len() as u64 * u64::from(self.dtype.bits() / 8);
        slabs.push(Slab::whole(self.part, 0, bytes));
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let Some((stated, staged)) = staged.split_last() else {
            return Err(Error::usage("expected the codes of a matrix"));
        };
        let stated = sides(self.dtype, stated.bytes()).map_err(Error::malformed)?;
        if stated != self.shape {
            return Err(Error::malformed(format!(
                "weight_shape is {stated:?}, but weight_packed and weight_scale have {:?}",
                self.shape
            ))
            .hint("one of the three belongs to another weight, or the config to another model"));
        }
        self.matrix.decode(staged, elements, out)
    }
}
