//! A scale and a minimum, which is not above zero: several scales are tried, and for the codes that
//! each gives, the scale and minimum that leave the least error.

use super::{low_byte, nearest};

/// What is tried.
#[derive(Clone, Copy)]
pub(in crate::schemes::ggml) struct Trials {
    /// The largest code.
    pub(in crate::schemes::ggml) most: u8,
    /// The first trial, in steps beyond the first scale.
    pub(in crate::schemes::ggml) first: f32,
    /// From trial to trial.
    pub(in crate::schemes::ggml) by: f32,
    /// The number of the last trial.
    pub(in crate::schemes::ggml) last: u8,
    /// Whether an error counts as it is, not as its square.
    pub(in crate::schemes::ggml) plain_errors: bool,
}

impl Trials {
    /// How many steps lie between the smallest and the largest number in a trial.
    #[inline(always)]
    pub(super) fn steps(&self, trial: u8) -> f32 {
        self.first + self.by * f32::from(trial) + f32::from(self.most)
    }
}

/// What was found for a group.
pub(in crate::schemes::ggml) struct Minimum<const N: usize> {
    pub(in crate::schemes::ggml) scale: f32,
    /// How far the minimum lies below zero.
    pub(in crate::schemes::ggml) below: f32,
    pub(in crate::schemes::ggml) codes: [u8; N],
}

/// The definition.
pub(in crate::schemes::ggml) fn define<const N: usize>(
    trials: &Trials,
    values: &[f32; N],
    weights: &[f32; N],
) -> Minimum<N> {
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
        return Minimum { scale: 0.0, below: -min, codes: [0; N] };
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
    Minimum { scale, below: -min, codes: best.map(|level| low_byte(level as i32)) }
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
    if !(determinant > 0.0) {
        return None;
    }
    let scale = (all_weights * products - all_values * once) / determinant;
    let min = (squares * all_values - once * products) / determinant;
    Some(if min > 0.0 { (products / squares, 0.0) } else { (scale, min) })
}
