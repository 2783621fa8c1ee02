//! Stacks of matrices of the same width that differ in length.

use std::collections::{BTreeMap, HashMap};

use super::facts::Facts;
use super::translate::{MadeOf, Tensor};
use crate::error::{Error, Result};

/// Stacks that are being put together: by the name of each, its parts and where the last of them was.
#[derive(Default)]
pub(super) struct Padded(HashMap<String, (BTreeMap<u64, usize>, usize)>);

impl Padded {
    /// A part of a stack.
    pub fn add(&mut self, name: &str, place: u64, (index, at): (usize, usize)) -> Result<()> {
        let (parts, last) = self.0.entry(name.to_owned()).or_default();
        *last = at;
        match parts.insert(place, index) {
            None => Ok(()),
            Some(_) => {
                Err(Error::malformed(format!("part {place} is there twice")).in_tensor(name))
            }
        }
    }

    /// The stacks, each in place of its last part.
    pub fn stacked(self, facts: &Facts<'_>) -> Result<Vec<(usize, Tensor)>> {
        let stack = |(name, (parts, last)): (String, (BTreeMap<u64, usize>, usize))| {
            let parts: Vec<(u64, usize)> = parts.into_iter().collect();
            stacked(facts, name, &parts).map(|tensor| (last, tensor))
        };
        self.0.into_iter().map(stack).collect()
    }
}

fn stacked(facts: &Facts<'_>, name: String, parts: &[(u64, usize)]) -> Result<Tensor> {
    let missing = (0..).zip(parts).find(|(wanted, (place, _))| wanted != place);
    if let Some((place, _)) = missing {
        return Err(Error::malformed(format!("part {place} is missing")).in_tensor(&name));
    }
    let shapes = parts.iter().map(|(_, index)| facts.from.weights[*index].shape);
    let sides: Option<Vec<[u64; 2]>> = shapes.map(|shape| shape.try_into().ok()).collect();
    let width = sides.as_ref().and_then(|sides| sides.first()).map_or(0, |side| side[1]);
    let sides = sides.filter(|sides| sides.iter().all(|side| side[1] == width));
    let misshapen = || Error::malformed("its parts have different widths").in_tensor(&name);
    let longest = sides.ok_or_else(misshapen)?.iter().map(|side| side[0]).max().unwrap_or(0);
    let length = usize::try_from(longest.saturating_mul(width)).unwrap_or(usize::MAX);
    let mut numbers = Vec::new();
    for (place, (_, index)) in (1..).zip(parts) {
        numbers.extend((facts.from.numbers)(*index)?);
        numbers.resize(length.saturating_mul(place), 0.0);
    }
    let shape = [parts.len() as u64, longest, width].as_slice().into();
    Ok(Tensor { name, shape, made_of: MadeOf::Numbers(numbers) })
}
