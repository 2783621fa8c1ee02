//! Layouts: ways in which the same codes and factors lie in stored tensors.
//!
//! A layout looks at all weights of a model that are to lie in it, and says which tensors each
//! becomes and what packs them; and what a repository says about it. Blocks are a layout of which
//! nothing is said but their type.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;

use super::grouped::{Extract, GroupedForm};
use crate::error::Result;
use crate::framework::conventions::linear_layers::is_linear;
use crate::framework::{Additions, Candidate, EncodedTensor};

/// A way in which codes lie in stored tensors.
pub trait TargetLayout: Sync {
    /// What users call it. No two have one name. Blocks have none: a format asks for them.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Lays out every weight; or says of those that do not fit why.
    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<Unfit>>;
}

/// A model whose codes are to be moved.
pub struct ToLayOut<'a> {
    /// The weights with codes.
    pub weights: &'a [CodedWeight<'a>],
    /// All others, which stay as they are.
    pub plain: &'a [Candidate<'a>],
}

impl<'a> ToLayOut<'a> {
    /// The modules of linear layers that have no codes.
    pub fn plain_modules(&self) -> impl Iterator<Item = &'a str> {
        let linear = self.plain.iter().filter(|weight| is_linear(weight));
        linear.filter_map(|weight| weight.name.strip_suffix(".weight"))
    }

    /// The modules with codes.
    pub fn coded_modules(&self) -> impl Iterator<Item = &'a str> {
        self.weights.iter().filter_map(|weight| weight.name.strip_suffix(".weight"))
    }

    /// Whether every zero point is the middle of its codes.
    pub fn is_symmetric(&self) -> bool {
        let is_middle = |of: &CodedWeight<'_>| of.zeros == [of.form.middle(); 2];
        self.weights.iter().all(is_middle)
    }

    /// Lays out every weight by itself; or says of those that do not fit why.
    pub fn each<T>(
        &self,
        packed: impl Fn(&CodedWeight<'_>) -> Result<T, String>,
    ) -> Result<Vec<T>, Vec<Unfit>> {
        let (mut all, mut unfit) = (Vec::with_capacity(self.weights.len()), Vec::new());
        for (weight, of) in self.weights.iter().enumerate() {
            match packed(of) {
                Ok(packed) => all.push(packed),
                Err(reason) => unfit.push(Unfit { weight, reason }),
            }
        }
        if unfit.is_empty() { Ok(all) } else { Err(unfit) }
    }
}

/// A weight with codes.
pub struct CodedWeight<'a> {
    /// Its name in the output.
    pub name: &'a str,
    /// Its dimensions, outermost first.
    pub shape: &'a [u64],
    /// What its codes are.
    pub form: GroupedForm,
    /// The lowest and the highest of its zero points.
    pub zeros: [u8; 2],
    /// The factor of all of its numbers, and whether scales are divided by it.
    pub global: Option<(f32, bool)>,
}

/// A weight that cannot be laid out so.
pub struct Unfit {
    /// Its place among the weights.
    pub weight: usize,
    /// Why.
    pub reason: String,
}

/// What becomes of a model.
#[derive(Default)]
pub struct LaidOut {
    /// What becomes of each weight.
    pub weights: Vec<PackedWeight>,
    /// What a repository needs beside them.
    pub additions: Additions,
    /// What users should know.
    pub notes: Vec<String>,
}

impl LaidOut {
    /// Weights that these settings in a config speak of.
    pub fn described(weights: Vec<PackedWeight>, settings: Json) -> Self {
        let config_keys = vec![("quantization_config".to_owned(), settings)];
        let additions = Additions { config_keys, ..Additions::default() };
        Self { weights, additions, ..Self::default() }
    }
}

/// What becomes of a weight.
#[derive(Clone)]
pub struct PackedWeight {
    /// What its codes are.
    pub form: GroupedForm,
    /// The tensors that it becomes. Which elements make which bytes is said in the packer's order.
    pub tensors: Vec<EncodedTensor>,
    /// What makes them.
    pub packer: Arc<dyn Packer>,
}

/// The order in which a packer takes elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whole rows, one after the other.
    Rows,
    /// Whole columns, one after the other.
    Columns,
    /// In stretches, wherever rows end.
    Stretches,
}

/// Packs codes of a weight, some at a time.
pub trait Packer: Send + Sync {
    /// In which order.
    fn order(&self) -> Order {
        Order::Rows
    }

    /// How many rows, columns or elements must be packed together.
    fn unit(&self) -> u64 {
        1
    }

    /// What llama.cpp calls files that are mostly made of what it packs, by number.
    fn file_type(&self) -> Option<u32> {
        None
    }

    /// Packs a panel into the bytes of each tensor that it makes.
    fn pack(&self, panel: &Panel<'_>, out: &mut [&mut [u8]]) -> Result<()>;
}

/// What is packed at once, in the common form.
pub struct Panel<'a> {
    /// Which rows and columns.
    pub codes_of: &'a Extract,
    /// Which rows and groups.
    pub factors_of: &'a Extract,
    /// The codes of each row.
    pub codes: &'a [u8],
    /// The scales of each row.
    pub scales: &'a [u8],
    /// The zero points of each row.
    pub zeros: &'a [u8],
}

impl GroupedForm {
    /// The panel of some elements, counted in that order: its rows and columns, its rows and groups.
    pub fn panel(&self, order: Order, elements: &Range<u64>) -> [Extract; 2] {
        let length = self.elements_of(order, 1).max(1);
        let lines = elements.start / length..elements.end / length;
        let (rows, columns) = match order {
            Order::Rows => (lines, 0..self.columns),
            Order::Columns => (0..self.rows, lines),
            Order::Stretches => (0..1, lines),
        };
        let group = self.group.max(1);
        let groups = columns.start / group..columns.end.div_ceil(group);
        [Extract { rows: rows.clone(), across: columns }, Extract { rows, across: groups }]
    }

    /// Elements of so many rows, columns or elements.
    pub fn elements_of(&self, order: Order, lines: u64) -> u64 {
        let length = match order {
            Order::Rows => self.columns,
            Order::Columns => self.rows,
            Order::Stretches => 1,
        };
        lines.saturating_mul(length)
    }
}
