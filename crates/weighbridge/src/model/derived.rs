//! A model made of another one: the same files, under other names, with weights put together, cut
//! or reordered. Nothing is read or computed before somebody asks for the numbers.

use std::sync::{Arc, OnceLock};

use half::f16;

use super::reshape::OriginalShapes;
use super::{Contents, Model, Weight};
use crate::catalog::{Shape, element_count};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::schemes::{Bid, Composed, Computed, Entry, InTurn, Ledger, Recipe, Stretch, plain};
use crate::view::{Matrix, Rows, View};
use weighbridge_core::change::Change;

/// A weight of the new model.
#[derive(Clone)]
pub(crate) struct Derived {
    /// Its name.
    pub(crate) name: String,
    /// Its shape, outermost dimension first.
    pub(crate) shape: Shape,
    /// What it is made from.
    pub(crate) from: MadeOf,
}

/// What a derived weight is made from.
#[derive(Clone)]
pub(crate) enum MadeOf {
    /// Views of weights, one after the other.
    Weights(Vec<(Weight, View)>),
    /// The same, with rows of zeros behind them.
    Padded(Vec<(Weight, View)>),
    /// Cut into equal parts whose numbers are interleaved.
    InTurn(Vec<(Weight, View)>, u64),
    /// Numbers that are in no file.
    Numbers(Vec<f32>),
}

/// The scheme of numbers that are in no file, in reports.
const COMPUTED: &str = "computed";

impl Model {
    /// A model of these weights, which are made of this model's.
    pub(crate) fn derived(&self, weights: Vec<Derived>) -> Result<Self> {
        let entries: Result<Vec<Entry>> = weights.into_iter().map(entry).collect();
        Ok(self.with_entries(entries.map_err(|error| error.in_file(self.path()))?))
    }

    /// Its weights as views show them; what is shown as it is stays what it is.
    pub(crate) fn seen<'v>(
        &self,
        views: impl Iterator<Item = (&'v Weight, &'v View)> + Clone,
    ) -> Result<Vec<Weight>> {
        let is_derived = |weight: &Weight, view: &View| {
            let is_all = element_count(&view.shape) == Some(weight.elements());
            !(is_all && view.rows == Rows::From(0) && view.is_plain())
        };
        let derived = views.clone().filter(|(weight, view)| is_derived(weight, view));
        let entries: Result<Vec<Entry>> = derived
            .map(|(weight, view)| {
                let piece = [(weight.clone(), view.clone())];
                composed(weight.name().to_owned(), view.shape.clone(), &piece, 1)
            })
            .collect();
        let model = self.with_entries(entries?);
        let mut made = model.weights();
        let seen = |(weight, view): (&Weight, &View)| {
            if is_derived(weight, view) {
                made.next().unwrap_or_else(|| weight.clone())
            } else {
                weight.clone()
            }
        };
        Ok(views.map(seen).collect())
    }

    /// A model of the same files with other weights.
    fn with_entries(&self, entries: Vec<Entry>) -> Self {
        let ledger = Ledger { weights: entries, ..Ledger::default() };
        let (files, original_shapes) = (self.0.files.clone(), OriginalShapes::default());
        Self(Arc::new(Contents { files, ledger, original_shapes, by_name: OnceLock::new() }))
    }
}

impl Weight {
    /// It, as a view shows it.
    pub(crate) fn seen_as(&self, view: &View) -> Result<Self> {
        let seen = self.model().seen(std::iter::once((self, view)))?;
        seen.into_iter().next().ok_or_else(|| Error::usage("it has no source weights"))
    }
}

impl Weight {
    /// Whether its numbers are in no file.
    pub(crate) fn is_computed(&self) -> bool {
        self.scheme() == COMPUTED
    }
}

fn entry(Derived { name, shape, from }: Derived) -> Result<Entry> {
    let is_padded = matches!(from, MadeOf::Padded(_));
    let (pieces, turns) = match from {
        MadeOf::Weights(pieces) | MadeOf::Padded(pieces) => (pieces, 1),
        MadeOf::InTurn(pieces, turns) => (pieces, turns),
        MadeOf::Numbers(numbers) => {
            let recipe: Arc<dyn Recipe> = Arc::new(Computed::new(numbers));
            let (variant, native) = ("F32".into(), Some(DType::F32));
            let bid = Bid { name, shape, variant, native, parts: Vec::new(), recipe: Ok(recipe) };
            return Ok(Entry::Scheme(COMPUTED, Box::new(bid)));
        }
    };
    let seen = pieces.iter().map(|(_, view)| element_count(&view.shape).unwrap_or(0));
    let fits = |all: u64| {
        let seen = seen.sum::<u64>();
        seen == all || is_padded && seen < all
    };
    if !element_count(&shape).is_some_and(fits) {
        let message = format!("its parts do not add up to the shape {:?}", &shape[..]);
        return Err(Error::malformed(message).in_tensor(&name));
    }
    composed(name, shape, &pieces, turns)
}

