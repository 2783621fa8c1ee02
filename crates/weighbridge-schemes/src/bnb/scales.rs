//! Scales in codes: double quantization.
//!
//! The mean of all `absmax` is subtracted (`nested_offset`), and what is left is stored in
//! codes of eight bits for the numbers of a fixed map, in blocks of 256 that have their largest
//! magnitude beside them. Codes are the nearest, as in the library's torch code (its default
//! backend) and on GPUs; its compiled code for CPUs goes through a table and may miss those near
//! zero.

use std::sync::LazyLock;

use crate::arithmetic::magnitude::largest_magnitude;

/// Scales of a block.
pub(super) const BLOCK: usize = 256;

/// What a block of zeros is divided by.
const LEAST: f32 = 1e-38;

/// What the codes stand for.
pub(super) static MAP: LazyLock<[f32; 256]> = LazyLock::new(map);

/// The middles between neighbours of the map.
static MIDDLES: LazyLock<[f32; 255]> =
    LazyLock::new(|| std::array::from_fn(|at| (MAP[at] + MAP[at + 1]) / 2.0));

/// The codes of scales from the start of a block on, less their mean, and each block's largest
/// magnitude.
pub(super) fn encode(scales: &[f32], offset: f32, codes: &mut [u8]) -> Vec<f32> {
    let blocks = scales.chunks(BLOCK).zip(codes.chunks_mut(BLOCK));
    blocks.map(|(scales, codes)| encode_block(scales, offset, codes)).collect()
}

fn encode_block(scales: &[f32], offset: f32, codes: &mut [u8]) -> f32 {
    let left: Vec<f32> = scales.iter().map(|scale| scale - offset).collect();
    let (largest, is_whole) = (largest_magnitude(&left), scales.len() == BLOCK);
    let most = largest.max(LEAST);
    let factor = 1.0 / most;
    for (value, code) in left.iter().zip(codes) {
        let scaled = if is_whole { value * factor } else { value / most };
        let below = MIDDLES.partition_point(|middle| *middle < scaled.clamp(-1.0, 1.0));
        *code = u8::try_from(below).unwrap_or(u8::MAX);
    }
    if is_whole { largest } else { most }
}

/// The scales that codes stand for, in the library's two roundings.
pub(super) fn decode(codes: &[u8], absmax: &[f32], offset: f32) -> Vec<f32> {
    let blocks = codes.chunks(BLOCK).zip(absmax);
    let block = |(codes, absmax): (&[u8], &f32)| {
        let scale = |code: &u8| MAP[usize::from(*code)] * absmax + offset;
        codes.iter().map(scale).collect::<Vec<f32>>()
    };
    blocks.flat_map(block).collect()
}

/// What the codes of scales stand for, in order: zero, one, and between them seven decades of
/// either sign, each with twice as many numbers as the one below.
fn map() -> [f32; 256] {
    let mut numbers = vec![0.0, 1.0];
    for decade in 0..7i32 {
        let size = 10f64.powi(decade - 6);
        for mean in means(1 << decade) {
            #[allow(clippy::cast_possible_truncation)] // As torch multiplies by a Python number.
            let number = size as f32 * mean;
            numbers.extend([number, -number]);
        }
    }
    numbers.sort_by(f32::total_cmp);
    std::array::from_fn(|code| numbers.get(code).copied().unwrap_or(0.0))
}

/// The middles of so many equal parts of what lies between 0.1 and 1.
fn means(parts: u16) -> Vec<f32> {
    const FIRST: f32 = 0.1;
    let step = f64::from((1.0 - FIRST) / f32::from(parts));
    // As `torch.linspace`: from both ends towards the middle, each sum rounded once.
    #[allow(clippy::cast_possible_truncation)]
    let boundary = |at: u16| {
        if at < parts.div_ceil(2) {
            (f64::from(FIRST) + step * f64::from(at)) as f32
        } else {
            (1.0 - step * f64::from(parts - at)) as f32
        }
    };
    (0..parts).map(|at| (boundary(at) + boundary(at + 1)) / 2.0).collect()
}
