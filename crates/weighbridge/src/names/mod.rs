//! Room 4: which weight of one model is which of another, and how the one is turned into the other.
//!
//! Names are data: `table` lists the modules of each family and what GGUF calls them. `facts`
//! finds out whose names a side has and which family it is of, `pieces` translates a name,
//! and `search` asks, from the surest to the least sure, what belongs to what. Values are not
//! looked at here: a [`View`] says how they are to be seen so that they can be compared.

use std::fmt;
use std::sync::Arc;

use crate::catalog::Value;
use crate::config::Config;

mod facts;
mod pieces;
mod prefix;
mod search;
mod table;
#[cfg(test)]
mod tests;
mod ties;
mod translate;
mod view;

use search::Search;
pub use view::{Rows, View};

/// One model: its weights in order, and what says which family it is of.
pub struct Side<'a> {
    /// All of its weights: what a comparison leaves out is better left out of the pairs, since
    /// neighbours tell what a weight is.
    pub weights: Vec<Named<'a>>,
    /// The JSON documents beside them.
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

/// Turns a name into another.
pub type Rename = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Says whether a name is meant.
pub type Select = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What the user says about names.
#[derive(Clone, Default)]
pub struct Rules {
    /// Applied to the names of A, one after the other.
    pub renames: Vec<Rename>,
    /// Names of A and the names of B that they are.
    pub map: Vec<(String, String)>,
    /// Which matrices of B, by their name in A or in B, are compared transposed.
    pub transpose: Option<Select>,
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
    /// How the one of A is seen.
    pub view_a: View,
    /// How the one of B is seen.
    pub view_b: View,
    /// What lies between them, in words: `permute heads=32`, `norm + 1`, `expert 3 of 8`.
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

/// What belongs to what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairing {
    /// The pairs, in A's order.
    pub pairs: Vec<Pair>,
    /// Weights of A, in order, that B has not, or has only a part of.
    pub only_a: Vec<usize>,
    /// Weights of B, in order, that A has not, or has only a part of.
    pub only_b: Vec<usize>,
    /// Weights that have no counterpart and need none: whose, which, and why.
    pub explained: Vec<(Which, usize, String)>,
    /// What was found out about the names, for people.
    pub notes: Vec<String>,
}

/// Finds what belongs to what.
///
/// What the user says comes first, then equal names, then names that differ by a prefix, then
/// names that are translated between Hugging Face's and GGUF's, then what is tied. A weight may
/// be in several pairs, each with a part of it.
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
