//! A weight whose codes and factors are laid out in another way.

use std::ops::Range;
use std::sync::Arc;

use super::Cut;
use super::job::{Action, Job, Origin, OutputTensor};
use crate::error::{Error, Result};
use crate::model::{Scratch, Weight};
use crate::schemes::{EncodedTensor, Extract, GroupedForm, Kind, PackedWeight, Panel, PanelPacker};

/// Codes of a tile, a byte each. Rows of one side are strips of the other, which are to be long
/// enough to be read at once.
const ELEMENTS: u64 = 2 << 20;

/// A packer at work on a weight, and what it gives.
#[derive(Clone)]
pub struct Rearranging {
    form: GroupedForm,
    packer: Arc<dyn PanelPacker>,
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
        let PackedWeight { tensors, packer } = packed;
        let rearranging = Self { form: weight.grouped_form()?, packer, tensors: tensors.into() };
        let outputs = (0..).zip(&*rearranging.tensors).map(|(index, tensor)| OutputTensor {
            name: tensor.name.clone(),
            stored: tensor.stored.clone(),
            shape: tensor.shape.clone(),
            bytes: tensor.bytes,
            offset: 0,
            groups: tensor.groups,
            index,
        });
        let outputs = outputs.collect();
        let cut = rearranging.cut(weight);
        if cut.pieces * cut.piece != weight.elements() {
            let (elements, unit) = (weight.elements(), cut.piece);
            return Err(format!("its {elements} elements are no whole pieces of {unit}"));
        }
        let action = Action::Rearrange(rearranging);
        Ok(Job { origin: Origin::Weight(weight.clone()), action, outputs, cut })
    }

    /// Whole rows or columns, as many as must be packed together.
    pub(super) fn cut(&self, weight: &Weight) -> Cut {
        let unit = self.form.elements_of(self.packer.outermost(), self.packer.unit());
        Cut::of_codes(weight, unit, ELEMENTS)
    }

    /// Bytes that a worker needs for some elements, besides what is written.
    pub(super) fn memory(&self, weight: &Weight, elements: &Range<u64>) -> Result<u64> {
        let [codes, factors] = self.form.panel(self.packer.outermost(), elements);
        let all = [(Kind::Codes, &codes), (Kind::Scales, &factors), (Kind::Zeros, &factors)];
        let staged = weight.staged_for_grouped(&all)?;
        let sides = |of: &Extract| of.sides().iter().fold(1, |all, side| all * *side as u64);
        let common = sides(&codes) + sides(&factors) * (self.form.scale_bytes() + 1);
        Ok(staged.saturating_add(common))
    }

    /// Reads some elements and packs them into the bytes of each tensor.
    pub(super) fn pack(
        &self,
        weight: &Weight,
        elements: &Range<u64>,
        out: &mut [&mut [u8]],
        (buffers, scratch): (&mut PanelBuffers, &mut Scratch),
    ) -> Result<()> {
        let [codes_of, factors_of] = self.form.panel(self.packer.outermost(), elements);
        let width = usize::try_from(self.form.scale_bytes()).unwrap_or(1);
        let PanelBuffers { codes, scales, zeros } = buffers;
        let all = [
            (Kind::Codes, &codes_of, &mut *codes, 1),
            (Kind::Scales, &factors_of, &mut *scales, width),
            (Kind::Zeros, &factors_of, &mut *zeros, 1),
        ];
        for (kind, of, buffer, width) in all {
            let [rows, across] = of.sides();
            let bytes = rows.checked_mul(across).and_then(|cells| cells.checked_mul(width));
            let too_large = || Error::limit("a tile is larger than this machine can address");
            buffer.resize(bytes.ok_or_else(too_large)?, 0);
            weight.read_grouped(kind, of, buffer, scratch)?;
        }
        let (codes_of, factors_of) = (&codes_of, &factors_of);
        let panel = Panel { codes_of, factors_of, codes, scales, zeros };
        self.packer.pack(&panel, out).map_err(|error| error.in_tensor(weight.name()))
    }
}
