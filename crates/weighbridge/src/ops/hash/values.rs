//! Hashes the numbers of a weight as f32, however they are stored.

use super::tree::TreeHash;
use crate::dtype::DType;
use crate::error::Result;
use crate::model::{Scratch, Weight};
use crate::pipeline::{Action, Cut, Tiled, check_memory};

/// The one NaN that stands for all: their signs and payloads are not promised.
const NAN: u32 = 0x7fc0_0000;

/// A weight whose numbers are being hashed.
pub(super) struct Values<'m> {
    pub(super) weight: &'m Weight,
    cut: Cut,
    pub(super) tree: TreeHash,
}

/// What a worker keeps from one tile to the next.
#[derive(Default)]
pub(super) struct Buffers {
    scratch: Scratch,
    numbers: Vec<f32>,
}

impl<'m> Values<'m> {
    pub(super) fn new(weight: &'m Weight) -> Result<Self> {
        let action = if weight.is_plain() { Action::Cast } else { Action::Decode };
        let cut = Cut::of(weight, &action, DType::F32).undivided();
        check_memory(weight, &cut)?;
        let tiles = if weight.is_empty() { 0 } else { cut.tiles() };
        Ok(Self { weight, cut, tree: TreeHash::new(tiles) })
    }

    /// Bytes that a worker needs for a tile: the numbers, and what they are made from.
    pub(super) fn needed_bytes(&self) -> Result<u64> {
        if self.weight.is_empty() {
            return Ok(0);
        }
        let numbers = self.cut.count(&self.cut.tile(0))? as u64;
        Ok(numbers.saturating_mul(4).saturating_add(self.cut.staged_bytes(self.weight)?))
    }
}

impl Tiled for Values<'_> {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        if self.weight.is_empty() { 0 } else { self.cut.tiles() }
    }

    fn weights(&self) -> Vec<&Weight> {
        vec![self.weight]
    }

    fn tile(&self, Buffers { scratch, numbers }: &mut Buffers, tile: u64) -> Result<u64> {
        let pieces = self.cut.tile(tile);
        numbers.resize(self.cut.count(&pieces)?, 0.0);
        self.cut.decode(self.weight, pieces.clone(), numbers, scratch)?;
        let bits: &mut [u32] = bytemuck::cast_slice_mut(numbers);
        bits.iter_mut().for_each(|bits| *bits = canonical(*bits).to_le());
        let bytes: &[u8] = bytemuck::cast_slice(bits);
        self.tree.add(tile, self.cut.elements(&pieces).start * 4, bytes);
        Ok(bytes.len() as u64)
    }
}

fn canonical(bits: u32) -> u32 {
    const INFINITY: u32 = f32::INFINITY.to_bits();
    if bits & 0x7fff_ffff > INFINITY { NAN } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nan_are_one_and_everything_else_stays() {
        for bits in [0x7fc0_0000, 0xffc0_0001, 0x7f80_0001, 0xff80_0001, 0x7fff_ffff] {
            assert!(f32::from_bits(bits).is_nan());
            assert_eq!(canonical(bits), NAN);
        }
        for value in [0.0, -0.0, 1.5, f32::MIN_POSITIVE / 2.0, f32::INFINITY, -f32::INFINITY] {
            assert_eq!(canonical(value.to_bits()), value.to_bits());
        }
    }
}
