//! A scale for numbers on both sides of zero: of several scales around the one that fits the number
//! farthest from zero, the one that leaves the least error.

use super::{
    Group, GroupLanes, NOTHING, farthest, farthest_in_lanes, finite_in_lanes, low_byte, nearest,
};
use crate::simd::vector::{Choice, Parallel};

/// The scales that are tried, in tenths of a step from the first.
const TRIED: [f32; 18] = [
    -9.0, -8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
    9.0,
];

/// The definition. Codes lie between `-most` and `most - 1`, and are stored `most` above that.
pub(in crate::ggml) fn define<const N: usize>(
    most: i16,
    values: &[f32; N],
    weights: &[f32; N],
) -> Group<N> {
    let (size, of) = farthest(values);
    if size < NOTHING {
        return Group { scale: 0.0, below: 0.0, codes: [0; N] };
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
    let codes = values.map(|value| low_byte(code(inverse, value) + i32::from(most)));
    Group { scale, below: 0.0, codes }
}

/// The vector form, one group per lane.
#[inline(always)]
pub(in crate::ggml) fn in_lanes<P: Parallel, const N: usize>(
    most: f32,
    values: &[P; N],
    weights: &[P; N],
) -> GroupLanes<P> {
    let zero = values[0].same(0.0);
    let (size, of) = farthest_in_lanes(values);
    let empty = size.less(zero.same(NOTHING));
    let of = zero.same(1.0).or(of, empty);
    let mut group = Tried { values, weights, products: [zero; N], most };
    for at in 0..N {
        group.products[at] = weights[at] * values[at];
    }
    let mut inverse = zero.same(-most) / of;
    let (products, squares) = group.sums::<true, false>(inverse);
    let mut scale = zero.or(products / squares, squares.equals(zero));
    let mut best = scale * products;
    for tenths in TRIED {
        let tried = zero.same(-(most + 0.1 * tenths)) / of;
        // Codes are cut where a number may lie more than half a step outside.
        let (products, squares) = match tenths {
            ..-5.5 => group.sums::<false, false>(tried),
            ..4.5 => group.sums::<true, false>(tried),
            _ => group.sums::<true, true>(tried),
        };
        let better = zero.less(squares).and((best * squares).less(products * products));
        inverse = tried.or(inverse, better);
        scale = (products / squares).or(scale, better);
        best = (scale * products).or(best, better);
    }
    let left = finite_in_lanes(values).not();
    let scale = zero.or(scale, empty);
    GroupLanes { scale, min: zero, origin: zero, inverse, empty, left }
}

/// Groups in lanes.
struct Tried<'a, P, const N: usize> {
    values: &'a [P; N],
    weights: &'a [P; N],
    /// Of both.
    products: [P; N],
    most: f32,
}

impl<P: Parallel, const N: usize> Tried<'_, P, N> {
    /// Weighted sums of products of numbers and codes, and of squares of codes.
    #[inline(always)]
    fn sums<const ABOVE: bool, const BELOW: bool>(&self, inverse: P) -> (P, P) {
        let (above, below) = (inverse.same(self.most - 1.0), inverse.same(-self.most));
        let mut sums = (inverse.same(0.0), inverse.same(0.0));
        for at in 0..N {
            let mut level = (inverse * self.values[at]).round();
            if ABOVE {
                level = level.min(above);
            }
            if BELOW {
                level = level.max(below);
            }
            sums.0 = sums.0 + self.products[at] * level;
            sums.1 = sums.1 + self.weights[at] * level * level;
        }
        sums
    }
}
