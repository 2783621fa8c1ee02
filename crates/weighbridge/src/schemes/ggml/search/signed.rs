//! A scale for numbers on both sides of zero: of several scales around the one that fits the number
//! farthest from zero, the one that leaves the least error.

use super::{NOTHING, farthest, low_byte, nearest};

/// What was found for a group.
pub(in crate::schemes::ggml) struct Signed<const N: usize> {
    pub(in crate::schemes::ggml) scale: f32,
    /// From zero up to twice `most`, where `most` stands for zero.
    pub(in crate::schemes::ggml) codes: [u8; N],
}

/// The scales that are tried, in tenths of a step from the first.
const TRIED: [f32; 18] = [
    -9.0, -8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
    9.0,
];

/// The definition. Codes lie between `-most` and `most - 1`.
pub(in crate::schemes::ggml) fn define<const N: usize>(
    most: i16,
    values: &[f32; N],
    weights: &[f32; N],
) -> Signed<N> {
    let (size, of) = farthest(values);
    if size < NOTHING {
        return Signed { scale: 0.0, codes: [0; N] };
    }
    let steps = f32::from(most);
    let code = |inverse: f32, value: f32| {
        nearest(inverse * value).clamp(-i32::from(most), i32::from(most) - 1)
    };
    let sums = |inverse: f32| {
        let pairs = values.iter().zip(weights);
        pairs.fold((0.0, 0.0), |(products, squares), (&value, &weight)| {
            let level = code(inverse, value) as f32;
            (products + weight * value * level, squares + weight * level * level)
        })
    };
    let mut inverse = -steps / of;
    let (products, squares) = sums(inverse);
    let mut scale = if squares == 0.0 { 0.0 } else { products / squares };
    let mut best = scale * products;
    for tenths in TRIED {
        let tried = -(steps + 0.1 * tenths) / of;
        let (products, squares) = sums(tried);
        if squares > 0.0 && products * products > best * squares {
            inverse = tried;
            scale = products / squares;
            best = scale * products;
        }
    }
    Signed { scale, codes: values.map(|value| low_byte(code(inverse, value) + i32::from(most))) }
}
