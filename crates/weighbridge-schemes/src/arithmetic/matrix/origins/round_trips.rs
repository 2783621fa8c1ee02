//! Random weights, stored the way each library stores them: all lie within their bounds.

use half::{bf16, f16};
use weighbridge_core::noise::Noise;

use super::*;
use crate::arithmetic::matrix::{E2M1, Packing};
use crate::arithmetic::plain;
use crate::simd::codes::Codes;

/// Groups of 64 weights: of every size, some with outliers, some all above zero, some sparse.
fn groups() -> impl Iterator<Item = Vec<f32>> {
    let mut noise = Noise(5);
    (0..400u16).map(move |index| {
        let size = (noise.unit() * 24.0 - 22.0).exp2();
        let mut group: Vec<f32> = (0..64).map(|_| noise.normal() * size).collect();
        match index % 5 {
            0 => group[7] *= 20.0,
            1 => group.iter_mut().for_each(|weight| *weight = weight.abs() + size),
            2 => group.iter_mut().skip(3).step_by(2).for_each(|weight| *weight = 0.0),
            _ => {}
        }
        group
    })
}

/// Rounds to a type and back.
fn rounded(dtype: DType, number: f32) -> f32 {
    match dtype {
        DType::BF16 => bf16::from_f32(number).to_f32(),
        DType::F16 => f16::from_f32(number).to_f32(),
        _ => number,
    }
}

fn farthest(group: &[f32]) -> f32 {
    group.iter().fold(0.0, |most: f32, weight| most.max(weight.abs()))
}

/// The nearest number to a quotient; of two, the one below.
fn nearest(numbers: &Numbers, quotient: f32) -> f32 {
    let [first, last] = numbers.ends();
    let quotient = quotient.clamp(first, last);
    let distance = |number: &&f32| (**number - quotient).abs();
    let closest = numbers.all.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    closest.copied().unwrap_or_default()
}

/// Checks a group, whose stored numbers are given.
fn check(what: &str, levels: &Levels<'_>, group: &[f32], stored: &[f32]) {
    let mut out = vec![Bounds::default(); group.len()];
    levels.fill(stored, &mut out);
    for ((weight, stored), Bounds { low, high }) in group.iter().zip(stored).zip(out) {
        let slack = 1e-6 * weight.abs();
        let is_inside = low - slack <= *weight && *weight <= high + slack;
        assert!(is_inside, "{what}: {weight} as {stored}, but {low} to {high}; {levels:?}");
    }
}

/// Compressed-tensors, FP8: the scale and the quotient are rounded to the weights' type.
#[test]
fn scales_of_the_weights_own_type() {
    let float = |dtype| Codes::new(Packing::Bytes, move |code| plain::number(dtype, &[code], 0));
    let four = Codes::new(Packing::LowNibbles, |code| f32::from(code) - 8.0);
    let eight = Codes::new(Packing::Bytes, |code| f32::from(code.cast_signed()));
    for (codes, range, beyond) in [
        (four, 7.5, 0.7),
        (eight, 127.5, 0.7),
        (float(DType::F8_E4M3), 448.0, 2.0),
        (float(DType::F8_E5M2), 57344.0, 256.0),
    ] {
        for dtype in [DType::BF16, DType::F16, DType::F32] {
            let numbers = Numbers::of(&codes);
            let loss = Loss::rounded_to(dtype).beyond(beyond);
            for group in groups() {
                let group: Vec<f32> = group.iter().map(|weight| rounded(dtype, *weight)).collect();
                let scale = rounded(dtype, farthest(&group) / range);
                if scale == 0.0 {
                    continue;
                }
                let code = |weight: &f32| nearest(numbers, rounded(dtype, weight / scale));
                let stored: Vec<f32> = group.iter().map(|weight| code(weight) * scale).collect();
                let factor = Factor { scale, offset: 0.0 };
                let levels = loss.levels(numbers, Arithmetic::Times, factor, 0.0);
                check(&format!("{range} {dtype}"), &levels, &group, &stored);
            }
        }
    }
}

