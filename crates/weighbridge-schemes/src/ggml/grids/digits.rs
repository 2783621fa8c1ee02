//! The grids as digits, and the larger ones as numbers, in the form that vector kernels use.

use super::{expand, iq1, iq2, iq3};

/// A table that begins with a cache line, so that no entry lies in two.
#[repr(align(64))]
pub(in super::super) struct Aligned<T>(pub(in super::super) T);

/// Four bytes an entry as numbers.
const fn numbers<const N: usize>(grid: &[[u8; 4]; N]) -> [[f32; 4]; N] {
    let mut numbers = [[0.0; 4]; N];
    let mut entry = 0;
    while entry < N {
        let [a, b, c, d] = grid[entry];
        numbers[entry] = [a as f32, b as f32, c as f32, d as f32];
        entry += 1;
    }
    numbers
}

/// IQ1_S and IQ1_M: digits.
pub(in super::super) static IQ1: Aligned<[[u8; 8]; 2048]> =
    Aligned(expand::<2, 8, _>(&iq1::TERNARY, &DIGITS));
/// IQ2_XXS: digits.
pub(in super::super) static IQ2_XXS: Aligned<[[u8; 8]; 256]> =
    Aligned(expand::<2, 8, _>(&iq2::XXS, &DIGITS));
/// IQ2_XS: digits.
pub(in super::super) static IQ2_XS: Aligned<[[u8; 8]; 512]> =
    Aligned(expand::<2, 8, _>(&iq2::XS, &DIGITS));
/// IQ2_S: digits.
pub(in super::super) static IQ2_S: Aligned<[[u8; 8]; 1024]> =
    Aligned(expand::<2, 8, _>(&iq2::S, &DIGITS));
/// IQ3_XXS: digits.
pub(in super::super) static IQ3_XXS: Aligned<[[u8; 4]; 256]> =
    Aligned(expand::<3, 4, _>(&iq3::XXS, &DIGITS));
/// IQ3_S: digits.
pub(in super::super) static IQ3_S: Aligned<[[u8; 4]; 512]> =
    Aligned(expand::<3, 4, _>(&iq3::S, &DIGITS));
/// IQ3_XXS: numbers.
pub(in super::super) static IQ3_XXS_NUMBERS: Aligned<[[f32; 4]; 256]> =
    Aligned(numbers(&super::IQ3_XXS));
/// IQ3_S: numbers.
pub(in super::super) static IQ3_S_NUMBERS: Aligned<[[f32; 4]; 512]> =
    Aligned(numbers(&super::IQ3_S));

/// IQ3_XXS: what digits stand for.
pub(in super::super) const IQ3_XXS_MAGNITUDES: [f32; 8] = floats(super::IQ3_XXS_MAGNITUDES);
/// IQ3_S: what digits stand for.
pub(in super::super) const IQ3_S_MAGNITUDES: [f32; 8] = floats(super::IQ3_S_MAGNITUDES);

const fn floats([a, b, c, d, e, f, g, h]: [u8; 8]) -> [f32; 8] {
    [a as f32, b as f32, c as f32, d as f32, e as f32, f as f32, g as f32, h as f32]
}

/// What digits stand for where they are wanted themselves.
const DIGITS: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
