//! Random weights, stored as bitsandbytes stores them: all lie within their bounds.

use half::f16;

use super::absmax::{Coded, Stored};
use super::eight;
use super::four::table_of;
use super::state::Nested;
use crate::arithmetic::matrix::{
    Arithmetic, Choice, Codes, ENDLESS, Factors, Loss, Matrix, Packing,
};
use crate::bounds::Bounds;
use crate::dtype::DType;
use crate::framework::{Portion, Recipe};
use crate::number::Out;
use crate::source::Staged;

const ROWS: usize = 8;
const COLUMNS: usize = 192;
const BLOCK: usize = 64;

/// Weights of a normal distribution, nearly; rows of several sizes.
fn weights() -> Vec<f32> {
    let mut state = 3u64;
    let mut unit = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let mut weight = |at: usize| {
        let size = [1.0, 0.02, 3e-4, 2e-6][at / COLUMNS % 4];
        ((0..12).map(|_| unit()).sum::<f32>() - 6.0) * size
    };
    (0..ROWS * COLUMNS).map(&mut weight).collect()
}

fn farthest(weights: &[f32]) -> f32 {
    weights.iter().fold(0.0, |most: f32, weight| most.max(weight.abs()))
}

/// How many weights lie outside of the bounds that a recipe gives.
fn outside(recipe: &dyn Recipe, staged: &[Staged<'_>], weights: &[f32]) -> usize {
    let (mut values, count) = (vec![0.0; weights.len()], weights.len() as u64);
    let mut out = vec![Bounds::default(); weights.len()];
    recipe.decode(staged, 0..count, Out::F32(&mut values)).unwrap();
    let of = Portion { staged, elements: 0..count };
    recipe.origins().unwrap().bounds(&of, &values, &mut out).unwrap();
    let is_outside = |(weight, bounds): &(&f32, &Bounds)| {
        let slack = 1e-6 * weight.abs();
        **weight < bounds.low - slack || **weight > bounds.high + slack
    };
    weights.iter().zip(&out).filter(is_outside).count()
}

#[test]
#[allow(clippy::cast_possible_truncation)] // Codes are small.
fn bytes_with_a_scale_a_row() {
    let weights = weights();
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for row in weights.chunks(COLUMNS) {
        let row: Vec<f32> = row.iter().map(|weight| f16::from_f32(*weight).to_f32()).collect();
        let most = farthest(&row);
        let code = |weight: &f32| (weight * (127.0 / most)).round_ties_even() as i8;
        codes.extend(row.iter().map(|weight| code(weight).cast_unsigned()));
        scales.extend(most.to_le_bytes());
    }
    let recipe = eight::recipe(COLUMNS as u64);
    let staged = [Staged::over(&codes), Staged::over(&scales)];
    assert_eq!(outside(&*recipe, &staged, &weights), 0);
    // Twice a weight is another weight.
    let doubled: Vec<f32> = weights.iter().map(|weight| weight * 2.0).collect();
    assert!(outside(&*recipe, &staged, &doubled) > weights.len() / 2);
}

/// The code whose number is nearest, for blocks with these scales.
fn nibbles(table: &[f32; 16], scales: &[f32], weights: &[f32]) -> Vec<u8> {
    let code = |weight: f32, scale: f32| {
        let distance = |code: &u8| (table[usize::from(*code)] - weight / scale).abs();
        (0..16).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()
    };
    let blocks = weights.chunks(BLOCK).zip(scales);
    let codes: Vec<u8> = blocks
        .flat_map(|(block, scale)| block.iter().map(|weight| code(*weight, *scale)))
        .collect();
    codes.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn flat(table: [f32; 16], factors: Box<dyn Factors>, loss: Loss) -> Matrix {
    Matrix {
        codes: Codes::new(Packing::HighNibbles, |code| table[usize::from(code)]),
        columns: ENDLESS,
        row_bytes: 0,
        group: BLOCK as u64,
        factors,
        arithmetic: Arithmetic::Times,
        native: DType::BF16,
        choice: Choice::Nearest(loss),
    }
}

#[test]
fn nibbles_with_a_scale_a_block() {
    let weights = weights();
    let scales: Vec<f32> = weights.chunks(BLOCK).map(farthest).collect();
    for kind in ["nf4", "fp4"] {
        let table = table_of(kind).unwrap();
        let codes = nibbles(&table, &scales, &weights);
        let bytes: Vec<u8> = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        let staged = [Staged::over(&codes), Staged::over(&bytes)];
        let flat = flat(table, Box::new(Stored { dtype: DType::F32 }), Loss::NONE);
        assert_eq!(outside(&flat, &staged, &weights), 0, "{kind}");
        let changed: Vec<f32> = weights.iter().map(|weight| weight * 1.1).collect();
        assert!(outside(&flat, &staged, &changed) > weights.len() / 8, "{kind}");
    }
}

/// Scales that are codes themselves are not those that the codes of weights were chosen under.
#[test]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Codes are small.
fn nibbles_with_scales_in_codes() {
    // Of one size, as far as blocks go.
    let sized = |at: usize, weight: f32| weight / [1.0, 0.02, 3e-4, 2e-6][at / COLUMNS % 4];
    let weights: Vec<f32> =
        weights().iter().enumerate().map(|(at, weight)| sized(at, *weight)).collect();
    let scales: Vec<f32> = weights.chunks(BLOCK).map(farthest).collect();
    let table = table_of("nf4").unwrap();
    let codes = nibbles(&table, &scales, &weights);
    let offset = scales.iter().sum::<f32>() / scales.len() as f32;
    let most = scales.iter().fold(0.0, |most: f32, scale| most.max((scale - offset).abs()));
    let map: Vec<u8> =
        (0..=255u8).flat_map(|code| (f32::from(code) / 127.5 - 1.0).to_le_bytes()).collect();
    let code = |scale: &f32| (((scale - offset) / most + 1.0) * 127.5).round() as u8;
    let scale_codes: Vec<u8> = scales.iter().map(code).collect();
    let outer = most.to_le_bytes();
    let staged = [
        Staged::over(&codes),
        Staged::over(&scale_codes),
        Staged::over(&outer),
        Staged::over(&map),
    ];
    let nested = Nested { block: 256, offset };
    let flat = flat(table, Box::new(Coded { nested }), Loss::NONE);
    assert_eq!(outside(&flat, &staged, &weights), 0);
    let changed: Vec<f32> = weights.iter().map(|weight| weight * 1.1).collect();
    assert!(outside(&flat, &staged, &changed) > weights.len() / 8);
}
