//! The mean of many numbers, summed in the order of torch's CPU kernel.
//!
//! The order decides the last bit. This is the order of one thread with vectors of eight numbers
//! (AVX2): four vectors side by side, each summed in four cascading levels. The remainder is added
//! to the first of them.

/// Numbers per vector.
const WIDTH: usize = 8;

/// Vectors side by side.
const SIDE_BY_SIDE: usize = 4;

/// Cascading sums.
const LEVELS: usize = 4;

/// Returns the mean; NaN for no numbers.
#[allow(clippy::cast_precision_loss)] // The library divides by the same f32.
pub(super) fn mean(values: &[f32]) -> f32 {
    sum(values) / values.len() as f32
}

fn sum(values: &[f32]) -> f32 {
    let (vectors, rest) = values.as_chunks::<WIDTH>();
    if vectors.is_empty() {
        let singles: Vec<[f32; 1]> = values.iter().map(|value| [*value]).collect();
        return rows(&singles)[0];
    }
    let singles = rest.iter().fold(0.0, |sum, value| sum + value);
    rows(vectors).iter().fold(singles, |sum, value| sum + value)
}

/// Returns the sums of columns, each as if four of its numbers were side by side.
fn rows<const W: usize>(vectors: &[[f32; W]]) -> [f32; W] {
    let (whole, rest) = vectors.as_chunks::<SIDE_BY_SIDE>();
    let [mut first, others @ ..] = cascaded(whole);
    rest.iter().chain(&others).for_each(|vector| add(&mut first, vector));
    first
}

/// Returns the sums of columns of several vectors side by side.
fn cascaded<const W: usize>(rows: &[[[f32; W]; SIDE_BY_SIDE]]) -> [[f32; W]; SIDE_BY_SIDE] {
    let power = (ceiling_of_log2(rows.len()) / LEVELS).max(4);
    let (step, mask) = (1 << power, (1usize << power) - 1);
    let mut sums = [[[0.0; W]; SIDE_BY_SIDE]; LEVELS];
    let chunks = rows.chunks_exact(step);
    let rest = chunks.remainder();
    for (chunk, done) in chunks.zip((step..).step_by(step)) {
        chunk.iter().for_each(|row| add_all(&mut sums[0], row));
        for level in 1..LEVELS {
            let below = std::mem::replace(&mut sums[level - 1], [[0.0; W]; SIDE_BY_SIDE]);
            add_all(&mut sums[level], &below);
            if done & (mask << (level * power)) != 0 {
                break;
            }
        }
    }
    rest.iter().for_each(|row| add_all(&mut sums[0], row));
    let [mut all, others @ ..] = sums;
    others.iter().for_each(|other| add_all(&mut all, other));
    all
}

fn add_all<const W: usize>(sums: &mut [[f32; W]; SIDE_BY_SIDE], row: &[[f32; W]; SIDE_BY_SIDE]) {
    sums.iter_mut().zip(row).for_each(|(sum, vector)| add(sum, vector));
}

fn add<const W: usize>(sum: &mut [f32; W], vector: &[f32; W]) {
    sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
}

/// Returns the rounded-up logarithm, at least one, as torch computes it.
fn ceiling_of_log2(number: usize) -> usize {
    if number <= 2 { 1 } else { (number - 1).ilog2() as usize + 1 }
}
