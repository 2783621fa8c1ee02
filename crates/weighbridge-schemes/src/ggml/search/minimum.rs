//! A scale and a minimum, which is not above zero: several scales are tried, and for the codes that
//! each gives, the scale and minimum that leave the least error.

use super::{Group, GroupLanes, finite_in_lanes, low_byte, nearest};
use crate::simd::vector::{Choice, Parallel};

/// What is tried.
#[derive(Clone, Copy)]
pub(in crate::ggml) struct Trials {
    /// The largest code.
    pub(in crate::ggml) most: u8,
    /// The first trial, in steps beyond the first scale.
    pub(in crate::ggml) first: f32,
    /// From trial to trial.
    pub(in crate::ggml) by: f32,
    /// The number of the last trial.
    pub(in crate::ggml) last: u8,
    /// Whether an error counts as it is, not as its square.
    pub(in crate::ggml) plain_errors: bool,
}

impl Trials {
    /// What importance asks to be tried.
    pub(in crate::ggml) const fn by_importance(self) -> Self {
        Self { first: -0.9, by: 0.05, last: 36, plain_errors: false, ..self }
    }

    /// How many steps lie between the smallest and the largest number in a trial.
    #[inline(always)]
    pub(super) fn steps(&self, trial: u8) -> f32 {
        self.first + self.by * f32::from(trial) + f32::from(self.most)
    }
}

/// The definition.
pub(in crate::ggml) fn define<const N: usize>(
    trials: &Trials,
    values: &[f32; N],
    weights: &[f32; N],
) -> Group<N> {
    let most = i32::from(trials.most);
    let code = |inverse: f32, min: f32, value: f32| nearest(inverse * (value - min)).clamp(0, most);
    let (mut min, mut max) = (values[0], values[0]);
    let (mut all_weights, mut all_values) = (weights[0], weights[0] * values[0]);
    for (&value, &weight) in values.iter().zip(weights).skip(1) {
        min = if value < min { value } else { min };
        max = if value > max { value } else { max };
        all_weights += weight;
        all_values += weight * value;
    }
    min = if min > 0.0 { 0.0 } else { min };
    if max == min {
        return Group { scale: 0.0, below: -min, codes: [0; N] };
    }
    let error = |scale: f32, min: f32, levels: &[f32; N]| {
        let mut error = 0.0;
        for ((value, weight), level) in values.iter().zip(weights).zip(levels) {
            let off = scale * level + min - value;
            error += weight * if trials.plain_errors { off.abs() } else { off * off };
        }
        error
    };
    let inverse = f32::from(trials.most) / (max - min);
    let mut scale = 1.0 / inverse;
    let mut best = values.map(|value| code(inverse, min, value) as f32);
    let mut least = error(scale, min, &best);
    for trial in 0..=trials.last {
        let inverse = trials.steps(trial) / (max - min);
        let levels = values.map(|value| code(inverse, min, value) as f32);
        let Some((this_scale, this_min)) = fit(values, weights, &levels, (all_weights, all_values))
        else {
            continue;
        };
        let error = error(this_scale, this_min, &levels);
        if error < least {
            (least, scale, min, best) = (error, this_scale, this_min, levels);
        }
    }
    #[allow(clippy::cast_possible_truncation)] // They were integers.
    Group { scale, below: -min, codes: best.map(|level| low_byte(level as i32)) }
}

/// The scale and minimum that leave the least squared error with these codes.
fn fit<const N: usize>(
    values: &[f32; N],
    weights: &[f32; N],
    levels: &[f32; N],
    (all_weights, all_values): (f32, f32),
) -> Option<(f32, f32)> {
    let (mut once, mut squares, mut products) = (0.0, 0.0, 0.0);
    for ((value, weight), level) in values.iter().zip(weights).zip(levels) {
        once += weight * level;
        squares += weight * level * level;
        products += weight * level * value;
    }
    let determinant = all_weights * squares - once * once;
    let has_one = determinant > 0.0;
    if !has_one {
        return None;
    }
    let scale = (all_weights * products - all_values * once) / determinant;
    let min = (squares * all_values - once * products) / determinant;
    Some(if min > 0.0 { (products / squares, 0.0) } else { (scale, min) })
}

/// Groups in lanes.
struct Tried<'a, P, const N: usize> {
    values: &'a [P; N],
    weights: &'a [P; N],
    levels: [P; N],
    most: P,
}

