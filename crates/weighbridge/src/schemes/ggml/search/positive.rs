//! A scale for numbers that are not negative: the scales of a block's groups.

use super::{NOTHING, low_byte, nearest};

/// What was found for a block.
pub(in crate::schemes::ggml) struct Positive<const N: usize> {
    pub(in crate::schemes::ggml) scale: f32,
    pub(in crate::schemes::ggml) codes: [u8; N],
}

/// The scales that are tried, in tenths of a step from the first.
const TRIED: [f32; 8] = [-4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0];

/// How often all codes are looked at.
const SWEEPS: usize = 5;

/// The definition. Codes lie between zero and `most`.
pub(in crate::schemes::ggml) fn define<const N: usize>(
    most: u8,
    values: &[f32; N],
    weights: &[f32; N],
) -> Positive<N> {
    let largest =
        values.iter().fold(0.0, |most: f32, &value| if most > value { most } else { value });
    if largest < NOTHING {
        return Positive { scale: 0.0, codes: [0; N] };
    }
    let steps = f32::from(most);
    let bounded = |value: f32| nearest(value).min(i32::from(most));
    let error = |inverse: f32, code: &dyn Fn(f32) -> f32| {
        let scale = 1.0 / inverse;
        values.iter().zip(weights).fold(0.0, |error, (&value, weight)| {
            let off = value - scale * code(inverse * value);
            error + weight * off * off
        })
    };
    let mut inverse = steps / largest;
    let mut least = error(inverse, &|value| f32::from(low_byte(nearest(value))));
    for tenths in TRIED {
        let tried = (0.1 * tenths + steps) / largest;
        let error = error(tried, &|value| bounded(value) as f32);
        if error < least {
            (least, inverse) = (error, tried);
        }
    }
    let mut codes = [0; N];
    let (mut products, mut squares) = (0.0, 0.0);
    for ((&value, &weight), code) in values.iter().zip(weights).zip(&mut codes) {
        let level = bounded(inverse * value);
        *code = low_byte(level);
        products += weight * value * level as f32;
        squares += weight * level as f32 * level as f32;
    }
    for _ in 0..SWEEPS {
        if !sweep(most, values, weights, &mut codes, (&mut products, &mut squares)) {
            break;
        }
    }
    Positive { scale: if squares > 0.0 { products / squares } else { 0.0 }, codes }
}

/// Changes each code in turn if that lessens the error; says whether one was changed.
fn sweep<const N: usize>(
    most: u8,
    values: &[f32; N],
    weights: &[f32; N],
    codes: &mut [u8; N],
    (products, squares): (&mut f32, &mut f32),
) -> bool {
    let mut changed = false;
    for ((&value, &weight), code) in values.iter().zip(weights).zip(codes) {
        let level = f32::from(*code);
        let other_products = *products - weight * value * level;
        let other_squares = *squares - weight * level * level;
        if !(other_products > 0.0 && other_squares > 0.0) {
            continue;
        }
        let new = nearest(value * other_squares / other_products).min(i32::from(most));
        if new == i32::from(*code) {
            continue;
        }
        let new_products = other_products + weight * value * new as f32;
        let new_squares = other_squares + weight * new as f32 * new as f32;
        let gain = new_products * new_products * *squares;
        if gain > *products * *products * new_squares {
            (*code, *products, *squares) = (low_byte(new), new_products, new_squares);
            changed = true;
        }
    }
    changed
}
