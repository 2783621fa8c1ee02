//! The bounds of every type, on blocks of random bytes.

use weighbridge_core::noise::Noise;

use super::table::of_type;
use super::{Choice, Importance, Nearest};
use crate::blocks::{BLOCKS, Block};
use crate::bounds::Bounds;
use crate::catalog::{Metadata, Place, TensorInfo, Value};
use crate::dtype::StoredType;
use crate::framework::testing::SCHEMES;
use crate::framework::{Bids, Evidence, Origins, RowRule, Rule, Scheme};
use crate::ggml::{BlockRows, BlockStretch, Ggml, Maker, kernel_of};
use crate::number::Out;
use crate::simd::Level;

/// Without an importance matrix.
const PLAIN: Maker = Maker::Ggml { by_importance: false };

/// Where half-precision numbers lie in the blocks of a type.
fn halves(name: &str) -> &'static [usize] {
    match name {
        "Q4_1" | "Q5_1" | "Q4_K" | "Q5_K" | "Q8_1" => &[0, 2],
        "Q2_K" => &[80, 82],
        "Q3_K" => &[108],
        "Q6_K" => &[208],
        "TQ1_0" => &[52],
        "TQ2_0" => &[64],
        "MXFP4" | "NVFP4" | "Q8_K" => &[],
        _ => &[0],
    }
}

/// Blocks as a quantizer may write them: random codes, scales that are ordinary numbers.
fn blocks(block: &Block, count: usize) -> Vec<u8> {
    let mut noise = Noise(block.id.into());
    let mut bytes = Vec::new();
    for _ in 0..count {
        let mut one: Vec<u8> = (0..block.bytes).map(|_| noise.byte()).collect();
        // From 2^-10 to 2^3, of either sign. A minimum far larger than the scale would leave
        // nothing but its own rounding.
        let size = 0x14 + noise.byte() % 0x34;
        for &at in halves(block.name) {
            one[at + 1] = size | noise.byte() & 0x80;
        }
        match block.name {
            "MXFP4" => one[0] = 110 + noise.byte() % 30,
            "NVFP4" => one[..4].iter_mut().for_each(|scale| *scale = 1 + *scale % 0x7d),
            "Q8_K" => one[..4].copy_from_slice(&0.37f32.to_le_bytes()),
            // No two-bit code is 3.
            "TQ2_0" => one[..64].iter_mut().for_each(|byte| *byte &= !(*byte >> 1 & 0x55)),
            _ => {}
        }
        bytes.extend(one);
    }
    bytes
}

struct Sample {
    rows: BlockRows,
    bytes: Vec<u8>,
    values: Vec<f32>,
}

impl Sample {
    fn of(block: &'static Block, by_importance: bool) -> Self {
        let kernel = kernel_of(block).expect("types with bounds are decoded");
        let maker = Maker::Ggml { by_importance };
        let rows = BlockRows { block, kernel, columns: 1, maker };
        let bytes = blocks(block, 40);
        let mut values = vec![0.0; 40 * block.elements as usize];
        kernel.decode(Level::BASELINE, &bytes, Out::F32(&mut values));
        Self { rows, bytes, values }
    }

    fn bounds(&self, factor: Option<f32>) -> Vec<Bounds> {
        let values: Vec<f32> = self.values.iter().map(|v| v * factor.unwrap_or(1.0)).collect();
        let mut out = vec![Bounds::default(); values.len()];
        self.rows.fill_bounds(
            &BlockStretch { bytes: &self.bytes, first: 0, count: values.len(), factor },
            &values,
            &mut out,
        );
        out
    }
}

/// Every type whose codes are the nearest.
fn nearest() -> impl Iterator<Item = (&'static Block, &'static Nearest)> {
    BLOCKS.iter().filter_map(|block| match of_type(block.name)? {
        Choice::Nearest(nearest) => Some((block, nearest)),
        Choice::Grid(_) => None,
    })
}

