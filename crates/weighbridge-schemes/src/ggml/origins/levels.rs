//! The levels that the numbers of a block could choose from.

use super::{Choice, Scales, of_type};
use crate::blocks::Block;
use crate::framework::SameLevels;
use crate::simd::{self, Isa, Task};

/// Adds the levels of whole blocks, group by group; of types whose codes are chosen together,
/// nothing.
pub(in crate::ggml) fn add_levels(block: &Block, bytes: &[u8], levels: &mut Vec<SameLevels>) {
    simd::run(simd::level(), AddLevels { block, bytes, levels });
}

struct AddLevels<'a> {
    block: &'a Block,
    bytes: &'a [u8],
    levels: &'a mut Vec<SameLevels>,
}

impl Task for AddLevels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Some(Choice::Nearest(nearest)) = of_type(self.block.name) else { return };
        let groups = self.block.elements as usize / nearest.group;
        let mut scales = Scales::default();
        for block in self.bytes.chunks_exact(self.block.bytes as usize) {
            nearest.layout.read(block, &mut scales);
            for group in 0..groups {
                let (scale, zero) = (scales.scales[group], scales.zeros[group]);
                let [first, last] = nearest.numbers.ends();
                let (first, last) = (first * scale + zero, last * scale + zero);
                self.levels.push(SameLevels {
                    elements: nearest.group,
                    step: nearest.numbers.middling() * scale.abs(),
                    lowest: first.min(last),
                    highest: first.max(last),
                });
            }
        }
    }
}
