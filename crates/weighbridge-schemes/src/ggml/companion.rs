//! The second scale of an NVFP4 weight, which llama.cpp's converter puts beside it.
//!
//! | tensor | type and shape | use |
//! |---|---|---|
//! | `P.weight` | NVFP4 | blocks |
//! | `P.scale` | F32, 1 number, or 1 for each expert of a weight of three dimensions | factor of the weight; absent where it would be 1 |
//! | `P.input_scale` | F32 | for quantizing activations; no part of any weight |
//!
//! llama.cpp multiplies the product of the weight with it, so the weight is block value times
//! scale. Recipe: both are f32, and their product is rounded in f32; bf16 and f16 are that f32,
//! rounded once. Beside other block types a tensor called `.scale` is the model's own (a factor
//! of a router, say), and stays a weight of its own.

use std::ops::Range;
use std::sync::Arc;

use super::fp4::nvfp4_times;
use super::{BlockRows, BlockStretch, InBlocks, Maker, kernel_of};
use crate::arithmetic::plain;
use crate::catalog::{TensorInfo, element_count};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::recipe::in_type_of;
use crate::framework::{Bids, Evidence, Origins, Part, Portion, Recipe};
use crate::number::Out;
use crate::simd::{self, Number};
use crate::source::{Slab, Staged};
use crate::text::escaped;

/// Claims the scale beside an NVFP4 weight and drops the scale of its input.
///
/// Gives the recipe that applies the scale, or says why the scale does not fit.
pub(super) fn with_scale(
    evidence: &Evidence<'_>,
    weight: &TensorInfo,
    recipe: Result<Arc<dyn Recipe>, String>,
    parts: &mut Vec<Part>,
    bids: &mut Bids,
) -> Result<Arc<dyn Recipe>, String> {
    let StoredType::Block(block) = weight.stored else { return recipe };
    let Some(prefix) = weight.name.strip_suffix(".weight").filter(|_| block.name == "NVFP4") else {
        return recipe;
    };
    if let Some((id, _)) = evidence.find(&format!("{prefix}.input_scale")) {
        let name = escaped(&weight.name);
        bids.dropped.push((id, format!("activation scale of {name}, not part of the weights")));
    }
    let Some((id, scale)) = evidence.find(&format!("{prefix}.scale")) else { return recipe };
    parts.push(Part { role: "scale", tensor: id });
    let one_per_row = one_per_row(weight, scale)?;
    let Some(kernel) = kernel_of(block) else { return recipe };
    let blocks = BlockRows {
        block,
        kernel,
        columns: plain::columns(&weight.shape),
        // The type's quantizer looks at no importance matrix.
        maker: Maker::Ggml { by_importance: false },
    };
    recipe.map(|_| Arc::new(Scaled { blocks, one_per_row }) as Arc<dyn Recipe>)
}

/// Whether every outermost row has a scale of its own; an explanation where neither that nor one
/// scale for all is stored.
fn one_per_row(weight: &TensorInfo, scale: &TensorInfo) -> Result<bool, String> {
    let count = element_count(&scale.shape);
    // One number for each: what other dimensions there are have the length 1.
    let flat = count == Some(scale.shape.last().copied().unwrap_or(1));
    let experts = weight.shape.first().copied().filter(|_| weight.shape.len() > 2);
    if scale.stored.element() == Some(DType::F32) && flat {
        match count {
            Some(1) => return Ok(false),
            _ if count == experts => return Ok(true),
            _ => {}
        }
    }
    let wanted = match experts {
        Some(experts) => format!("one number, or one for each of {experts} experts"),
        None => "one number".to_owned(),
    };
    Err(format!(
        "its scale {} is {} {:?}, expected F32 with {wanted}; without it, every value would be \
         wrong",
        escaped(&scale.name),
        escaped(scale.stored.name()),
        &scale.shape[..],
    ))
}

/// Blocks, and the scale as the second part.
struct Scaled {
    blocks: BlockRows,
    /// Whether each outermost row has its own scale.
    one_per_row: bool,
}

impl Scaled {
    /// The scales that some elements need.
    fn scales(&self, elements: &Range<u64>) -> Range<u64> {
        let columns = self.blocks.columns.max(1);
        if self.one_per_row {
            elements.start / columns..elements.end.div_ceil(columns)
        } else {
            0..1
        }
    }

    /// Row after row, each with its scale; or all with the one.
    fn decode_as<T: Number>(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        mut out: &mut [T],
    ) -> Result<()> {
        let of = Portion { staged, elements };
        for BlockStretch { bytes, first, count, factor } in self.stretches(&of)? {
            let (row, rest) = out.split_at_mut(count);
            self.blocks.decode_by(bytes, first, row, |blocks, out| {
                nvfp4_times(simd::level(), blocks, factor.unwrap_or(1.0), out);
            });
            out = rest;
        }
        Ok(())
    }
}