/// Within the levels of a group, bounds reach to the midpoints to the levels beside, and little
/// farther; beyond the outermost ones they reach out.
#[test]
fn bounds_reach_to_the_midpoints_between_levels() {
    let mut seen = 0;
    for (block, nearest) in nearest() {
        let sample = Sample::of(block, false);
        let bounds = sample.bounds(None);
        let groups = sample.values.chunks(nearest.group).zip(bounds.chunks(nearest.group));
        for (values, bounds) in groups {
            let mut levels: Vec<f32> = values.to_vec();
            levels.sort_by(f32::total_cmp);
            levels.dedup();
            for (&value, &Bounds { low, high }) in values.iter().zip(bounds) {
                assert!(low < value && value < high, "{} {value} {low} {high}", block.name);
                let at = levels.iter().position(|&level| level == value).unwrap();
                // Levels of the group that occur: the ones beside may be farther out, not nearer.
                if at > 0 && low > f32::NEG_INFINITY {
                    let below = levels[at - 1];
                    assert!(below < low, "{}: {below} {low} {value}", block.name);
                    seen += 1;
                }
                if at + 1 < levels.len() {
                    let above = levels[at + 1];
                    assert!(high < above, "{}: {value} {high} {above}", block.name);
                }
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
}

/// Where two levels beside each other both occur, their bounds meet or overlap a little.
#[test]
fn bounds_of_levels_beside_each_other_meet() {
    for (block, nearest) in nearest() {
        let sample = Sample::of(block, false);
        let bounds = sample.bounds(None);
        let mut met = 0;
        let groups = sample.values.chunks(nearest.group).zip(bounds.chunks(nearest.group));
        for (values, bounds) in groups {
            let mut all: Vec<(f32, Bounds)> =
                values.iter().copied().zip(bounds.iter().copied()).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            for pair in all.windows(2) {
                let [(below, lower), (above, upper)] = [pair[0], pair[1]];
                // The levels between them, by the half-gaps that both sides say.
                let apart = (above - below) - (lower.high - below) - (above - upper.low);
                if above > below && apart < (above - below) * 0.25 {
                    let overlap = lower.high - upper.low;
                    assert!(overlap >= 0.0, "{}: {below} {above}", block.name);
                    assert!(overlap < (above - below) * 0.15, "{}: {below} {above}", block.name);
                    met += 1;
                }
            }
        }
        assert!(met > 20, "{}: {met}", block.name);
    }
}

/// Originals that ggml's rule sends to a level lie within its bounds, and those that it sends to
/// another do not.
#[test]
fn q4_0_has_the_levels_of_its_definition() {
    let block = Block::from_name("Q4_0").unwrap();
    let (d, codes) = (half::f16::from_f32(-0.25), [0x80u8; 16]);
    let bytes = [&d.to_le_bytes()[..], &codes].concat();
    let rows = BlockRows { block, kernel: kernel_of(block).unwrap(), columns: 1, maker: PLAIN };
    let mut values = [0.0; 32];
    rows.kernel.decode(Level::BASELINE, &bytes, Out::F32(&mut values));
    assert_eq!([values[0], values[16]], [2.0, 0.0]);
    let mut out = [Bounds::default(); 32];
    rows.fill_bounds(
        &BlockStretch { bytes: &bytes, first: 0, count: values.len(), factor: None },
        &values,
        &mut out,
    );
    let near = |a: f32, b: f32| (a - b).abs() < 3e-3;
    // Code 0 is the outermost level, -8 d: half a gap inside, one and a half outside.
    assert!(near(out[0].low, 1.875) && near(out[0].high, 2.375), "{:?}", out[0]);
    assert!(near(out[16].low, -0.125) && near(out[16].high, 0.125), "{:?}", out[16]);
}

#[test]
fn any_stretch_has_the_bounds_of_the_whole() {
    for (block, _) in nearest() {
        let sample = Sample::of(block, false);
        let whole = sample.bounds(None);
        let each = block.elements as usize;
        for (start, end) in [(0, 1), (3, each), (each - 1, each + 1), (5, 3 * each + 7)] {
            let bytes = &sample.bytes[start / each * block.bytes as usize..];
            let mut out = vec![Bounds::default(); end - start];
            let values = &sample.values[start..end];
            sample.rows.fill_bounds(
                &BlockStretch { bytes, first: start as u64, count: values.len(), factor: None },
                values,
                &mut out,
            );
            assert_eq!(out, whole[start..end], "{}", block.name);
        }
    }
}

#[test]
fn a_factor_multiplies_the_bounds() {
    let sample = Sample::of(Block::from_name("NVFP4").unwrap(), false);
    for factor in [0.25f32, -2.0] {
        for (one, times) in sample.bounds(None).iter().zip(sample.bounds(Some(factor))) {
            let [a, b] = [one.low * factor, one.high * factor];
            assert_eq!((a.min(b), a.max(b)), (times.low, times.high));
        }
    }
}

#[test]
fn a_scale_of_zero_leaves_what_rounding_hides() {
    let block = Block::from_name("Q8_0").unwrap();
    let kernel = kernel_of(block).unwrap();
    let rows = BlockRows { block, kernel, columns: 1, maker: PLAIN };
    let mut out = [Bounds::default(); 32];
    rows.fill_bounds(
        &BlockStretch { bytes: &[0; 34], first: 0, count: 32, factor: None },
        &[0.0; 32],
        &mut out,
    );
    let hidden = 255.0 / (1 << 25) as f32;
    assert!(out.iter().all(|bounds| *bounds == Bounds { low: -hidden, high: hidden }));
}

#[test]
fn with_an_importance_matrix_anything_may_be_clipped() {
    for (block, nearest) in nearest() {
        let sample = Sample::of(block, true);
        let (plain, weighed) = (Sample::of(block, false).bounds(None), sample.bounds(None));
        let ignored = matches!(nearest.importance, Importance::Ignored);
        assert_eq!(plain == weighed, ignored, "{}", block.name);
        for (plain, weighed) in plain.iter().zip(&weighed) {
            assert!(plain.low == weighed.low || weighed.low == f32::NEG_INFINITY);
            assert!(plain.high == weighed.high || weighed.high == f32::INFINITY);
        }
    }
}

fn rule(name: &str, by_importance: bool) -> Option<Rule> {
    let block = Block::from_name(name).unwrap();
    let maker = Maker::Ggml { by_importance };
    let rows = BlockRows { block, kernel: kernel_of(block)?, columns: 1, maker };
    crate::framework::Recipe::origins(&rows).map(Origins::rule)
}

#[test]
fn every_type_that_is_decoded_has_a_rule_but_two() {
    for block in BLOCKS.iter().filter(|block| kernel_of(block).is_some()) {
        let has_none = ["IQ1_S", "IQ1_M"].contains(&block.name);
        assert_eq!(rule(block.name, false).is_none(), has_none, "{}", block.name);
    }
    let refitted =
        |loose, by_importance| Some(Rule::Refitted { tight: 1.5, loose, by_importance, block: 32 });
    assert_eq!(rule("Q4_1", false), refitted(7.0, false));
    assert_eq!(rule("Q5_0", true), refitted(9.0, true));
    assert_eq!(rule("Q6_K", true), Some(Rule::Bounded));
    let grid = RowRule {
        wrong_signs: Some(1),
        correlation: 0.65,
        gain: Some([0.66, 1.06]),
        gain_over: 256,
        row_gain: None,
        sparse_block: 32,
        smallest: 1e-4,
    };
    assert_eq!(rule("IQ3_XXS", false), Some(Rule::ByRows(grid)));
    let weighed = RowRule { wrong_signs: Some(2), gain: None, ..grid };
    assert_eq!(rule("IQ3_XXS", true), Some(Rule::ByRows(weighed)));
}

/// aprender's scales are not those that its codes were chosen under.
#[test]
fn blocks_of_unknown_makers_have_wider_bounds() {
    for name in ["Q4_K", "Q6_K"] {
        let mut sample = Sample::of(Block::from_name(name).unwrap(), false);
        let exact = sample.bounds(None);
        sample.rows.maker = Maker::Apr;
        let wider = sample.bounds(None);
        let pairs = || exact.iter().zip(&wider);
        assert!(pairs().all(|(exact, wider)| wider.low <= exact.low && wider.high >= exact.high));
        assert!(pairs().filter(|(exact, wider)| wider.high > exact.high).count() > 1000, "{name}");
    }
}

/// What a file's keys say about how a weight was made.
#[test]
fn keys_say_whether_an_importance_matrix_was_used() {
    let block = Block::from_name("Q4_0").unwrap();
    let weight = TensorInfo {
        name: "a.weight".into(),
        shape: [1, 32].into_iter().collect(),
        stored: StoredType::Block(block),
        bytes: 18,
        place: Place::at(0),
        refused: None,
    };
    for (keys, expected) in [
        (&["general.architecture"][..], false),
        (&["general.architecture", "quantize.imatrix.file"], true),
        (&["quantize.imatrix.file"], false),
    ] {
        let mut metadata = Metadata::default();
        keys.iter().for_each(|key| metadata.push(*key, Value::Null));
        let tensors = [weight.clone()];
        let evidence = Evidence::new(std::iter::once((&tensors[..], &metadata)), &[], SCHEMES);
        let mut bids = Bids::default();
        Ggml.bid(&evidence, &mut bids);
        let recipe = bids.weights.remove(0).recipe.ok().unwrap();
        let rule = recipe.origins().unwrap().rule();
        assert_eq!(
            rule,
            Rule::Refitted { tight: 1.5, loose: 9.0, by_importance: expected, block: 32 }
        );
    }
}
