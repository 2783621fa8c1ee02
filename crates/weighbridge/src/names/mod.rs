//! Which weight of one model is which of another, and how the one is turned into the other.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::catalog::Value;
use crate::schemes::Config;

mod view;

pub use view::{Rows, View};

/// One model: its weights in order, and what says which family it is of.
pub struct Side<'a> {
    /// The weights.
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
#[must_use]
pub fn pair(a: &Side<'_>, b: &Side<'_>, _rules: &Rules) -> Pairing {
    let names: HashMap<&str, usize> =
        b.weights.iter().enumerate().map(|(index, weight)| (weight.name, index)).collect();
    let mut pairing = Pairing::default();
    for (index, weight) in a.weights.iter().enumerate() {
        match names.get(weight.name) {
            Some(&other) => pairing.pairs.push(Pair {
                a: index,
                b: other,
                view_a: View::whole(weight.shape),
                view_b: View::whole(b.weights[other].shape),
                transform: None,
            }),
            None => pairing.only_a.push(index),
        }
    }
    let paired: Vec<usize> = pairing.pairs.iter().map(|pair| pair.b).collect();
    pairing.only_b = (0..b.weights.len()).filter(|index| !paired.contains(index)).collect();
    pairing
}
