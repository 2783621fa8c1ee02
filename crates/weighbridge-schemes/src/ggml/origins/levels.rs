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
                let own = nearest.levels(&scales, group, 0.0);
                self.levels.push(SameLevels {
                    elements: nearest.group,
                    step: nearest.numbers.middling * scales.scales[group].abs(),
                    lowest: own.lowest,
                    highest: own.highest,
                });
            }
        }
    }
}
