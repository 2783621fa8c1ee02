//! Finds which weight of one model is which of another, and what has to be done to compare them.
//!
//! Names are data, in the files of the families. `facts` finds out which naming a model uses and of which family it is, `pieces` translates a name, and
//! `search` pairs weights step by step, the surest step first. Values are not read here: a [`View`]
//! states which rows are compared, in which order, and what is added to them.

use std::fmt;
use std::sync::Arc;

use crate::catalog::Value;
use crate::config::Config;
use crate::view;

mod facts;
mod grouped;
pub mod keys;
mod layers;
mod linear;
mod measured;
mod next;
mod parsed;
mod piece;
mod pieces;
mod prefix;
mod search;
mod stacks;
#[cfg(test)]
mod tests;
mod ties;
mod to_gguf;
mod to_hf;
mod translate;

use facts::{Dialect, Facts};
pub use measured::measured;
pub use next::next_layers;
use piece::{Cut, Piece};
use search::Search;
pub(crate) use ties::encoder_of;
pub use to_gguf::{Tensor, Translation, to_gguf, wants_single};
pub use to_hf::{is_tied, keeps_single, to_hf};
pub use view::{Matrix, Rows, View};

/// One of two compared models: its weights in order, and the data that identifies its family.
pub struct Side<'a> {
    /// All weights, including those not compared, because neighbours identify a weight.
    pub weights: Vec<Named<'a>>,
    /// The JSON documents next to them.
    pub configs: &'a [Config],
    /// The metadata of the files.
    pub metadata: Vec<(&'a str, &'a Value)>,
}

/// A weight's name and shape.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its dimensions, outermost first.
    pub shape: &'a [u64],
}

/// A function that renames a weight.
pub type Rename = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// A predicate on names.
pub type Matches = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The user's rules about names.
#[derive(Clone, Default)]
pub struct Rules {
    /// Applied to the names of A, in this order.
    pub renames: Vec<Rename>,
    /// Pairs of names: one of A, one of B.
    pub map: Vec<(String, String)>,
    /// Which matrices of B, by their name in A or in B, are compared transposed.
    pub transpose: Option<Matches>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("renames", &self.renames.len())
            .field("map", &self.map)
            .field("transpose", &self.transpose.is_some())
            .finish()
    }
}

/// Two weights, or parts of them, that should hold the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Which weight of A.
    pub a: usize,
    /// Which weight of B.
    pub b: usize,
    /// Which numbers of A's weight are compared.
    pub view_a: View,
    /// Which numbers of B's weight are compared.
    pub view_b: View,
    /// How the two differ, in words: `permute heads=32`, `norm + 1`, `expert 3 of 8`.
    pub transform: Option<String>,
}

/// One of two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    A,
    /// The second.
    B,
}

/// The pairing of two models' weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairing {
    /// The pairs, in A's order.
    pub pairs: Vec<Pair>,
    /// Weights of A, in order, that are missing in B, wholly or in part.
    pub only_a: Vec<usize>,
    /// Weights of B, in order, that are missing in A, wholly or in part.
    pub only_b: Vec<usize>,
    /// Weights that have no counterpart and need none: whose, which, and why.
    pub explained: Vec<(Which, usize, String)>,
    /// Remarks about the names, for people.
    pub notes: Vec<String>,
}

/// Pairs the weights of two models.
///
/// The user's rules come first, then equal names, names that differ by a prefix, names translated
/// between Hugging Face and GGUF, and tied weights. A weight may be in several pairs, each with a
/// part of it.
#[must_use]
pub fn pair(a: &Side<'_>, b: &Side<'_>, rules: &Rules) -> Pairing {
    let mut search = Search::new(a, b, rules);
    search.same_names(rules);
    search.prefixes();
    search.translate();
    search.ties();
    search.explain();
    search.finish(rules)
}
