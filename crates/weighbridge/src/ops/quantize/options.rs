//! How a model is quantized.

use std::path::PathBuf;
use std::sync::Arc;

use super::target::Goal;
use crate::pipeline::HowEncoded;
use crate::schemes::QuantizeWishes;

/// Says of a weight, by its name in the output, whether something is meant for it.
type Matches = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How a model is quantized: to which type, and with which exceptions.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// use weighbridge::ops::{ConvertOptions, QuantizeOptions};
/// let model = Model::open("Qwen3-8B/")?;
/// let how = QuantizeOptions::new("Q4_K_M").importance("imatrix.gguf");
/// ops::quantize(&model, &ConvertOptions::new("Qwen3-8B-Q4_K_M.gguf"), &how)?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct QuantizeOptions {
    pub(in crate::ops) name: String,
    pub(in crate::ops) wishes: QuantizeWishes,
    pub(in crate::ops) types: Vec<(Matches, String)>,
    pub(in crate::ops) keep: Vec<Matches>,
    pub(in crate::ops) importance: Option<PathBuf>,
    pub(in crate::ops) allow_requantize: bool,
    pub(in crate::ops) allow_non_finite: bool,
    pub(in crate::ops) is_measured: bool,
    pub(in crate::ops) goal: Option<Goal>,
}

impl QuantizeOptions {
    /// The type whose choices are kept where a size decides about the rest.
    pub const USUAL: &str = "Q4_K_M";

    /// To the type of this name: [`quantizers`](crate::ops::quantizers) lists them.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            wishes: QuantizeWishes::default(),
            types: Vec::new(),
            keep: Vec::new(),
            importance: None,
            allow_requantize: false,
            allow_non_finite: false,
            is_measured: true,
            goal: None,
        }
    }

    /// One type for every weight that is quantized, instead of a mixture.
    #[must_use]
    pub fn pure(mut self, pure: bool) -> Self {
        self.wishes.pure = pure;
        self
    }

    /// A type for the weights whose names in the output match. The first that matches counts.
    #[must_use]
    pub fn tensor_type(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        name: impl Into<String>,
    ) -> Self {
        self.types.push((Arc::new(matches), name.into()));
        self
    }

    /// The type of the output matrix.
    #[must_use]
    pub fn output_type(mut self, name: impl Into<String>) -> Self {
        self.wishes.output_type = Some(name.into());
        self
    }

    /// The type of the token embedding.
    #[must_use]
    pub fn embedding_type(mut self, name: impl Into<String>) -> Self {
        self.wishes.embedding_type = Some(name.into());
        self
    }

    /// Weights that stay as they are, by their names in the output.
    #[must_use]
    pub fn keep(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.keep.push(Arc::new(matches));
        self
    }

    /// An importance matrix, in either format of llama.cpp.
    #[must_use]
    pub fn importance(mut self, file: impl Into<PathBuf>) -> Self {
        self.importance = Some(file.into());
        self.wishes.has_importance = true;
        self
    }

    /// Another layout of the same numbers, for another loader.
    #[must_use]
    pub fn layout(mut self, name: impl Into<String>) -> Self {
        self.wishes.layout = Some(name.into());
        self
    }

    /// Columns that share a scale, where the type leaves that open.
    #[must_use]
    pub fn group_size(mut self, columns: u64) -> Self {
        self.wishes.group_size = Some(columns);
        self
    }

    /// Search longer for the best scales: as if all columns were equally important, where nothing
    /// else says how important they are.
    #[must_use]
    pub fn thorough(mut self, thorough: bool) -> Self {
        self.wishes.thorough = thorough;
        self
    }

    /// Chooses a type for every weight, so that the errors of all are as small as they can be with at
    /// most so many bits a weight, over all weights.
    #[must_use]
    pub fn target_bits(mut self, bits: f64) -> Self {
        self.goal = Some(Goal::Bits(bits));
        self
    }

    /// The same with at most so many bytes in all files of weights.
    #[must_use]
    pub fn target_size(mut self, bytes: u64) -> Self {
        self.goal = Some(Goal::Bytes(bytes));
        self
    }

    /// Also quantize weights that are stored in fewer than eight bits already.
    #[must_use]
    pub fn allow_requantize(mut self, allow: bool) -> Self {
        self.allow_requantize = allow;
        self
    }

    /// Also encode numbers that are NaN or infinite, as the reference would.
    #[must_use]
    pub fn allow_non_finite(mut self, allow: bool) -> Self {
        self.allow_non_finite = allow;
        self
    }

    /// Whether what it costs is measured on the way; by default it is.
    #[must_use]
    pub fn measure(mut self, measure: bool) -> Self {
        self.is_measured = measure;
        self
    }

    pub(in crate::ops) fn encoding(&self) -> HowEncoded {
        let (is_measured, takes_non_finite) = (self.is_measured, self.allow_non_finite);
        HowEncoded { is_measured, takes_non_finite }
    }
}
