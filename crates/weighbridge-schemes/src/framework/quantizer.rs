//! Quantizers: ways to store a whole model in fewer bits.
//!
//! A quantizer looks at all weights of a model. It decides for each whether it is kept, cast, or
//! encoded and by which [`Encoder`]. It also supplies the metadata and config entries for the
//! result.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::dtype::{DType, StoredType};
use crate::error::Result;
use crate::framework::configs::SETTINGS;
use crate::framework::{Additions, Candidate, Configs, Encoder, Importance, LoaderFault};
use crate::warning::Warning;

/// A way to store a model, as users name it.
pub trait Quantizer: Send + Sync {
    /// Name for users, unique. Two names that differ only in letter case belong to different
    /// formats.
    fn name(&self) -> &'static str;

    /// Short description.
    fn about(&self) -> &'static str;

    /// Types of the output tensors. A format must support all of them.
    fn types(&self) -> Vec<StoredType>;

    /// Whether loaders need a config next to the weights.
    fn needs_configs(&self) -> bool {
        true
    }

    /// Whether users can set the types of single weights.
    fn takes_types(&self) -> bool {
        false
    }

    /// Returns the kinds of models of this type that a loader fails with.
    fn loader_faults(&self) -> &'static [LoaderFault] {
        &[]
    }

    /// Decides about every weight, or returns why the model cannot be stored this way.
    fn choose(&self, request: &Request<'_>) -> Result<Chosen>;

    /// Returns the encoders to choose from for a weight, by its index, when a target size decides;
    /// empty if there is no choice.
    fn alternatives(&self, _: &Request<'_>, _: usize) -> Vec<Arc<dyn Encoder>> {
        Vec::new()
    }

    /// Returns metadata entries for weights whose types were chosen by size.
    fn described(&self, _: &[TypeAssignment], _: &Request<'_>) -> Vec<(String, Value)> {
        Vec::new()
    }
}

/// A model to quantize, with the user's options.
pub struct Request<'a> {
    /// Weights, with the names and in the order of the output.
    pub weights: &'a [Candidate<'a>],
    /// Metadata entries of the output file.
    pub metadata: &'a dyn Fn(&str) -> Option<Value>,
    /// Configs of the model.
    pub configs: Configs<'a>,
    /// Whether a library, by name, takes the weights of a `model_type` as transformers saves them.
    pub takes_as_saved: &'a dyn Fn(&str, &str) -> bool,
    /// Options of the user.
    pub wishes: &'a QuantizeWishes,
    /// Whether the user excludes a weight from quantization.
    pub keeps: &'a dyn Fn(&str) -> bool,
    /// The type that the user sets for a weight.
    pub asked: &'a dyn Fn(&str) -> Option<String>,
    /// The importance of a weight's columns, if known.
    pub importance: &'a dyn Fn(&str) -> Option<Arc<dyn Importance>>,
    /// The largest magnitude in a set of weights, by their indices in `weights`. Computed on first
    /// use.
    pub largest: &'a dyn Fn(&[usize]) -> Largest,
}

/// Computes the largest magnitude in a set of weights.
pub type Largest = Arc<dyn Fn() -> Result<f32> + Send + Sync>;

/// Options of the user, apart from the name of the quantizer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QuantizeWishes {
    /// Uses one type for every quantized weight.
    pub pure: bool,
    /// Type of the output matrix.
    pub output_type: Option<String>,
    /// Type of the token embedding.
    pub embedding_type: Option<String>,
    /// Layout of the numbers, if not the default.
    pub layout: Option<String>,
    /// Columns that share a scale.
    pub group_size: Option<u64>,
    /// Whether an importance matrix was given.
    pub has_importance: bool,
    /// Whether to search as if all columns were equally important.
    pub thorough: bool,
}

/// The decisions for a model.
#[derive(Clone, Default)]
pub struct Chosen {
    /// The decision for each weight.
    pub fates: Vec<TypeAssignment>,
    /// Order in which the weights are written, by index, if it differs from the input.
    pub order: Option<Vec<usize>>,
    /// Metadata entries of the file. They replace entries with the same keys and come last.
    pub metadata: Vec<(String, Value)>,
    /// Files, config keys and metadata that the repository needs.
    pub additions: Additions,
    /// Notes for the user, such as a type that did not fit or a weight that is not quantized.
    pub notes: Vec<String>,
    /// Warnings about loaders that fail with the result.
    pub warnings: Vec<Warning>,
}

impl Chosen {
    /// Creates the decisions for weights that `quantization_config` describes completely.
    pub(crate) fn stated(section: Json, fates: Vec<TypeAssignment>, notes: Vec<String>) -> Self {
        let config_keys = vec![(SETTINGS.to_owned(), section)];
        let additions = Additions { config_keys, ..Additions::default() };
        Self { fates, additions, notes, ..Self::default() }
    }
}

/// The decision for a weight.
#[derive(Clone)]
pub enum TypeAssignment {
    /// Stored unchanged.
    Keep,
    /// Stored as numbers of this type.
    Cast(DType),
    /// Encoded.
    Encode(Arc<dyn Encoder>),
}
