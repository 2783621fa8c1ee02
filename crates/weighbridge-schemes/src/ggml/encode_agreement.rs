//! Every coding of the table at every level, against its definition: none is named here.

use weighbridge_core::noise::Noise;

use super::FAMILIES;
use super::kernel::{Coding, Rows};
use crate::blocks::Block;
use crate::simd::Level;

/// What a stretch of numbers may be like. The last kinds have numbers that are not finite.
const KINDS: u64 = 14;
const FINITE_KINDS: u64 = 12;

fn stretch(kind: u64, noise: &mut Noise, out: &mut [f32]) {
    let constant = noise.normal();
    let power = noise.uniform() * 37.0;
    let odd = [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::NAN];
    for (at, value) in out.iter_mut().enumerate() {
        let normal = noise.normal();
        *value = match kind {
            0 => normal * 0.02,
            1 => half::bf16::from_f32(normal).to_f32(),
            2 => 0.0,
            3 => -0.0,
            4 => constant,
            5 => {
                if at == 5 {
                    constant
                } else {
                    0.0
                }
            }
            6 => (normal * 2.0).round(),
            7 => normal.abs(),
            8 => -normal.abs(),
            9 => normal * 10f32.powf(power),
            10 => normal * 1e-40,
            11 => constant + normal * 1e-6,
            12 if noise.below(8) == 0 => f32::INFINITY,
            13 if noise.below(8) == 0 => odd[at % odd.len()],
            _ => normal,
        };
    }
}

/// Numbers of many kinds, by stretches that end within blocks and with them.
fn numbers(count: usize, kinds: u64, noise: &mut Noise) -> Vec<f32> {
    let mut values = vec![0.0; count];
    let mut rest = &mut values[..];
    while !rest.is_empty() {
        let len = [16, 32, 256][usize::try_from(noise.below(3)).unwrap()].min(rest.len());
        let (now, later) = rest.split_at_mut(len);
        stretch(noise.below(kinds), noise, now);
        rest = later;
    }
    values
}

fn importance(columns: usize, noise: &mut Noise) -> Vec<f32> {
    let one = |noise: &mut Noise| match noise.below(7) {
        0 => 0.0,
        _ => (noise.normal() * 3.0).exp(),
    };
    (0..columns).map(|_| one(noise)).collect()
}

/// Holds every level against the definition.
fn check(name: &str, coding: &Coding, block: &Block, rows: Rows<'_>) {
    let bytes = rows.values.len() / block.elements as usize * block.bytes as usize;
    let mut expected = vec![0; bytes];
    (coding.define)(rows, &mut expected);
    for &level in Level::available() {
        // What was there before does not matter.
        let mut encoded = vec![0xa5; bytes];
        (coding.encode)(level, rows, &mut encoded);
        let blocks =
            expected.chunks(block.bytes as usize).zip(encoded.chunks(block.bytes as usize));
        for (at, (expected, encoded)) in blocks.enumerate() {
            let important = rows.importance.is_some();
            assert!(
                expected == encoded,
                "{name} {level:?}, importance {important}, block {at} of rows of {}",
                rows.columns
            );
        }
    }
}

#[test]
fn every_level_encodes_as_the_definition_does() {
    for kernel in FAMILIES.iter().copied().flatten() {
        let Some(coding) = &kernel.coding else { continue };
        let block = Block::from_name(kernel.name).expect("a kernel has its row in the table");
        let mut noise = Noise(u64::from(block.id));
        // Blocks of a row, and rows: more and fewer than are encoded at a time.
        let shapes: &[(usize, usize)] = match block.elements {
            256 => &[(1, 11), (3, 3)],
            _ => &[(1, 19), (3, 9), (17, 2)],
        };
        for &(blocks, rows) in shapes {
            let columns = blocks * block.elements as usize;
            let known = importance(columns, &mut noise);
            for (kinds, important) in [1, FINITE_KINDS, KINDS]
                .into_iter()
                .flat_map(|kinds| [(kinds, false), (kinds, true)])
            {
                if !important && coding.needs_importance {
                    continue;
                }
                let values = numbers(columns * rows, kinds, &mut noise);
                let importance = important.then_some(&known[..]);
                check(kernel.name, coding, block, Rows { values: &values, columns, importance });
            }
        }
    }
}
