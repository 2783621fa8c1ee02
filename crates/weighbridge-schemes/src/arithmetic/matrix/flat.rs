//! Codes that run on over the rows of a weight, in blocks with a factor each.
//!
//! Blocks do not begin and end where rows do. What some rows need is found by their elements:
//! the bytes of their codes, and the factors of the blocks that they touch.

use std::ops::Range;

use super::{Arithmetic, Codes, Factor, GROUPS, Loss, Run, decode, first_not_finite, length};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::recipe::in_type_of;
use crate::framework::{ByElements, Elements, Origins};
use crate::number::{Element, Out};
use crate::simd::{self, Number};
use crate::source::{Slab, Staged};

/// Where the factors of blocks come from.
pub(crate) trait BlockFactors: Send + Sync {
    /// The pieces of the parts that hold the factors of some blocks.
    fn needs(&self, blocks: Range<u64>, slabs: &mut Vec<Slab>);

    /// The factors of some blocks. `staged` are the slabs of [`needs`](Self::needs) for blocks
    /// from `first` on.
    fn fill(&self, staged: &[Staged<'_>], first: u64, blocks: Range<u64>, out: &mut [Factor]);

    /// How far each of the scales that [`fill`](Self::fill) gives may be from the one that codes
    /// were chosen under.
    fn unsure(&self, staged: &[Staged<'_>], first: u64, blocks: Range<u64>, out: &mut [f32]);
}

/// A weight made of such codes. Part 0 holds them.
pub(crate) struct Flat {
    /// How codes lie and what they mean.
    pub codes: Codes,
    /// Elements of one row of the outermost dimension.
    pub outer: u64,
    /// Elements that share their factors.
    pub block: u64,
    /// Their source.
    pub factors: Box<dyn BlockFactors>,
    /// How numbers and factors are combined.
    pub arithmetic: Arithmetic,
    /// The type the canonical library decodes to.
    pub native: DType,
    /// What is lost though codes are the nearest.
    pub loss: Loss,
}

impl Flat {
    fn decode_as<T: Number + Element>(
        &self,
        staged: &[Staged<'_>],
        elements: &Range<u64>,
        out: &mut [T],
    ) -> Result<()> {
        let Some((codes, staged)) = staged.split_first() else {
            return Err(Error::usage("codes and their factors are needed"));
        };
        let (level, native) = (simd::level(), self.native == T::DTYPE && T::DTYPE != DType::F32);
        let (_, skip) = self.codes.packing.bytes_of(elements.clone());
        let (first, last) = (elements.start / self.block, elements.end.div_ceil(self.block));
        let mut factors = [Factor::default(); GROUPS];
        let (mut at, mut out) = (elements.start, out);
        while at < elements.end {
            let blocks = at / self.block..last.min(at / self.block + GROUPS as u64);
            let factors = &mut factors[..length(blocks.end - blocks.start)];
            self.factors.fill(staged, first, blocks.clone(), factors);
            check_finite(factors, blocks.start)?;
            let end = elements.end.min(blocks.end * self.block);
            let (now, rest) = out.split_at_mut(length(end - at));
            let run = Run {
                codes: codes.bytes(),
                start: length(skip + at - elements.start),
                factors,
                group: length(self.block),
                into: length(at % self.block),
            };
            decode(level, &self.codes, self.arithmetic, native, &run, now);
            (at, out) = (end, rest);
        }
        Ok(())
    }
}

fn check_finite(factors: &[Factor], first: u64) -> Result<()> {
    match first_not_finite(factors) {
        None => Ok(()),
        Some(index) => Err(Error::malformed(format!(
            "the scale of block {} is {}",
            first + index as u64,
            factors[index].scale
        ))
        .hint("a scale must be a finite number: the file is damaged, or is stored in another scheme than it seems")),
    }
}

impl ByElements for Flat {
    fn row_elements(&self) -> u64 {
        self.outer
    }
}

impl Elements for Flat {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let (bytes, _) = self.codes.packing.bytes_of(elements.clone());
        slabs.push(Slab::whole(0, bytes.start, bytes.end - bytes.start));
        let blocks = elements.start / self.block..elements.end.div_ceil(self.block);
        self.factors.needs(blocks, slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        in_type_of!(out, self.decode_as(staged, &elements, out))
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }
}
