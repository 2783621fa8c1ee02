//! The codes of a composed weight, where all of its stretches have such of one kind.

use std::ops::Range;

use super::block::{Block, To};
use super::stretch::{Stretch, taken};
use super::{Composed, length};
use crate::error::Result;
use crate::source::{Slab, Staged};
use crate::{CodeKind, Coded};

impl Stretch {
    /// Its codes, if they stay what they are.
    fn codes(&self) -> Option<&dyn Coded> {
        let is_plain = !self.view.changes_values() && self.view.transposed.is_none();
        let codes = self.recipe.coded().filter(|_| is_plain)?;
        let group = codes.kind().group.max(1);
        (self.view.row_len().is_multiple_of(group) && self.recipe_row.is_multiple_of(group))
            .then_some(codes)
    }

    fn needs_of_codes(&self, codes: &dyn Coded, block: &Block, slabs: &mut Vec<Slab>) {
        let before = slabs.len();
        for band in bands(codes, block) {
            slabs.extend(band.slabs);
        }
        slabs[before..].iter_mut().for_each(|slab| slab.part += self.first_part);
    }
}

/// The bands of a block; of one without gaps, all of it.
fn bands(codes: &dyn Coded, block: &Block) -> Vec<super::block::Band> {
    let mut slabs = Vec::new();
    block.bands(&mut |elements, slabs| codes.needs(elements, slabs), &mut slabs)
}

impl Composed {
    /// The kind of all codes; none where there is not one of all.
    pub(super) fn kind_of_codes(stretches: &[Stretch]) -> Option<CodeKind> {
        let mut kinds = stretches.iter().map(|stretch| stretch.codes().map(Coded::kind));
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then_some(first)
    }

    fn each_block_of_codes<'s>(
        &'s self,
        elements: &Range<u64>,
        mut take: impl FnMut(&'s Stretch, &'s dyn Coded, &Block) -> Result<()>,
    ) -> Result<()> {
        self.each_block(elements, |stretch, block| match stretch.codes() {
            Some(codes) => take(stretch, codes, block),
            None => Ok(()),
        })
    }
}

/// Codes and scales that are being put together.
struct Out<'a> {
    codes: &'a mut [u8],
    scales: &'a mut [u8],
    group: usize,
}

impl Out<'_> {
    /// The bytes of some elements.
    fn part(&mut self, at: usize, len: usize) -> (&mut [u8], &mut [u8]) {
        let part = |each: usize| at / each..(at + len) / each;
        (&mut self.codes[part(2)], &mut self.scales[part(self.group)])
    }
}

impl Coded for Composed {
    fn kind(&self) -> CodeKind {
        self.codes.unwrap_or(CodeKind { scale: crate::dtype::DType::U8, group: 1 })
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        // Listing what is needed does not fail.
        _ = self.each_block_of_codes(&elements, |stretch, codes, block| {
            stretch.needs_of_codes(codes, block, slabs);
            Ok(())
        });
    }

    fn read(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<()> {
        let mut rest = staged;
        let mut out = Out { codes, scales, group: length(self.kind().group) };
        self.each_block_of_codes(&elements, |_, codes, block| {
            let To::Rows { every } = block.to else { return Ok(()) };
            let (mut index, piece) = (0, length(block.piece));
            for band in bands(codes, block) {
                let own = taken(rest, band.slabs.len())?;
                rest = rest.get(own.len()..).unwrap_or_default();
                for at in 0..band.pieces {
                    let start = block.first + index * block.step;
                    let (codes_out, scales_out) = out.part(block.at + length(index) * every, piece);
                    let bytes = band.piece(own, at);
                    codes.read(&bytes, start..start + block.piece, codes_out, scales_out)?;
                    index += 1;
                }
            }
            Ok(())
        })
    }
}
