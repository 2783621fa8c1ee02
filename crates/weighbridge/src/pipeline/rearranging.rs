//! A weight whose codes and factors are laid out in another way.

use std::ops::Range;
use std::sync::Arc;

use super::Cut;
use super::job::{Action, Job, Origin, OutputTensor};
use crate::error::{Error, Result};
use crate::model::{Scratch, Weight};
use crate::schemes::{
    EncodedTensor, Extract, GroupedForm, Kind, Order, PackedWeight, Packer, Panel,
};

/// Codes of a tile. Rows of one side are strips of the other, which are to be long enough to be read
/// at once.
const ELEMENTS: u64 = 2 << 20;

/// Tile size where rows stay contiguous: about half a mebibyte.
const STRETCH: u64 = 1 << 20;

/// A packer at work on a weight, and what it gives.
#[derive(Clone)]
pub struct Rearranging {
    form: GroupedForm,
    packer: Arc<dyn Packer>,
    /// All tensors that it gives.
    pub tensors: Arc<[EncodedTensor]>,
}

/// A tile in the common form, kept from one to the next.
#[derive(Default)]
pub struct PanelBuffers {
    codes: Vec<u8>,
    scales: Vec<u8>,
    zeros: Vec<u8>,
}

impl Rearranging {
    /// The job of a weight that becomes these tensors, without their offsets.
    pub(super) fn job(weight: &Weight, packed: PackedWeight) -> Result<Job, String> {
        let PackedWeight { form, tensors, packer } = packed;
        let outputs = OutputTensor::all(&tensors).collect();
        let rearranging = Self { form, packer, tensors: tensors.into() };
        let cut = rearranging.cut(weight);
        if cut.pieces * cut.piece != weight.elements() {
            let (elements, unit) = (weight.elements(), cut.piece);
            return Err(format!("its {elements} elements are not a multiple of {unit}"));
        }
        let action = Action::Rearrange(rearranging);
        let origin = Origin::Weight(weight.clone());
        Ok(Job { origin, action, outputs, cut, takes_non_finite: true })
    }

    /// Whole rows, columns or blocks, as many as must be packed together.
    pub(super) fn cut(&self, weight: &Weight) -> Cut {
        let order = self.packer.order();
        let most = if order == Order::Stretches { STRETCH } else { ELEMENTS };
        Cut::of_codes(weight, self.form.elements_of(order, self.packer.unit()), most)
    }

    /// Bytes that a worker needs for some elements, which become so many bytes.
    pub(super) fn memory(&self, weight: &Weight, elements: &Range<u64>, bytes: u64) -> Result<u64> {
        let order = self.packer.order();
        let [codes, factors] = self.form.panel(order, elements);
        let all = [(Kind::Codes, &codes), (Kind::Scales, &factors), (Kind::Zeros, &factors)];
        let staged = weight.staged_for_codes(all)?;
        if order == Order::Stretches {
            // The common form takes as much as what is made of it.
            let staged = staged.into_iter().fold(0, u64::saturating_add);
            return Ok(bytes.saturating_mul(2).saturating_add(staged));
        }
        // Buffers are kept, so that each may be as large as it ever was.
        let staged = staged.into_iter().max().unwrap_or(0);
        let sides = |of: &Extract| of.sides().iter().fold(1, |all, side| all * *side as u64);
        let common = sides(&codes) + sides(&factors) * (self.form.scale_bytes() + 1);
        Ok(staged.saturating_add(common).saturating_add(bytes))
    }

    /// Reads some elements and packs them into the bytes of each tensor.
    pub(super) fn pack(
        &self,
        weight: &Weight,
        elements: &Range<u64>,
        out: &mut [&mut [u8]],
        (buffers, scratch): (&mut PanelBuffers, &mut Scratch),
    ) -> Result<()> {
        let [codes_of, factors_of] = self.form.panel(self.packer.order(), elements);
        let width = usize::try_from(self.form.scale_bytes()).unwrap_or(1);
        let PanelBuffers { codes, scales, zeros } = buffers;
        let all = [
            (Kind::Codes, &codes_of, &mut *codes),
            (Kind::Scales, &factors_of, &mut *scales),
            (Kind::Zeros, &factors_of, &mut *zeros),
        ];
        for (kind, of, buffer) in all {
            let [rows, across] = of.sides();
            let cells = rows.checked_mul(across);
            let bytes = cells.and_then(|cells| match kind {
                Kind::Codes => Some(self.form.bytes_of_codes(cells)),
                Kind::Scales => cells.checked_mul(width),
                Kind::Zeros => Some(cells),
            });
            let too_large = || Error::limit("a tile exceeds this machine's address space");
            buffer.resize(bytes.ok_or_else(too_large)?, 0);
            weight.read_codes(kind, of, buffer, scratch)?;
        }
        let (codes_of, factors_of) = (&codes_of, &factors_of);
        let panel = Panel { codes_of, factors_of, codes, scales, zeros };
        self.packer.pack(&panel, out).map_err(|error| error.in_tensor(weight.name()))
    }
}
