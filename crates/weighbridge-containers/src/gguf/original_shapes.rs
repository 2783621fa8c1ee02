//! `comfy.gguf.orig_shape.<tensor>`: what a tensor was before it was flattened.
//!
//! ComfyUI-GGUF's converter stores a tensor whose rows are not made of whole blocks as rows of 256
//! elements, and keeps its shape as an array of i32, outermost dimension first. The elements are
//! in the same order in both, so the one shape stands for the other if it counts as many.

use std::collections::{HashMap, HashSet};

use crate::catalog::{Catalog, Finding, Shape, Value, element_count};
use crate::error::Result;
use crate::limits::Budget;
use crate::text::shortened;

use super::check::report;

/// What keys of such shapes begin with.
pub(super) const PREFIX: &str = "comfy.gguf.orig_shape.";

/// More dimensions than any tensor has.
pub(super) const MAX_RANK: u64 = 8;

/// A shape that the metadata states for a tensor.
pub(super) struct Stated {
    /// The tensor.
    pub(super) tensor: Box<str>,
    /// The elements of the array; `None` for something else than a short array of integers.
    pub(super) sides: Option<Vec<Value>>,
}

/// Puts the stated shapes into the catalog; those that cannot be right are findings.
pub(super) fn apply(catalog: &mut Catalog, stated: Vec<Stated>, budget: &Budget) -> Result<()> {
    if stated.is_empty() {
        return Ok(());
    }
    let hasher = foldhash::fast::RandomState::default;
    let mut tensors = HashMap::with_capacity_and_hasher(catalog.tensors.len(), hasher());
    tensors.extend(catalog.tensors.iter().map(|tensor| (&*tensor.name, &tensor.shape)));
    let mut seen = HashSet::with_hasher(hasher());
    let (mut shapes, mut findings, mut elsewhere) = (Vec::new(), Vec::new(), 0u64);
    for Stated { tensor, sides } in stated {
        let Some(stored) = tensors.get(&*tensor) else {
            elsewhere = elsewhere.saturating_add(1);
            continue;
        };
        // Of several entries with one key the first counts.
        if !seen.insert(tensor.clone()) {
            continue;
        }
        match shape(sides.as_deref(), stored) {
            Ok(shape) if shape == **stored => {}
            Ok(shape) => shapes.push((tensor, shape)),
            Err(reason) => {
                let message = format!("metadata `{PREFIX}{}` {reason}", shortened(&tensor, 120));
                let finding = Finding::of(&tensor, "bad-original-shape", message);
                report(&mut findings, budget, finding)?;
            }
        }
    }
    if !shapes.is_empty() {
        let count = shapes.len();
        let tensors = if count == 1 { "tensor was" } else { "tensors were" };
        catalog.notes.push(format!(
            "{count} {tensors} flattened to fit blocks; metadata `{PREFIX}*` gives the \
                 original shapes"
        ));
    }
    if elsewhere > 0 {
        let tensors = if elsewhere == 1 { "tensor that is" } else { "tensors that are" };
        catalog.notes.push(format!(
            "metadata `{PREFIX}*` gives shapes for {elsewhere} {tensors} not in this file"
        ));
    }
    catalog.findings.append(&mut findings);
    catalog.original_shapes = shapes;
    Ok(())
}

/// The shape, or what is wrong with it.
fn shape(sides: Option<&[Value]>, stored: &[u64]) -> Result<Shape, String> {
    let Some(sides) = sides else {
        return Err(format!("is not an array of at most {MAX_RANK} integers"));
    };
    let shape: Option<Shape> =
        sides.iter().map(|side| side.as_u64().filter(|side| *side > 0)).collect();
    let Some(shape) = shape else {
        let sides = Value::List(sides.to_vec()).to_json().to_string();
        return Err(format!("is {sides}, but every dimension must be positive"));
    };
    match (element_count(&shape), element_count(stored)) {
        (Some(said), Some(there)) if said == there => Ok(shape),
        (_, there) => Err(format!(
            "is {:?}, but must have the {} elements of the stored shape {stored:?}",
            &shape[..],
            there.unwrap_or(0),
        )),
    }
}
