//! A scale for numbers on both sides of zero, found by changing one code after the other as long as
//! that lessens the error.

use super::signed::Signed;
use super::{NOTHING, farthest, low_byte, nearest};

/// How often all codes are looked at.
const SWEEPS: usize = 5;

/// The definition. Codes lie between `-most` and `most - 1`.
pub(in crate::schemes::ggml) fn define<const N: usize>(most: i16, values: &[f32; N]) -> Signed<N> {
    let (size, of) = farthest(values);
    if size < NOTHING {
        return Signed { scale: 0.0, codes: [0; N] };
    }
    let code = |scaled: f32| nearest(scaled).clamp(-i32::from(most), i32::from(most) - 1) as f32;
    let inverse = -f32::from(most) / of;
    let mut levels = values.map(|value| code(inverse * value));
    let (mut products, mut squares) = (0.0, 0.0);
    for (value, level) in values.iter().zip(levels) {
        let weight = value * value;
        products += weight * value * level;
        squares += weight * level * level;
    }
    for _ in 0..SWEEPS {
        let mut changed = false;
        for (&value, level) in values.iter().zip(&mut levels) {
            let weight = value * value;
            let other_products = products - weight * value * *level;
            let other_squares = squares - weight * *level * *level;
            if !(other_products > 0.0) {
                continue;
            }
            let new = code(value * other_squares / other_products);
            if new == *level {
                continue;
            }
            let new_products = other_products + weight * value * new;
            let new_squares = other_squares + weight * new * new;
            let gain = new_products * new_products * squares;
            if new_squares > 0.0 && gain > products * products * new_squares {
                (*level, products, squares) = (new, new_products, new_squares);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let scale = if squares > 0.0 { products / squares } else { 0.0 };
    #[allow(clippy::cast_possible_truncation)] // They were integers.
    Signed { scale, codes: levels.map(|level| low_byte(level as i32 + i32::from(most))) }
}
