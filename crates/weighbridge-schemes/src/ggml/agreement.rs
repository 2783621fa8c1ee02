//! Every kernel of the table at every level, on blocks of every kind: none is named here.

use super::{BlockRows, FAMILIES, Maker, kernel_of};
use crate::blocks::{BLOCKS, Block, Standing};
use crate::framework::Recipe;
use crate::number::Out;
use crate::simd::Level;
use crate::simd::agreement::{self, Subject};
use crate::source::Slab;

/// A small generator of random bytes, the same on every run.
struct Noise(u64);

impl Noise {
    #[allow(clippy::cast_possible_truncation)] // The lowest byte is the one that is mixed.
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}

/// Half-precision zeros, subnormals, extremes, infinities and NaNs of both signs.
const HALVES: [u16; 14] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
    0x7e00, 0xfdff,
];

/// Single-precision zeros, subnormals, extremes, infinities and NaN.
const SINGLES: [f32; 9] = [
    0.0,
    -0.0,
    1e-45,
    -1e-39,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Random blocks, and random blocks with a special number at every place it could stand.
fn inputs(block: &Block) -> Vec<Vec<u8>> {
    let mut noise = Noise(u64::from(block.id));
    let bytes = block.bytes as usize;
    let mut all: Vec<_> = (0..64).map(|_| noise.bytes(bytes * 4)).collect();
    all.extend([0x00, 0xff, 0x80, 0x7f].map(|byte| vec![byte; bytes]));
    let mut put = |at: usize, special: &[u8]| {
        if at + special.len() <= bytes {
            let mut one = noise.bytes(bytes);
            one[at..at + special.len()].copy_from_slice(special);
            all.push(one);
        }
    };
    for at in (0..bytes).step_by(2) {
        HALVES.iter().for_each(|half| put(at, &half.to_le_bytes()));
        SINGLES.iter().for_each(|single| put(at, &single.to_le_bytes()));
    }
    all
}

#[test]
fn every_level_and_output_type_agrees_with_the_definition() {
    for kernel in FAMILIES.iter().copied().flatten() {
        let block = Block::from_name(kernel.name).expect("a kernel has its row in the table");
        let subject = Subject {
            name: kernel.name,
            elements: block.elements as usize,
            bytes: block.bytes as usize,
            decode: &|level, bytes, out| kernel.decode(level, bytes, out),
        };
        agreement::check(&subject, &inputs(block));
    }
}

#[test]
fn every_current_type_has_one_kernel() {
    for block in BLOCKS {
        let kernels = FAMILIES.iter().copied().flatten().filter(|k| k.name == block.name).count();
        let decoded = matches!(block.standing, Standing::Current | Standing::Apr);
        assert_eq!(kernels, usize::from(decoded), "{}", block.name);
    }
}

/// Any stretch of elements is that stretch of the whole, from the bytes it asked for.
#[test]
fn stretches_of_elements_are_cut_from_the_whole() {
    for block in BLOCKS {
        let Some(kernel) = kernel_of(block) else { continue };
        let each = u64::from(block.elements);
        let bytes = Noise(7).bytes(block.bytes as usize * 3);
        let rows = BlockRows { block, kernel, columns: 1, maker: Maker::Apr };
        let mut whole = vec![0f32; block.elements as usize * 3];
        rows.decode_elements(Level::BASELINE, &bytes, 0, Out::F32(&mut whole));
        let ends =
            |start| [start, start + 1, start + each - 1, start + each, start + each + 3, 3 * each];
        for (start, end) in (0..3 * each).flat_map(|start| ends(start).map(|end| (start, end))) {
            let end = end.min(3 * each);
            let Slab { offset, row_bytes, .. } = rows.slab(start..end);
            let [offset, len, start, end] =
                [offset, row_bytes, start, end].map(|at| usize::try_from(at).unwrap());
            for &level in Level::available() {
                let mut out = vec![0f32; end - start];
                let piece = &bytes[offset..offset + len];
                rows.decode_elements(level, piece, start as u64, Out::F32(&mut out));
                let same =
                    |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(out.iter().zip(&whole[start..end]).all(same), "{} {start}", block.name);
            }
        }
        let mut slabs = Vec::new();
        rows.needs(0..each, &mut slabs);
        assert_eq!(slabs, [Slab::whole(0, 0, block.bytes.into())]);
    }
}
