//! Scales in codes: double quantization.
//!
//! The mean of all `absmax` is subtracted (`nested_offset`), and what is left is stored in
//! codes of eight bits for the numbers of a fixed map, in blocks of 256 that have their largest
//! magnitude beside them. Codes are the nearest, as in the library's torch code (its default
//! backend) and on GPUs; its compiled code for CPUs goes through a table and may miss those near
//! zero.

use super::mean::mean;
use crate::schemes::magnitude::largest_magnitude;

/// Scales of a block.
pub(super) const BLOCK: usize = 256;

/// What a block of zeros is divided by.
const LEAST: f32 = 1e-38;

/// Scales in codes.
pub(super) struct Codes {
    /// A code for each scale.
    pub(super) codes: Vec<u8>,
    /// The largest magnitude of each block.
    pub(super) absmax: Vec<f32>,
    /// What was subtracted.
    pub(super) offset: f32,
}

/// The scales of a weight in codes.
pub(super) fn encode(scales: &[f32]) -> Codes {
    let (map, offset) = (map(), mean(scales));
    let middle = |at: usize| (map[at] + map[at + 1]) / 2.0;
    let middles: [f32; 255] = std::array::from_fn(middle);
    let code = |scaled: f32| {
        let below = middles.partition_point(|middle| *middle < scaled);
        u8::try_from(below).unwrap_or(u8::MAX)
    };
    let (mut codes, mut absmax) = (Vec::with_capacity(scales.len()), Vec::new());
    for block in scales.chunks(BLOCK) {
        let left: Vec<f32> = block.iter().map(|scale| scale - offset).collect();
        let (largest, is_whole) = (largest_magnitude(&left), block.len() == BLOCK);
        let most = largest.max(LEAST);
        let factor = 1.0 / most;
        let scaled = |value: &f32| if is_whole { value * factor } else { value / most };
        codes.extend(left.iter().map(|value| code(scaled(value).clamp(-1.0, 1.0))));
        absmax.push(if is_whole { largest } else { most });
    }
    Codes { codes, absmax, offset }
}

/// What the codes of scales stand for, in order: zero, one, and between them seven decades of
/// either sign, each with twice as many numbers as the one below.
pub(super) fn map() -> [f32; 256] {
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
    let boundary = |at: u16| match at < parts.div_ceil(2) {
        true => (f64::from(FIRST) + step * f64::from(at)) as f32,
        false => (1.0 - step * f64::from(parts - at)) as f32,
    };
    (0..parts).map(|at| (boundary(at) + boundary(at + 1)) / 2.0).collect()
}
