//! Quantizers: ways to store a whole model in fewer bits.
//!
//! A quantizer looks at all weights of a model and says of each whether it stays as it is, is cast,
//! or is encoded and by which [`Encoder`]; and what the file or the repository says about it.

use std::sync::Arc;

use crate::catalog::Value;
use crate::dtype::{DType, StoredType};
use crate::error::Result;
use crate::framework::{Additions, Configs, Encoder, Importance};

/// A way to store a model, as users name it.
pub trait Quantizer: Send + Sync {
    /// What users call it. No two have one name; two whose names differ in letter case only are
    /// stored in different formats.
    fn name(&self) -> &'static str;

    /// What it is, in a few words.
    fn about(&self) -> &'static str;

    /// The types of the tensors that it gives: a format without one of them cannot hold the model.
    fn types(&self) -> Vec<StoredType>;

    /// Whether loaders are told by a config beside the weights.
    fn needs_configs(&self) -> bool {
        true
    }

    /// Decides about every weight, or says why the model cannot be stored so.
    fn choose(&self, request: &Request<'_>) -> Result<Chosen>;

    /// The encoders that a weight, by its place, could have where the size decides; none if there is
    /// nothing to choose from.
    fn alternatives(&self, _: &Request<'_>, _: usize) -> Vec<Arc<dyn Encoder>> {
        Vec::new()
    }

    /// Entries of the metadata for weights whose types were chosen by their size.
    fn described(&self, _: &[Fate], _: &Request<'_>) -> Vec<(String, Value)> {
        Vec::new()
    }
}

/// A model that is to be quantized, and how.
pub struct Request<'a> {
    /// Its weights, under the names and in the order in which they are written.
    pub weights: &'a [Candidate<'a>],
    /// Entries of the metadata that the file is going to have.
    pub metadata: &'a dyn Fn(&str) -> Option<Value>,
    /// The configs beside it.
    pub configs: Configs<'a>,
    /// Whether a library, by its name, takes the weights of models of a `model_type` as transformers
    /// saves them.
    pub takes_as_saved: &'a dyn Fn(&str, &str) -> bool,
    /// What users ask for.
    pub wishes: &'a QuantizeWishes,
    /// Whether users want a weight to stay as it is.
    pub keeps: &'a dyn Fn(&str) -> bool,
    /// The type that users ask for, for one weight.
    pub asked: &'a dyn Fn(&str) -> Option<String>,
    /// The importance of a weight's columns, if it is known.
    pub importance: &'a dyn Fn(&str) -> Option<Arc<dyn Importance>>,
    /// The largest magnitude in all of some weights, by their places in `weights`. It is looked for
    /// when it is first asked for.
    pub largest: &'a dyn Fn(&[usize]) -> Largest,
}

/// Finds the largest magnitude of some weights.
pub type Largest = Arc<dyn Fn() -> Result<f32> + Send + Sync>;

/// What users ask for, besides the name of a quantizer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QuantizeWishes {
    /// One type for every weight that is quantized at all.
    pub pure: bool,
    /// The type of the output matrix.
    pub output_type: Option<String>,
    /// The type of the token embedding.
    pub embedding_type: Option<String>,
    /// Another layout of the same numbers.
    pub layout: Option<String>,
    /// Columns that share a scale.
    pub group_size: Option<u64>,
    /// Whether importance is known at all.
    pub has_importance: bool,
    /// Whether to search as if all columns were equally important.
    pub thorough: bool,
}

/// A weight that may be quantized.
pub struct Candidate<'a> {
    /// Its name in the output.
    pub name: &'a str,
    /// Its dimensions, outermost first.
    pub shape: &'a [u64],
    /// The type of its numbers: the one it is stored in, or decoded to.
    pub dtype: DType,
    /// The type that it is stored in, if it is one of blocks.
    pub block: Option<&'static str>,
}

/// What becomes of a model.
#[derive(Clone, Default)]
pub struct Chosen {
    /// What becomes of each weight.
    pub fates: Vec<Fate>,
    /// The order in which the weights are written, by their places, if it is not the one they are in.
    pub order: Option<Vec<usize>>,
    /// Entries of the file's metadata. Entries of the same keys go, and these come last.
    pub metadata: Vec<(String, Value)>,
    /// What a repository needs beside its weights.
    pub additions: Additions,
    /// What users should know: a type that did not fit, a weight that stays as it is.
    pub notes: Vec<String>,
}

/// What becomes of a weight.
#[derive(Clone)]
pub enum Fate {
    /// It stays as it is.
    Keep,
    /// It is stored as numbers of this type.
    Cast(DType),
    /// It is encoded.
    Encode(Arc<dyn Encoder>),
}