impl Recipe for Scaled {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let scales = self.scales(&elements);
        slabs.push(self.blocks.slab(elements));
        slabs.push(Slab::whole(1, scales.start * 4, (scales.end - scales.start) * 4));
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        in_type_of!(out, self.decode_as(staged, elements, out))
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }
}

impl InBlocks for Scaled {
    fn blocks(&self) -> &BlockRows {
        &self.blocks
    }

    fn stretches<'s>(
        &'s self,
        Portion { staged, elements }: &Portion<'s>,
    ) -> Result<impl Iterator<Item = BlockStretch<'s>>> {
        let [blocks, scales] = staged else {
            return Err(Error::usage("expected blocks and their scale"));
        };
        let (bytes, scales) = (blocks.bytes(), scales.bytes().as_chunks().0);
        let place = |element| self.blocks.slab(element..element).offset;
        let columns = self.blocks.columns.max(1);
        let (start, mut first, end) = (place(elements.start), elements.start, elements.end);
        Ok(scales.iter().map(move |scale| {
            let in_row = if self.one_per_row { columns - first % columns } else { u64::MAX };
            // What is asked for lies in memory, so these fit.
            let [at, count] = [place(first) - start, in_row.min(end - first)]
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX));
            let factor = Some(f32::from_le_bytes(*scale));
            let stretch = BlockStretch { bytes: &bytes[at..], first, count, factor };
            first += count as u64;
            stretch
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of an NVFP4 block.
    const BLOCK: usize = 64;
    use crate::blocks::Block;
    use crate::catalog::{Metadata, Place};
    use crate::framework::testing;
    use crate::framework::{Bid, Scheme};

    fn tensor(name: &str, stored: impl Into<StoredType>, shape: &[u64]) -> TensorInfo {
        TensorInfo {
            name: name.into(),
            shape: shape.iter().copied().collect(),
            stored: stored.into(),
            bytes: 0,
            place: Place::at(0),
            refused: None,
        }
    }

    fn weight(block: &str, shape: &[u64]) -> TensorInfo {
        let block = Block::from_name(block).unwrap();
        let mut weight = tensor("a.weight", StoredType::Block(block), shape);
        let columns = *shape.last().unwrap();
        let rows = shape.iter().product::<u64>() / columns;
        weight.bytes = block.bytes_for(rows, columns).unwrap();
        weight
    }

    /// What the scheme says of a weight and one tensor beside it.
    fn bids(weight: TensorInfo, beside: TensorInfo) -> (Bid, Bids) {
        let (tensors, metadata) = ([weight, beside], Metadata::default());
        let evidence =
            Evidence::new(std::iter::once((&tensors[..], &metadata)), &[], testing::SCHEMES);
        let mut bids = Bids::default();
        crate::ggml::Ggml.bid(&evidence, &mut bids);
        assert_eq!(bids.weights.len(), 1);
        (bids.weights.remove(0), bids)
    }

    fn slabs(bid: &Bid, rows: Range<u64>) -> Vec<Slab> {
        let mut slabs = Vec::new();
        let columns: u64 = bid.shape[1..].iter().product();
        let elements = rows.start * columns..rows.end * columns;
        bid.recipe.as_ref().ok().unwrap().needs(elements, &mut slabs);
        slabs
    }

    #[test]
    fn a_scale_that_fits_is_a_part() {
        let cases: [(&[u64], &[u64], Slab); 6] = [
            (&[4, 64], &[1], Slab::whole(1, 0, 4)),
            (&[4, 64], &[], Slab::whole(1, 0, 4)),
            (&[4, 64], &[1, 1], Slab::whole(1, 0, 4)),
            (&[64], &[1], Slab::whole(1, 0, 4)),
            (&[4, 2, 64], &[1], Slab::whole(1, 0, 4)),
            (&[4, 2, 64], &[4], Slab::whole(1, 4, 8)),
        ];
        for (shape, scale, expected) in cases {
            let scale = tensor("a.scale", DType::F32, scale);
            let (bid, bids) = bids(weight("NVFP4", shape), scale);
            assert_eq!(
                bid.parts.iter().map(|part| part.role).collect::<Vec<_>>(),
                ["weight", "scale"]
            );
            assert!(bids.findings.is_empty());
            assert_eq!(slabs(&bid, 1..3)[1], expected);
        }
    }

    #[test]
    fn a_scale_that_does_not_fit_refuses_the_weight() {
        let cases: [(&[u64], DType, &[u64]); 7] = [
            (&[4, 64], DType::F16, &[1]),
            (&[4, 64], DType::F32, &[4]),
            (&[4, 64], DType::F32, &[2]),
            (&[4, 64], DType::F32, &[0]),
            (&[64], DType::F32, &[64]),
            (&[4, 2, 64], DType::F32, &[2]),
            (&[4, 2, 64], DType::F32, &[2, 2]),
        ];
        for (shape, dtype, scale) in cases {
            let (bid, bids) = bids(weight("NVFP4", shape), tensor("a.scale", dtype, scale));
            let reason = bid.recipe.err().expect("refused");
            assert!(reason.contains("a.scale"), "{reason}");
            assert_eq!(bid.parts.len(), 2);
            assert_eq!(bids.findings.len(), 1);
            assert_eq!(bids.findings[0].kind, "undecodable");
        }
    }

    #[test]
    fn without_a_scale_blocks_are_all() {
        let other = || tensor("b.scale", DType::F32, &[1]);
        let (bid, bids) = bids(weight("NVFP4", &[4, 64]), other());
        assert_eq!((bid.parts.len(), slabs(&bid, 0..1).len()), (1, 1));
        assert!(bids.findings.is_empty() && bids.dropped.is_empty());
    }

    #[test]
    fn other_types_have_no_scale_beside_them() {
        let (bid, bids) = bids(weight("Q8_0", &[4, 64]), tensor("a.scale", DType::F32, &[1]));
        assert_eq!((bid.parts.len(), slabs(&bid, 0..1).len()), (1, 1));
        assert!(bids.findings.is_empty());
    }

    #[test]
    fn the_scale_of_the_input_is_dropped() {
        let (bid, bids) =
            bids(weight("NVFP4", &[4, 64]), tensor("a.input_scale", DType::F32, &[1]));
        assert_eq!((bid.parts.len(), bids.dropped.len()), (1, 1));
        assert!(bids.dropped[0].1.contains("activation scale"));
    }

    /// Experts have a scale each; a stretch may begin and end in the middle of any.
    #[test]
    #[allow(clippy::cast_possible_truncation)]
    fn stretches_over_experts_take_the_scale_of_each() {
        let (experts, columns) = (3, 2 * BLOCK as u64);
        let (bid, _) =
            bids(weight("NVFP4", &[3, 2, 64]), tensor("a.scale", DType::F32, &[experts]));
        let recipe = bid.recipe.ok().unwrap();
        let bytes: Vec<u8> = (0..36 * 6).map(|at: u8| at.wrapping_mul(73)).collect();
        let mut wanted = [0f32; 6 * BLOCK];
        let kernel = kernel_of(Block::from_name("NVFP4").unwrap()).unwrap();
        kernel.decode(simd::level(), &bytes, Out::F32(&mut wanted));
        let factors = [0.3f32, -2.0, 7.0];
        for (row, factor) in wanted.chunks_mut(2 * BLOCK).zip(factors) {
            row.iter_mut().for_each(|value| *value *= factor);
        }
        let scales: Vec<u8> = factors.iter().flat_map(|factor| factor.to_le_bytes()).collect();
        for start in (0..experts * columns).step_by(7) {
            for end in [start + 1, start + 40, start + 130, start + 300, experts * columns] {
                let range = start..end.min(experts * columns);
                let mut slabs = Vec::new();
                recipe.needs(range.clone(), &mut slabs);
                let cut = |slab: &Slab| {
                    let from = if slab.part == 0 { &bytes } else { &scales };
                    let [at, len] = [slab.offset, slab.row_bytes].map(|n| n as usize);
                    Staged::over(&from[at..][..len])
                };
                let staged: Vec<_> = slabs.iter().map(cut).collect();
                let mut out = vec![0f32; (range.end - range.start) as usize];
                recipe.decode(&staged, range.clone(), Out::F32(&mut out)).unwrap();
                assert_eq!(out, wanted[range.start as usize..range.end as usize], "{range:?}");
            }
        }
    }

    /// Any stretch of a vector is that stretch of the whole, which is block values times scale.
    #[test]
    fn stretches_of_a_vector_are_cut_from_the_whole() {
        let block = Block::from_name("NVFP4").unwrap();
        let kernel = kernel_of(block).unwrap();
        let blocks = BlockRows { block, kernel, columns: 1, maker: Maker::Apr };
        let of = &Scaled { blocks, one_per_row: false };
        let bytes: Vec<u8> = (0..36 * 3).map(|at: u8| at.wrapping_mul(73)).collect();
        let mut whole = [0f32; 3 * BLOCK];
        kernel.decode(simd::level(), &bytes, Out::F32(&mut whole));
        let scales = &0.3f32.to_le_bytes();
        for first in 0..3 * BLOCK {
            for end in [first, first + 1, first + 63, first + 64, first + 100, 3 * BLOCK] {
                let expected: Vec<f32> =
                    whole[first..end.clamp(first, 3 * BLOCK)].iter().map(|v| v * 0.3).collect();
                let staged = [&bytes[first / BLOCK * 36..], scales].map(Staged::over);
                let range = &(first as u64..(first + expected.len()) as u64);
                let mut out = vec![f32::NAN; expected.len()];
                of.decode_as(&staged, range.clone(), &mut out).unwrap();
                assert_eq!(out, expected, "{first}..{end}");
                let mut out = vec![half::f16::NAN; expected.len()];
                of.decode_as(&staged, range.clone(), &mut out).unwrap();
                assert!(out.iter().zip(expected).all(|(o, e)| *o == half::f16::from_f32(e)));
            }
        }
    }
}
