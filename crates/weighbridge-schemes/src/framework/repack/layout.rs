//! Layouts: arrangements of the same codes and factors in stored tensors.
//!
//! A layout takes all weights of a model that are to be stored in it. It decides which tensors each
//! becomes, what packs them, and what the repository's config says. Blocks are a layout that is
//! described by its type alone.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;

use super::grouped::{Extract, GroupedForm};
use crate::error::Result;
use crate::framework::conventions::linear_layers::is_linear;
use crate::framework::{Additions, Candidate, EncodedTensor, LoaderFault};

/// An arrangement of codes in stored tensors.
pub trait TargetLayout: Sync {
    /// Name for users, unique. Blocks have none: a format selects them.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Lays out every weight, or returns a reason for each that does not fit.
    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<LayoutMismatch>>;
}

/// A model whose codes are to be moved.
pub struct ToLayOut<'a> {
    /// Weights with codes.
    pub weights: &'a [CodedWeight<'a>],
    /// All other weights, which are unchanged.
    pub plain: &'a [Candidate<'a>],
}

impl<'a> ToLayOut<'a> {
    /// Returns the modules of linear layers without codes.
    pub fn plain_modules(&self) -> impl Iterator<Item = &'a str> {
        let linear = self.plain.iter().filter(|weight| is_linear(weight));
        linear.filter_map(|weight| weight.name.strip_suffix(".weight"))
    }

    /// Returns the modules with codes.
    pub fn coded_modules(&self) -> impl Iterator<Item = &'a str> {
        self.weights.iter().filter_map(|weight| weight.name.strip_suffix(".weight"))
    }

    /// Whether every zero point is the middle of its codes.
    pub fn is_symmetric(&self) -> bool {
        let is_middle = |of: &CodedWeight<'_>| of.zeros == [of.form.middle(); 2];
        self.weights.iter().all(is_middle)
    }

    /// Lays out every weight separately, or returns a reason for each that does not fit.
    pub fn each<T>(
        &self,
        packed: impl Fn(&CodedWeight<'_>) -> Result<T, String>,
    ) -> Result<Vec<T>, Vec<LayoutMismatch>> {
        let (mut all, mut unfit) = (Vec::with_capacity(self.weights.len()), Vec::new());
        for (weight, of) in self.weights.iter().enumerate() {
            match packed(of) {
                Ok(packed) => all.push(packed),
                Err(reason) => unfit.push(LayoutMismatch { weight, reason }),
            }
        }
        if unfit.is_empty() { Ok(all) } else { Err(unfit) }
    }
}

/// A weight with codes.
pub struct CodedWeight<'a> {
    /// Name in the output.
    pub name: &'a str,
    /// Dimensions, outermost first.
    pub shape: &'a [u64],
    /// Form of its codes.
    pub form: GroupedForm,
    /// Lowest and highest zero point.
    pub zeros: [u8; 2],
    /// The global scale, and whether scales are divided by it.
    pub global: Option<(f32, bool)>,
}

/// A weight that does not fit a layout.
pub struct LayoutMismatch {
    /// Index among the weights.
    pub weight: usize,
    /// Reason.
    pub reason: String,
}

/// A model after laying it out.
#[derive(Default)]
pub struct LaidOut {
    /// The packed weights.
    pub weights: Vec<PackedWeight>,
    /// Files, config keys and metadata that the repository needs.
    pub additions: Additions,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The kinds of models of this form that a loader fails with.
    pub loader_faults: &'static [LoaderFault],
}

impl LaidOut {
    /// Creates the result for weights that these config settings describe.
    pub fn described(weights: Vec<PackedWeight>, settings: Json) -> Self {
        let config_keys = vec![("quantization_config".to_owned(), settings)];
        let additions = Additions { config_keys, ..Additions::default() };
        Self { weights, additions, ..Self::default() }
    }
}

/// A weight after laying it out.
#[derive(Clone)]
pub struct PackedWeight {
    /// Form of its codes.
    pub form: GroupedForm,
    /// Tensors that it becomes. Their groups count elements in the packer's order.
    pub tensors: Vec<EncodedTensor>,
    /// The packer that writes them.
    pub packer: Arc<dyn Packer>,
}

/// The order in which a packer takes elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whole rows, one after another.
    Rows,
    /// Whole columns, one after another.
    Columns,
    /// Ranges of elements, regardless of rows.
    Stretches,
}

/// Packs the codes of a weight, some at a time.
pub trait Packer: Send + Sync {
    /// Returns the order of elements.
    fn order(&self) -> Order {
        Order::Rows
    }

    /// Returns the number of rows, columns or elements that must be packed together.
    fn unit(&self) -> u64 {
        1
    }

    /// Returns llama.cpp's file type number for files that mostly contain such blocks.
    fn file_type(&self) -> Option<u32> {
        None
    }

    /// Whether llama.cpp applies a factor beside the tensor, which is its weight in a model of an
    /// architecture.
    fn applies_factor(&self, _architecture: &str, _weight: &str) -> bool {
        true
    }

    /// Packs a panel into the bytes of each tensor that it makes.
    fn pack(&self, panel: &Panel<'_>, out: &mut [&mut [u8]]) -> Result<()>;
}

/// Codes and factors that are packed at once, in the common form.
pub struct Panel<'a> {
    /// Rows and columns of the codes.
    pub codes_of: &'a Extract,
    /// Rows and groups of the factors.
    pub factors_of: &'a Extract,
    /// Codes of each row.
    pub codes: &'a [u8],
    /// Scales of each row.
    pub scales: &'a [u8],
    /// Zero points of each row.
    pub zeros: &'a [u8],
}

impl GroupedForm {
    /// Returns the panel of some elements, counted in that order: rows and columns, rows and
    /// groups.
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

    /// Returns the elements in `lines` rows, columns or elements.
    pub fn elements_of(&self, order: Order, lines: u64) -> u64 {
        let length = match order {
            Order::Rows => self.columns,
            Order::Columns => self.rows,
            Order::Stretches => 1,
        };
        lines.saturating_mul(length)
    }
}