/// MLX: codes are chosen before scale and bias are rounded.
#[test]
fn scales_and_biases_that_are_rounded_afterwards() {
    for (bits, dtype) in [2, 4, 8]
        .into_iter()
        .flat_map(|bits| [DType::BF16, DType::F16, DType::F32].map(|dtype| (bits, dtype)))
    {
        let codes = Codes::new(Packing::Stream(bits), f32::from);
        let (numbers, last) = (Numbers::of(&codes), ((1u32 << bits) - 1) as f32);
        let loss = Loss::rounded_to(dtype).beyond(1.3);
        for group in groups() {
            let group: Vec<f32> = group.iter().map(|weight| rounded(dtype, *weight)).collect();
            let low = group.iter().fold(f32::MAX, |least, weight| least.min(*weight));
            let high = group.iter().fold(f32::MIN, |most, weight| most.max(*weight));
            let from_low = low.abs() > high.abs();
            let scale = ((high - low) / last).max(1e-7);
            let scale = if from_low { scale } else { -scale };
            let edge = if from_low { low } else { high };
            let steps = (edge / scale).round_ties_even();
            let (scale, bias) = if steps == 0.0 { (scale, 0.0) } else { (edge / steps, edge) };
            let factor = Factor { scale: rounded(dtype, scale), offset: rounded(dtype, bias) };
            let code = |weight: &f32| ((weight - bias) / scale).round_ties_even().clamp(0.0, last);
            let stored: Vec<f32> =
                group.iter().map(|weight| code(weight) * factor.scale + factor.offset).collect();
            let levels = loss.levels(numbers, Arithmetic::TimesPlus, factor, 0.0);
            check(&format!("{bits} bits {dtype}"), &levels, &group, &stored);
        }
    }
}

/// Integers with a zero point, which is rounded.
#[test]
fn zero_points_are_rounded() {
    let codes = Codes::new(Packing::LowNibbles, |code| f32::from(code) - 8.0);
    let numbers = Numbers::of(&codes);
    for dtype in [DType::BF16, DType::F32] {
        let loss = Loss::rounded_to(dtype).beyond(1.3);
        for group in groups() {
            let group: Vec<f32> = group.iter().map(|weight| rounded(dtype, *weight)).collect();
            let low = group.iter().fold(0.0, |least: f32, weight| least.min(*weight));
            let high = group.iter().fold(0.0, |most: f32, weight| most.max(*weight));
            let scale = rounded(dtype, (high - low) / 15.0);
            let offset = (-8.0 - rounded(dtype, low / scale)).round_ties_even().clamp(-8.0, 7.0);
            let code = |weight: &f32| {
                let place = rounded(dtype, rounded(dtype, weight / scale) + offset);
                place.round_ties_even().clamp(-8.0, 7.0)
            };
            let stored: Vec<f32> =
                group.iter().map(|weight| (code(weight) - offset) * scale).collect();
            let factor = Factor { scale, offset };
            let levels = loss.levels(numbers, Arithmetic::MinusTimes, factor, 0.0);
            check(&format!("zero points {dtype}"), &levels, &group, &stored);
        }
    }
}

/// Powers of two, by whichever rule: the one below the largest weight, or the nearest.
#[test]
fn scales_that_are_powers_of_two() {
    let codes = Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]);
    let numbers = Numbers::of(&codes);
    for (loss, power) in [
        (Loss::of_powers(6.0), &(|most: f32| most.log2().floor() - 2.0) as &dyn Fn(f32) -> f32),
        (Loss::of_nearest_powers(6.0), &|most: f32| {
            rounded(DType::BF16, rounded(DType::BF16, most / 6.0).log2()).round_ties_even()
        }),
    ] {
        for group in groups() {
            let scale = power(farthest(&group)).exp2();
            let code = |weight: &f32| nearest(numbers, weight / scale) * scale;
            let stored: Vec<f32> = group.iter().map(code).collect();
            let factor = Factor { scale, offset: 0.0 };
            let levels = loss.levels(numbers, Arithmetic::Times, factor, 0.0);
            check("powers of two", &levels, &group, &stored);
        }
    }
}

/// Four-bit floats below scales of eight bits.
#[test]
fn scales_of_eight_bits() {
    let codes = Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]);
    let scales = Codes::new(Packing::Bytes, |code| plain::number(DType::F8_E4M3, &[code], 0));
    let (numbers, scales) = (Numbers::of(&codes), Numbers::of(&scales));
    let loss = Loss::of_small_scales(false);
    for group in groups() {
        let scale = nearest(scales, farthest(&group) / 6.0);
        let code = |weight: &f32| {
            if scale == 0.0 { 0.0 } else { nearest(numbers, weight / scale) * scale }
        };
        let stored: Vec<f32> = group.iter().map(code).collect();
        let factor = Factor { scale, offset: 0.0 };
        let levels = loss.levels(numbers, Arithmetic::Times, factor, 0.0);
        check("scales of eight bits", &levels, &group, &stored);
    }
}
