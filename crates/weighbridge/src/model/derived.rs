//! A model made of another one: the same files, under other names, with weights put together, cut
//! or reordered. Nothing is read or computed before somebody asks for the numbers.

use std::sync::{Arc, OnceLock};

use super::reshape::OriginalShapes;
use super::{Contents, Model, Weight};
use crate::catalog::{Shape, element_count};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::names::{Matrix, Rows, View};
use crate::schemes::{
    Across, Bid, Composed, Computed, Entry, Ledger, Recipe, RowOrder, Stretch, plain,
};

/// A weight of the new model.
pub(crate) struct Derived {
    /// Its name.
    pub(crate) name: String,
    /// Its shape, outermost dimension first.
    pub(crate) shape: Shape,
    /// What it is made from.
    pub(crate) from: MadeOf,
}

/// What a derived weight is made from.
pub(crate) enum MadeOf {
    /// Views of weights, one after the other.
    Weights(Vec<(Weight, View)>),
    /// Numbers that are in no file.
    Numbers(Vec<f32>),
}

/// The scheme of numbers that are in no file, in reports.
const COMPUTED: &str = "computed";

impl Model {
    /// A model of these weights, which are made of this model's.
    pub(crate) fn derived(&self, weights: Vec<Derived>) -> Result<Self> {
        let entries: Result<Vec<Entry>> = weights.into_iter().map(entry).collect();
        let entries = entries.map_err(|error| error.in_file(self.path()))?;
        let from = &*self.0;
        Ok(Self(Arc::new(Contents {
            path: from.path.clone(),
            folder: from.folder.clone(),
            sources: from.sources.clone(),
            ledger: Ledger { weights: entries, ..Ledger::default() },
            findings: from.findings.clone(),
            notes: from.notes.clone(),
            configs: from.configs.clone(),
            original_shapes: OriginalShapes::default(),
            twins: from.twins.clone(),
            unlike_twins: OnceLock::new(),
            pipeline: from.pipeline.clone(),
            by_name: OnceLock::new(),
            budget: from.budget.clone(),
        })))
    }
}

fn entry(Derived { name, shape, from }: Derived) -> Result<Entry> {
    let elements = element_count(&shape);
    let (scheme, bid) = match from {
        MadeOf::Numbers(numbers) => {
            let recipe: Arc<dyn Recipe> = Arc::new(Computed::new(numbers));
            let (variant, native) = ("F32".into(), Some(DType::F32));
            (COMPUTED, Bid { name, shape, variant, native, parts: Vec::new(), recipe: Ok(recipe) })
        }
        MadeOf::Weights(pieces) => {
            let seen = pieces.iter().map(|(_, view)| element_count(&view.shape).unwrap_or(0));
            if Some(seen.sum::<u64>()) != elements {
                let message = format!("its parts do not make up the shape {:?}", &shape[..]);
                return Err(Error::malformed(message).in_tensor(&name));
            }
            composed(name, shape, &pieces)?
        }
    };
    Ok(Entry::Scheme(scheme, Box::new(bid)))
}

/// A weight of views of others, in the scheme of the first.
fn composed(name: String, shape: Shape, pieces: &[(Weight, View)]) -> Result<(&'static str, Bid)> {
    let (mut parts, mut stretches, mut refused) = (Vec::new(), Vec::new(), None);
    for (weight, view) in pieces {
        let first_part = parts.len();
        parts.extend((0..).map_while(|index| weight.part(index)));
        match (weight.undecodable(), recipe(weight)) {
            (None, Ok(recipe)) => stretches.push(stretch(recipe, weight, view, first_part)),
            (reason, other) => {
                let reason = reason.or_else(|| other.err().map(|e| e.message().to_owned()));
                refused = refused.or(reason);
            }
        }
    }
    let Some((first, _)) = pieces.first() else {
        return Err(Error::usage("it is made of nothing").in_tensor(&name));
    };
    let recipe: Result<Arc<dyn Recipe>, Arc<str>> = match refused {
        Some(reason) => Err(reason.into()),
        None => Ok(Arc::new(Composed::new(stretches, plain::columns(&shape)))),
    };
    let (variant, native) = (first.variant().into(), first.native());
    Ok((first.scheme(), Bid { name, shape, variant, native, parts, recipe }))
}

fn stretch(recipe: Arc<dyn Recipe>, weight: &Weight, view: &View, first_part: usize) -> Stretch {
    let order = match view.rows {
        Rows::From(start) => RowOrder::From(start),
        Rows::Runs { start, run, period } => RowOrder::Runs { start, run, period },
        Rows::Tiled { start, groups, members, run } => {
            RowOrder::Tiled { start, groups, members, run }
        }
        Rows::Heads { start, head_rows, to_halves: false, .. } => {
            RowOrder::Interleaved { start, head_rows }
        }
        Rows::Heads { start, head_rows, to_halves: true, .. } => {
            RowOrder::Halved { start, head_rows }
        }
    };
    Stretch {
        recipe,
        recipe_row: weight.rows_and_columns().1,
        first_part,
        row: view.row_len(),
        rows: view.row_count(),
        order,
        across: view.transposed.map(|Matrix { first, columns }| Across { first, columns }),
        change: view.change,
        // llama.cpp's converter widens what it changes, unless that is F16 already.
        in_half: weight.native() == Some(DType::F16),
    }
}

/// The recipe of a weight, to keep.
fn recipe(weight: &Weight) -> Result<Arc<dyn Recipe>> {
    match weight.entry() {
        Entry::Plain(id) => {
            let recipe = plain::recipe_as(weight.info(*id), weight.shape());
            Ok(Arc::new(recipe.map_err(Error::unsupported)?))
        }
        Entry::Scheme(_, bid) => match &bid.recipe {
            Ok(recipe) => Ok(recipe.clone()),
            Err(reason) => Err(Error::unsupported(reason.to_string())),
        },
    }
}
