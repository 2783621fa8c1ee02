//! A scale for numbers on both sides of zero, found by changing one code after the other as long as
//! that lessens the error.

use super::{
    Group, NOTHING, farthest, farthest_in_lanes, finite_in_lanes, low_byte, near, nearest,
};
use crate::simd::vector::{Choice, Parallel};

/// How often all codes are looked at.
const SWEEPS: usize = 5;

/// The definition. Codes lie between `-most` and `most - 1`.
pub(in crate::ggml) fn define<const N: usize>(most: i16, values: &[f32; N]) -> Group<N> {
    let (size, of) = farthest(values);
    if size < NOTHING {
        return Group { scale: 0.0, below: 0.0, codes: [0; N] };
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
            let fits = other_products > 0.0;
            if !fits {
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
    let codes = levels.map(|level| low_byte(level as i32 + i32::from(most)));
    Group { scale, below: 0.0, codes }
}

/// The vector form, one group per lane: scales, and the lanes that the scalar form must redo.
#[inline(always)]
pub(in crate::ggml) fn in_lanes<P: Parallel, const N: usize>(
    most: f32,
    values: &[P; N],
) -> (P, P::Mask) {
    let zero = values[0].same(0.0);
    let (above, below) = (zero.same(most - 1.0), zero.same(-most));
    let (size, of) = farthest_in_lanes(values);
    let empty = size.less(zero.same(NOTHING));
    let inverse = zero.same(-most) / zero.same(1.0).or(of, empty);
    let mut left = finite_in_lanes(values).not();
    let (mut levels, mut weights, mut weighted) = ([zero; N], [zero; N], [zero; N]);
    let (mut products, mut squares) = (zero, zero);
    for at in 0..N {
        let level = (inverse * values[at]).round().min(above);
        levels[at] = level;
        weights[at] = values[at] * values[at];
        weighted[at] = weights[at] * values[at];
        products = products + weighted[at] * level;
        squares = squares + weights[at] * level * level;
    }
    for _ in 0..SWEEPS {
        let mut any = zero.less(zero);
        for at in 0..N {
            let (weight, level) = (weights[at], levels[at]);
            let other_products = products - weighted[at] * level;
            let other_squares = squares - weight * level * level;
            let scaled = values[at] * other_squares / other_products;
            let new = scaled.round().min(above).max(below);
            let tried = zero.less(other_products);
            let changed = tried.and(new.equals(level).not());
            left = left.or(tried.and(near(scaled).not()));
            if !changed.any() {
                continue;
            }
            let new_products = other_products + weighted[at] * new;
            let new_squares = other_squares + weight * new * new;
            let gain = new_products * new_products * squares;
            let better = (products * products * new_squares).less(gain);
            let better = changed.and(better).and(zero.less(new_squares));
            levels[at] = new.or(level, better);
            products = new_products.or(products, better);
            squares = new_squares.or(squares, better);
            any = any.or(better);
        }
        if !any.any() {
            break;
        }
    }
    let scale = (products / squares).or(zero, zero.less(squares));
    (zero.or(scale, empty), left)
}