/// The vector form, one group per lane.
#[inline(always)]
pub(in crate::ggml) fn in_lanes<P: Parallel, const N: usize>(
    trials: &Trials,
    values: &[P; N],
    weights: &[P; N],
) -> GroupLanes<P> {
    let zero = values[0].same(0.0);
    let (mut smallest, mut max) = (values[0], values[0]);
    let (mut all_weights, mut all_values) = (weights[0], weights[0] * values[0]);
    for at in 1..N {
        smallest = values[at].min(smallest);
        max = values[at].max(max);
        all_weights = all_weights + weights[at];
        all_values = all_values + weights[at] * values[at];
    }
    let mut min = zero.min(smallest);
    let empty = max.equals(min);
    // Where there is no range, no trial is taken.
    let max = (max + zero.same(1.0)).or(max, empty);
    let mut group =
        Tried { values, weights, levels: [zero; N], most: zero.same(f32::from(trials.most)) };
    let mut origin = min;
    let mut inverse = group.most / (max - min);
    let mut scale = zero.same(1.0) / inverse;
    group.choose::<false, false>(inverse, min);
    let mut least = group.error(trials.plain_errors, scale, min);
    let mut left = finite_in_lanes(values).not().or(far(max - min, zero));
    for trial in 0..=trials.last {
        let steps = trials.steps(trial);
        let range = max - min;
        let tried = zero.same(steps) / range;
        left = left.or(far(range, min - smallest));
        let above = steps > f32::from(trials.most) + 0.49;
        let below = (tried * (smallest - min)).less(zero.same(-0.49)).any();
        let (once, squares, products) = match (above, below) {
            (false, false) => group.choose::<false, false>(tried, min),
            (true, false) => group.choose::<true, false>(tried, min),
            (false, true) => group.choose::<false, true>(tried, min),
            (true, true) => group.choose::<true, true>(tried, min),
        };
        let determinant = all_weights * squares - once * once;
        let this_scale = (all_weights * products - all_values * once) / determinant;
        let this_min = (squares * all_values - once * products) / determinant;
        let raised = zero.less(this_min);
        let this_scale = (products / squares).or(this_scale, raised);
        let this_min = zero.or(this_min, raised);
        let error = group.error(trials.plain_errors, this_scale, this_min);
        let better = zero.less(determinant).and(error.less(least));
        least = error.or(least, better);
        scale = this_scale.or(scale, better);
        inverse = tried.or(inverse, better);
        origin = min.or(origin, better);
        min = this_min.or(min, better);
    }
    let (scale, none) = (zero.or(scale, empty), zero.less(zero));
    GroupLanes { scale, min, origin, inverse, empty: none, left }
}

/// Where codes might be too large to be rounded by the instruction for it: numbers may lie `beyond`
/// the range.
#[inline(always)]
fn far<P: Parallel>(range: P, beyond: P) -> P::Mask {
    let usual = range.same(1e-30).at_most(range).and(range.at_most(range.same(1e30)));
    usual.and((beyond * range.same(1e-4)).at_most(range)).not()
}

impl<P: Parallel, const N: usize> Tried<'_, P, N> {
    /// Chooses codes; returns their weighted sum, that of their squares, and that of their products
    /// with the numbers.
    #[inline(always)]
    fn choose<const ABOVE: bool, const BELOW: bool>(&mut self, inverse: P, min: P) -> (P, P, P) {
        let zero = inverse.same(0.0);
        let (mut once, mut squares, mut products) = (zero, zero, zero);
        for at in 0..N {
            let value = self.values[at];
            let mut level = (inverse * (value - min)).round();
            if ABOVE {
                level = level.min(self.most);
            }
            if BELOW {
                level = level.max(zero);
            }
            self.levels[at] = level;
            let weighted = self.weights[at] * level;
            once = once + weighted;
            squares = squares + weighted * level;
            products = products + weighted * value;
        }
        (once, squares, products)
    }

    /// The error that is left.
    #[inline(always)]
    fn error(&self, plain: bool, scale: P, min: P) -> P {
        let mut error = scale.same(0.0);
        for at in 0..N {
            let off = scale * self.levels[at] + min - self.values[at];
            let off = if plain { off.abs() } else { off * off };
            error = error + self.weights[at] * off;
        }
        error
    }
}
