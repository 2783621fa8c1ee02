//! Blocks of four-bit floats with a scale for each matrix, through plan, tiles and files.

use std::sync::Arc;

use weighbridge::Model;
use weighbridge::internals::schemes::{Decoded, Encoder, SCHEMES, TypeAssignment};

use super::quantizing::compare_cost;
use super::run::{decoded, encoded, stored};

/// The largest number that a block holds.
const LARGEST: f32 = 6.0 * 448.0;

/// Normally distributed numbers, as the sum of twelve evenly distributed ones.
fn normal(count: usize, deviation: f32) -> Vec<f32> {
    let mut state = 99u64;
    let mut even = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f32::from(u16::try_from(state >> 48).unwrap()) / 65536.0
    };
    (0..count).map(|_| ((0..12).map(|_| even()).sum::<f32>() - 6.0) * deviation).collect()
}

/// A model of one weight.
fn model(shape: &[u64], values: &[f32]) -> Model {
    let header = format!(
        r#"{{"w.weight":{{"dtype":"F32","shape":{shape:?},"data_offsets":[0,{}]}}}}"#,
        values.len() * 4
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    Model::open_bytes(bytes, "one.safetensors").unwrap()
}

/// The ratio of signal and noise after encoding and decoding, in decibels.
fn decibels(shape: &[u64], values: &[f32], encoder: &Arc<dyn Encoder>) -> f64 {
    let file = encoded(&model(shape, values), encoder, "gguf");
    let read = Model::open_bytes(file, "out.gguf").unwrap();
    let square = |value: f32| f64::from(value).powi(2);
    let numbers = decoded(&read.weight("w.weight").unwrap());
    let noise: f64 = values.iter().zip(&numbers).map(|(a, b)| square(a - b)).sum();
    let signal: f64 = values.iter().map(|&value| square(value)).sum();
    10.0 * (signal / noise).log10()
}

#[test]
fn small_numbers_keep_their_precision_with_the_scale_only() {
    let (shape, values) = ([64, 512], normal(64 * 512, 0.002));
    let scaled = SCHEMES.encoder("NVFP4+scale").unwrap();
    let ratio = decibels(&shape, &values, &scaled);
    assert!(ratio >= 19.0, "{ratio}");
    let plain = SCHEMES.encoder("NVFP4").unwrap();
    let ratio = decibels(&shape, &values, &plain);
    assert!(ratio < 2.0, "ggml's own blocks are zeros for such numbers: {ratio}");
}

#[test]
fn every_matrix_of_a_stack_has_its_own_scale() {
    let mut values = normal(3 * 4 * 128, 0.002);
    values[512..1024].iter_mut().for_each(|value| *value *= 1e6);
    values[1024..].fill(0.0);
    let encoder = SCHEMES.encoder("NVFP4+scale").unwrap();
    let model = model(&[3, 4, 128], &values);
    let file = encoded(&model, &encoder, "gguf");
    let read = Model::open_bytes(file, "out.gguf").unwrap();
    let scales: Vec<f32> = stored(&read)["w.scale"]
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let most = |part: &[f32]| part.iter().fold(0f32, |most, value| most.max(value.abs()));
    let expected = [most(&values[..512]) / LARGEST, most(&values[512..1024]) / LARGEST, 1.0];
    assert_eq!(scales, expected);
    assert!(decibels(&[3, 4, 128], &values, &encoder) > 18.0);
}

/// What the encoder decodes, in any tile, is what a reader of the file sees.
#[test]
fn the_error_is_measured_with_the_scale_of_each_matrix() {
    let mut values = normal(3 * 4 * 128, 0.002);
    values[512..1024].iter_mut().for_each(|value| *value *= 1e6);
    let encoder = SCHEMES.encoder("NVFP4+scale").unwrap();
    let (shape, model) = ([3, 4, 128], model(&[3, 4, 128], &values));
    let file = encoded(&model, &encoder, "gguf");
    let golden = Model::open_bytes(file, "out.gguf").unwrap();
    compare_cost(&model, &[TypeAssignment::Encode(encoder.clone())], &golden);
    let (own, all) = (encoder.begin(&shape), decoded(&golden.weight("w.weight").unwrap()));
    own.see(0..1536, &values);
    let (tile, mut blocks, mut levels) = (384..1152, vec![0; 768 / 64 * 36], 0);
    own.encode(384..1152, &values[tile.clone()], &mut [&mut blocks, &mut []]).unwrap();
    let mut found = Decoded { numbers: vec![0.0; 768], levels: Vec::new() };
    assert!(own.decode(384..1152, &[&blocks, &[]], &mut found).unwrap());
    assert_eq!(found.numbers, all[tile.clone()]);
    for same in found.levels {
        let numbers = &found.numbers[levels..levels + same.elements];
        assert!(numbers.iter().all(|number| (same.lowest..=same.highest).contains(number)));
        levels += same.elements;
    }
    assert_eq!(levels, 768);
}
