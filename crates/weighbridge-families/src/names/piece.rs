//! A part of a weight under its common name.

use super::view::View;
use crate::families::Place;

/// What a piece is, whatever its model calls it: GGUF's name (of a fused weight, all of its names),
/// and the number of a stacked expert or head.
pub(super) type Key = (String, Option<u64>);

/// A part of a weight under its common name.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Which weight.
    pub weight: usize,
    /// What it is.
    pub key: Key,
    /// Which numbers of the weight it is.
    pub view: View,
    /// How it differs from the weight, in words.
    pub words: Vec<String>,
    /// Which rows are compared if its counterpart has fewer.
    pub cut: Cut,
    /// Whether the tensor has exactly the view's shape, and how pieces of one tensor lie there.
    pub laid: Option<Place>,
}

/// Which rows of the longer one of two matrices are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// All: they have to be as many.
    None,
    /// The first ones, where the family has rows that no token uses: it has a row for each token.
    ByToken,
    /// The last ones: it has a row for each position, and GGUF leaves out those before the first.
    ByPosition,
}

impl Piece {
    /// A part of a weight.
    pub fn part(weight: usize, key: Key, view: View, words: Vec<String>) -> Self {
        Self { weight, key, view, words, cut: Cut::None, laid: None }
    }
}
