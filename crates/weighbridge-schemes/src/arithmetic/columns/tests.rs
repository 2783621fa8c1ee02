//! Levels, row ranges and output types against one another, and what is refused while decoding.

use half::{bf16, f16};

use super::*;
use crate::simd::Level;

/// Bytes without a pattern.
fn noise(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    (0..count).map(|_| next()).collect()
}

/// A weight with the images of its parts.
struct Sample {
    columns: Columns,
    parts: Vec<Vec<u8>>,
}

fn sample(bits: u32, word_layout: WordLayout, act_order: bool) -> Sample {
    let (inputs, outputs, group_size) = (608u64, 136u64, 96u64);
    let groups = inputs.div_ceil(group_size);
    let zeros = match word_layout {
        WordLayout::Inputs => Zeros::Stream { bits, less_one: true },
        WordLayout::Outputs => Zeros::Interleaved,
    };
    let columns = Columns {
        codes: plain_codes(bits),
        word_layout,
        inputs,
        outputs,
        groups,
        group_size,
        scale_type: DType::F16,
        zeros,
        indexed: true,
    };
    let scale = |i: u64| f16::from_f32(0.01 + (i % 97) as f32 * 0.003).to_le_bytes();
    let group = |k: u64| if act_order { k * 7 % groups } else { k / group_size };
    let parts = vec![
        noise(length(inputs * outputs * u64::from(bits) / 8), bits),
        noise(length(groups * zeros.words(&(0..outputs)).end * 4), bits + 9),
        (0..groups * outputs).flat_map(scale).collect(),
        (0..inputs).flat_map(|k| u32::try_from(group(k)).unwrap().to_le_bytes()).collect(),
    ];
    Sample { columns, parts }
}

impl Sample {
    /// Cuts the slabs out and decodes, at the level that runs.
    fn decode<T: Element + PartialEq>(&self, rows: Range<u64>) -> Result<Vec<T>> {
        let mut slabs = Vec::new();
        let elements = rows.start * self.columns.inputs..rows.end * self.columns.inputs;
        Recipe::needs(&self.columns, elements.clone(), &mut slabs);
        let cut: Vec<Vec<u8>> = slabs
            .iter()
            .map(|slab| {
                let piece = |i: u64| {
                    let start = length(slab.offset + i * slab.stride);
                    &self.parts[slab.part][start..start + length(slab.row_bytes)]
                };
                (0..slab.count).flat_map(piece).copied().collect()
            })
            .collect();
        let staged: Vec<Staged<'_>> = cut
            .iter()
            .zip(&slabs)
            .map(|(cut, slab)| Staged::of_rows(cut, length(slab.row_bytes)))
            .collect();
        let mut out = vec![T::default(); length((rows.end - rows.start) * self.columns.inputs)];
        self.columns.decode(&staged, elements, T::out(&mut out))?;
        Ok(out)
    }

    /// The formula, element by element.
    fn value(&self, output: u64, input: u64) -> f32 {
        let Columns { outputs, codes, word_layout, zeros, .. } = &self.columns;
        let bits = codes.packing.bits();
        let word = |part: usize, index: u64| {
            u32::from_le_bytes(self.parts[part].as_chunks().0[length(index)])
        };
        let (bit, column) = (input * u64::from(bits), *outputs);
        let code = match word_layout {
            WordLayout::Inputs => {
                let low = word(0, bit / 32 * column + output);
                let high = if bit % 32 + u64::from(bits) > 32 {
                    word(0, (bit / 32 + 1) * column + output)
                } else {
                    0
                };
                (u64::from(low) | u64::from(high) << 32) >> (bit % 32) & ((1 << bits) - 1)
            }
            WordLayout::Outputs => {
                let nibble = [0, 4, 1, 5, 2, 6, 3, 7][length(output % 8)];
                u64::from(word(0, input * (column / 8) + output / 8) >> (4 * nibble) & 15)
            }
        };
        let group = u64::from(word(3, input));
        let row = length(zeros.words(&(0..column)).end * 4);
        let zero_words = &self.parts[1][length(group) * row..][..row];
        let zero = zeros.zero(zero_words, 0, length(output));
        let scale =
            f16::from_le_bytes(self.parts[2].as_chunks().0[length(group * column + output)]);
        scale.to_f32() * (code as f32 - f32::from(zero))
    }
}

fn all_samples() -> Vec<Sample> {
    let mut all: Vec<Sample> =
        [2, 3, 4, 8].map(|bits| sample(bits, WordLayout::Inputs, false)).into();
    all.extend([2, 3, 4, 8].map(|bits| sample(bits, WordLayout::Inputs, true)));
    all.push(sample(4, WordLayout::Outputs, false));
    all
}

#[test]
fn all_rows_at_every_level_and_in_every_type() {
    for sample in all_samples() {
        let Columns { inputs, outputs, .. } = sample.columns;
        let expected: Vec<f32> = (0..outputs)
            .flat_map(|output| (0..inputs).map(move |input| (output, input)))
            .map(|(output, input)| sample.value(output, input))
            .collect();
        for &level in Level::available() {
            simd::with_level(level, || {
                assert!(sample.decode::<f32>(0..outputs).unwrap() == expected, "{level:?}");
                let narrow: Vec<bf16> = expected.iter().map(|&x| bf16::from_f32(x)).collect();
                assert!(sample.decode::<bf16>(0..outputs).unwrap() == narrow, "{level:?}");
                let narrow: Vec<f16> = expected.iter().map(|&x| f16::from_f32(x)).collect();
                assert!(sample.decode::<f16>(0..outputs).unwrap() == narrow, "{level:?}");
            });
        }
        for rows in [0..1, 3..4, 5..70, 63..65, 64..136, 135..136, 11..125] {
            let found = sample.decode::<f32>(rows.clone()).unwrap();
            let range = length(rows.start * inputs)..length(rows.end * inputs);
            assert!(found == expected[range], "{rows:?}");
        }
    }
}

#[test]
fn a_scale_that_is_not_a_number_is_named() {
    let mut sample = sample(4, WordLayout::Inputs, false);
    let at = 2 * (3 * 136 + 77);
    sample.parts[2][at..at + 2].copy_from_slice(&f16::NAN.to_le_bytes());
    let error = sample.decode::<f32>(70..80).unwrap_err().to_string();
    assert!(error.contains("the scale of row 77, group 3 is NaN"), "{error}");
    assert!(sample.decode::<f32>(0..70).is_ok());
}

#[test]
fn a_group_that_is_not_there_is_named() {
    let mut sample = sample(4, WordLayout::Inputs, true);
    sample.parts[3][40..44].copy_from_slice(&(-1i32).to_le_bytes());
    let error = sample.decode::<f32>(0..8).unwrap_err().to_string();
    assert!(error.contains("g_idx[10] is -1, but there are 7 groups"), "{error}");
}
