//! Numbers that a model has as weights, and a GGUF file in its metadata.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Dialect, Facts, Side};
use crate::error::{Error, Result};

/// More numbers than any such weight has.
const MOST: u64 = 1 << 12;

/// These numbers, layer by layer, under the names of the settings that they are of. `read` reads a
/// weight.
pub fn measured(
    side: &Side<'_>,
    read: &dyn Fn(usize) -> Result<Vec<f32>>,
) -> Result<Vec<(&'static str, Json)>> {
    let names: Vec<String> = side.weights.iter().map(|weight| weight.name.to_owned()).collect();
    let facts = Facts::of(side, &names);
    let known = facts.family.filter(|_| facts.dialect == Dialect::HuggingFace);
    let Some(family) = known.filter(|family| !family.measured.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut found: BTreeMap<&'static str, BTreeMap<Vec<u64>, Vec<f32>>> = BTreeMap::new();
    for (index, weight) in side.weights.iter().enumerate() {
        let Some((setting, numbers)) = family.measures(weight.name, &facts.prefix) else {
            continue;
        };
        if weight.shape.iter().fold(1, |all: u64, side| all.saturating_mul(*side)) > MOST {
            let message = format!("shape {:?} is too large for the metadata", weight.shape);
            return Err(Error::malformed(message).in_tensor(weight.name));
        }
        found.entry(setting).or_default().insert(numbers, read(index)?);
    }
    let listed = |layers: BTreeMap<Vec<u64>, Vec<f32>>| layers.into_values().flatten().collect();
    Ok(found.into_iter().map(|(setting, layers)| (setting, listed(layers))).collect())
}
