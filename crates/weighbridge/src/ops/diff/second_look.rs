//! What is looked at once more after all numbers were compared: columns that may be rescaled,
//! weights that one side has and the other needs not, copies that lie between both sides.

use std::collections::HashSet;

use super::judge::Status;
use super::tensor::DiffPlace;
use super::{Comparison, change};
use crate::dtype::DType;
use crate::error::Result;
use crate::names::Which;

/// Longer vectors are not read to see whether they are zero.
const LONGEST: u64 = 1 << 22;

impl Comparison<'_> {
    /// Weights that pass, or not, by rows alone: their columns may be rescaled.
    pub(super) fn look_for_rescaled(&mut self) -> Result<()> {
        for index in std::mem::take(&mut self.may_be_rescaled) {
            let Some(described) = change::look_for_rescaled(&self.sides(index))? else { continue };
            let view = &self.pairing.pairs[index].view_a;
            let (tensor, shape) = (&mut self.tensors[index], &view.shape);
            tensor.status = Status::Changed;
            tensor.outside_rows = Some(view.row_count());
            tensor.change = described.kind;
            tensor.places =
                described.places.iter().map(|place| DiffPlace::of(place, shape)).collect();
        }
        Ok(())
    }

    /// Some writers give every layer a bias, whether it had one or not.
    pub(super) fn explain_zero_biases(&mut self) -> Result<()> {
        for (side, which) in [(0, Which::A), (1, Which::B)] {
            let weights = &self.weights[side];
            let paired = self.pairing.pairs.iter().map(|pair| [pair.a, pair.b][side]);
            let layers: HashSet<&str> =
                paired.filter_map(|index| weights[index].name().strip_suffix("weight")).collect();
            let alone = match which {
                Which::A => &mut self.pairing.only_a,
                Which::B => &mut self.pairing.only_b,
            };
            let mut left = Vec::new();
            for &index in &*alone {
                let weight = &weights[index];
                let is_bias =
                    weight.name().strip_suffix("bias").is_some_and(|name| layers.contains(name));
                let is_readable = weight.elements() <= LONGEST && weight.undecodable().is_none();
                let is_zero = is_bias
                    && is_readable
                    && weight.decode_to_vec::<f32>()?.iter().all(|value| *value == 0.0);
                if is_zero {
                    let reason = "an all-zero bias, equal to no bias".to_owned();
                    self.pairing.explained.push((which, index, reason));
                } else {
                    left.push(index);
                }
            }
            *alone = left;
        }
        Ok(())
    }

    /// Says how many weights were made from a coarser copy of the other side's.
    pub(super) fn note_copies(&mut self) {
        for dtype in [DType::BF16, DType::F16] {
            for (bounded, side, other) in [(1, "B", "A"), (0, "A", "B")] {
                let is_one =
                    |copied: &&(usize, usize, DType)| (copied.1, copied.2) == (bounded, dtype);
                let count = self.copied.iter().filter(is_one).count();
                let words = match count {
                    0 => continue,
                    1 => "1 weight".to_owned(),
                    count => format!("{count} weights"),
                };
                self.pairing.notes.push(format!(
                    "{side} was made from a {dtype} copy of {other}: {words} match once {other} is \
                     rounded to {dtype}"
                ));
            }
        }
    }
}
