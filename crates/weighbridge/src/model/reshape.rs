//! Weights that were stored in another shape than their own.
//!
//! A container says which shape a stored tensor had before (see
//! [`Catalog::original_shapes`](crate::catalog::Catalog)); the weight made of it has that one. The
//! stored tensor keeps its own, which is what copying it as it is needs.

use std::collections::HashMap;

use crate::catalog::{Finding, Shape};
use crate::schemes::{Entry, Ledger, TensorId};
use crate::source::Source;

/// The shapes of stored tensors before they were stored, where they differ.
#[derive(Default)]
pub(super) struct OriginalShapes(HashMap<TensorId, Shape, foldhash::fast::RandomState>);

impl OriginalShapes {
    /// Those that the files state.
    pub(super) fn of(sources: &[Source]) -> Self {
        let mut all = Self::default();
        for (number, source) in (0u32..).zip(sources) {
            let catalog = source.catalog();
            if catalog.original_shapes.is_empty() {
                continue;
            }
            let stated = catalog.original_shapes.iter().map(|(name, shape)| (&**name, shape));
            let stated: HashMap<&str, &Shape> = stated.collect();
            for (tensor, info) in (0u32..).zip(&catalog.tensors) {
                if let Some(&shape) = stated.get(&*info.name) {
                    all.0.insert(TensorId { source: number, tensor }, shape.clone());
                }
            }
        }
        all
    }

    /// The shape of a stored tensor, if it had another one.
    pub(super) fn get(&self, id: TensorId) -> Option<&Shape> {
        if self.0.is_empty() { None } else { self.0.get(&id) }
    }

    /// Gives weights that schemes decode the shapes of their tensors. (Plain ones ask for it.)
    pub(super) fn apply(&self, sources: &[Source], ledger: &mut Ledger) {
        if self.0.is_empty() {
            return;
        }
        for entry in &mut ledger.weights {
            let Entry::Scheme(_, bid) = entry else { continue };
            let stored = bid.parts.first().map(|part| part.tensor);
            let Some((id, shape)) = stored.and_then(|id| Some((id, self.get(id)?))) else {
                continue;
            };
            let info = &sources[id.source as usize].catalog().tensors[id.tensor as usize];
            // The same elements in the same order, cut into other rows.
            let fits = match &bid.recipe {
                Ok(recipe) => recipe.has_element_access(),
                Err(_) => true,
            };
            if fits && bid.shape == info.shape {
                bid.shape = shape.clone();
                continue;
            }
            let message = format!(
                "the file states the shape {:?}, which is not supported for a weight of this \
                 scheme",
                &shape[..]
            );
            ledger.findings.push(Finding::of(&bid.name, "undecodable", message));
        }
    }
}
