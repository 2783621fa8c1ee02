//! Random weights in blocks as ggml writes them: all lie within their bounds.
//!
//! For the types whose codes are chosen before the scale is rounded, and those that clip.

use half::f16;
use weighbridge_core::noise::Noise;

use crate::blocks::Block;
use crate::bounds::Bounds;
use crate::ggml::fp4::half_scales;
use crate::ggml::{BlockRows, BlockStretch, Maker, kernel_of};
use crate::number::Out;
use crate::simd::Level;

/// Blocks of weights, of every size: some so small that scales are subnormal or zero.
fn weights(elements: usize) -> impl Iterator<Item = Vec<f32>> {
    let mut noise = Noise(9);
    (0..500u16).map(move |index| {
        let size = (noise.unit() * 30.0 - 27.0).exp2();
        let mut block: Vec<f32> = (0..elements).map(|_| noise.normal() * size).collect();
        match index % 4 {
            0 => block[3] *= 20.0,
            1 => block.iter_mut().for_each(|weight| *weight += 4.0 * size),
            _ => {}
        }
        block
    })
}

fn check(name: &str, encode: impl Fn(&[f32]) -> Vec<u8>) {
    let block = Block::from_name(name).unwrap();
    let kernel = kernel_of(block).unwrap();
    let rows = BlockRows { block, kernel, columns: 1, maker: Maker::Ggml { by_importance: false } };
    let elements = block.elements as usize;
    let (mut values, mut out) = (vec![0.0; elements], vec![Bounds::default(); elements]);
    for weights in weights(elements) {
        let bytes = encode(&weights);
        kernel.decode(Level::BASELINE, &bytes, Out::F32(&mut values));
        rows.fill_bounds(
            &BlockStretch { bytes: &bytes, first: 0, count: values.len(), factor: None },
            &values,
            &mut out,
        );
        for ((weight, value), Bounds { low, high }) in weights.iter().zip(&values).zip(&out) {
            let slack = 1e-6 * weight.abs();
            let is_inside = low - slack <= *weight && *weight <= high + slack;
            assert!(is_inside, "{name}: {weight} as {value}, but {low} to {high}; {bytes:?}");
        }
    }
}

/// The weight that is farthest from zero, the first of them.
fn farthest(weights: &[f32]) -> f32 {
    weights.iter().fold(0.0, |most: f32, x| if x.abs() > most.abs() { *x } else { most })
}

fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Codes are small.
fn code(x: f32, last: f32) -> u8 {
    x.trunc().clamp(0.0, last) as u8
}

/// Low nibbles first, then high ones.
fn nibbles(codes: &[u8]) -> impl Iterator<Item = u8> {
    let half = codes.len() / 2;
    (0..half).map(move |at| codes[at] & 15 | codes[at + half] << 4)
}

fn half(number: f32) -> [u8; 2] {
    f16::from_f32(number).to_le_bytes()
}

#[test]
fn blocks_with_one_scale() {
    check("Q4_0", |weights| {
        let d = farthest(weights) / -8.0;
        let id = inverse(d);
        let codes: Vec<u8> = weights.iter().map(|x| code(x * id + 8.5, 15.0)).collect();
        half(d).into_iter().chain(nibbles(&codes)).collect()
    });
    check("Q8_0", |weights| {
        let d = farthest(weights).abs() / 127.0;
        let id = inverse(d);
        let codes = weights.iter().map(|x| code((x * id).round() + 128.0, 255.0) ^ 0x80);
        half(d).into_iter().chain(codes).collect()
    });
    check("TQ2_0", |weights| {
        let d = farthest(weights).abs();
        let id = inverse(d);
        let code = |at: usize| code((weights[at] * id).round() + 1.0, 2.0);
        let byte = |at: usize| {
            let first = at / 32 * 128 + at % 32;
            (0..4).fold(0, |byte, turn| byte | code(first + 32 * turn) << (2 * turn))
        };
        (0..64).map(byte).chain(half(d)).collect()
    });
    check("Q1_0", |weights| {
        let d = weights.iter().map(|x| x.abs()).sum::<f32>() / 128.0;
        let bit = |x: &f32| u8::from(*x >= 0.0);
        let byte = |eight: &[f32]| eight.iter().rev().fold(0, |byte, x| byte << 1 | bit(x));
        half(d).into_iter().chain(weights.chunks(8).map(byte)).collect()
    });
}

#[test]
fn blocks_with_a_minimum() {
    for (name, last) in [("Q4_1", 15.0), ("Q5_1", 31.0)] {
        check(name, |weights| {
            let low = weights.iter().fold(f32::MAX, |least, x| least.min(*x));
            let high = weights.iter().fold(f32::MIN, |most, x| most.max(*x));
            let d = (high - low) / last;
            let id = inverse(d);
            let codes: Vec<u8> = weights.iter().map(|x| code((x - low) * id + 0.5, last)).collect();
            let fifths = codes.iter().rev().fold(0u32, |all, q| all << 1 | u32::from(q >> 4));
            let fifths = fifths.to_le_bytes().into_iter().filter(|_| last > 16.0);
            half(d).into_iter().chain(half(low)).chain(fifths).chain(nibbles(&codes)).collect()
        });
    }
}

/// The first code whose number is nearest.
fn nearest_float(x: f32, scale: f32) -> u8 {
    const DOUBLED: [f32; 16] =
        [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0];
    let distance = |code: &u8| (DOUBLED[usize::from(*code)] * scale - x).abs();
    (0..16).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()
}

#[test]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Exponents are small.
fn four_bit_floats() {
    check("MXFP4", |weights| {
        let exponent = farthest(weights).abs().log2().floor() - 2.0;
        let scale = (exponent - 1.0).exp2();
        let codes: Vec<u8> = weights.iter().map(|x| nearest_float(*x, scale)).collect();
        std::iter::once((exponent + 127.0) as u8).chain(nibbles(&codes)).collect()
    });
    check("NVFP4", |weights| {
        let half_scale = |byte: u8| half_scales(&std::array::from_fn(|_| byte))[0];
        let all = (0..0x7fu8).map(|byte| (byte, half_scale(byte)));
        let all: Vec<(u8, f32)> = all.collect();
        let (mut scales, mut codes) = (Vec::new(), Vec::new());
        for group in weights.chunks(16) {
            let wanted = farthest(group).abs() / 12.0;
            let distance = |entry: &&(u8, f32)| (entry.1 - wanted).abs();
            let (byte, scale) =
                *all.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
            scales.push(byte);
            let group: Vec<u8> = group.iter().map(|x| nearest_float(*x, scale)).collect();
            codes.extend(nibbles(&group));
        }
        scales.into_iter().chain(codes).collect()
    });
}