/// A weight of views of others, in the scheme of the first.
fn composed(name: String, shape: Shape, pieces: &[(Weight, View)], turns: u64) -> Result<Entry> {
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
        return Err(Error::usage("it has no source weights").in_tensor(&name));
    };
    stretches.extend(zeros_behind(pieces, &shape, parts.len()));
    let recipe: Result<Arc<dyn Recipe>, Arc<str>> = match refused {
        Some(reason) => Err(reason.into()),
        None => {
            let whole = Composed::new(stretches);
            match turns {
                1 => Ok(Arc::new(whole)),
                turns => Ok(Arc::new(InTurn::new(whole, turns))),
            }
        }
    };
    let (variant, native) = (first.variant().into(), first.native());
    let bid = Bid { name, shape, variant, native, parts, recipe };
    Ok(Entry::Scheme(first.scheme(), Box::new(bid)))
}

/// The rows of zeros behind the pieces of a matrix.
fn zeros_behind(pieces: &[(Weight, View)], shape: &[u64], first_part: usize) -> Option<Stretch> {
    let &[rows, columns] = shape else { return None };
    let seen: u64 = pieces.iter().map(|(_, view)| view.row_count()).sum();
    let rows = rows.checked_sub(seen).filter(|rows| *rows > 0)?;
    let is_matrix = pieces.iter().all(|(_, view)| view.row_len() == columns);
    is_matrix.then(|| Stretch {
        // There are no numbers, and behind the last one all are zero.
        recipe: Arc::new(Computed::new(Vec::new())),
        recipe_row: columns,
        first_part,
        view: View::part(&[rows, columns], 0),
        in_half: false,
    })
}

fn stretch(recipe: Arc<dyn Recipe>, weight: &Weight, view: &View, first_part: usize) -> Stretch {
    let (recipe, view) = match as_stored(&recipe, weight, view) {
        Some((stored, skipped)) => {
            let rows = view.rows.behind(skipped);
            (stored, View { rows, transposed: None, ..view.clone() })
        }
        None => (recipe, view.clone()),
    };
    // llama.cpp's converter widens what it changes, unless that is F16 already.
    let in_half = weight.native() == Some(DType::F16);
    let view = if in_half { with_half(view) } else { view };
    Stretch { recipe, recipe_row: weight.rows_and_columns().1, first_part, view, in_half }
}

/// To numbers of F16 the converter adds a constant of that type.
fn with_half(view: View) -> View {
    match view.change {
        Change::Add(more) => View { change: Change::Add(f16::from_f32(more).to_f32()), ..view },
        _ => view,
    }
}

/// A view of a matrix that is stored transposed and seen transposed is one of what is stored: its
/// recipe, and the row of it with which the matrix begins.
fn as_stored(
    recipe: &Arc<dyn Recipe>,
    weight: &Weight,
    view: &View,
) -> Option<(Arc<dyn Recipe>, u64)> {
    let Matrix { first, columns } = view.transposed?;
    let &[.., rows, own_columns] = weight.shape() else { return None };
    let is_whole = own_columns == columns && view.row_len() == rows && rows > 0;
    let stored = recipe.as_stored().filter(|_| is_whole && first.is_multiple_of(rows))?;
    Some((stored, (first / rows).checked_mul(columns)?))
}

/// The recipe of a weight, to keep.
fn recipe(weight: &Weight) -> Result<Arc<dyn Recipe>> {
    match weight.entry() {
        Entry::Plain(id) => {
            let recipe = plain::recipe(weight.info(*id));
            Ok(Arc::new(recipe.map_err(Error::unsupported)?))
        }
        Entry::Scheme(_, bid) => match &bid.recipe {
            Ok(recipe) => Ok(recipe.clone()),
            Err(reason) => Err(Error::unsupported(reason.to_string())),
        },
    }
}
