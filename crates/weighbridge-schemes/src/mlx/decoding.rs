//! Decodes freshly encoded groups, to measure the error.

use super::kind::{Kind, Mode};
use crate::arithmetic::decode_again::Coded;
use crate::arithmetic::matrix::{Arithmetic, Factor};
use crate::arithmetic::plain;
use crate::dtype::DType;
use crate::framework::Decoded;

/// Decodes groups of a kind to single precision and adds their levels. Affine scales have the type
/// `native`.
pub(super) fn decode(
    (kind, native): (Kind, DType),
    bytes: &[u8],
    [scales, biases]: [&[u8]; 2],
    decoded: &mut Decoded,
) {
    let (dtype, arithmetic, step) = match kind.mode {
        Mode::Affine => (native, Arithmetic::TimesPlus, Some(1.0)),
        Mode::Mxfp4 => (DType::F8_E8M0, Arithmetic::Times, Some(0.5)),
        Mode::Nvfp4 => (DType::F8_E4M3, Arithmetic::Times, Some(0.5)),
        // Eight-bit floats are too unevenly spaced.
        Mode::Mxfp8 => (DType::F8_E8M0, Arithmetic::Times, None),
    };
    let group = usize::try_from(kind.group).unwrap_or(usize::MAX);
    let numbers = |bytes: &[u8]| {
        let mut numbers = vec![0.0; decoded.numbers.len().div_ceil(group)];
        if !bytes.is_empty() {
            plain::numbers(dtype, bytes, &mut numbers);
        }
        numbers
    };
    let factors = numbers(scales).into_iter().zip(numbers(biases));
    let factors: Vec<_> = factors.map(|(scale, offset)| Factor { scale, offset }).collect();
    let coded =
        Coded { codes: &super::codes(kind), arithmetic, group, bytes, factors: &factors, step };
    coded.decode(&mut decoded.numbers, &mut decoded.levels);
}
