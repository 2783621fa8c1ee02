//! How a model is quantized.

use std::path::PathBuf;
use std::sync::Arc;

use crate::ops::work::setters;
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
#[derive(Clone, Default)]
pub struct QuantizeOptions {
    pub(in crate::ops::conversion) name: String,
    pub(in crate::ops::conversion) wishes: QuantizeWishes,
    pub(in crate::ops::conversion) types: Vec<(Matches, String)>,
    pub(in crate::ops::conversion) keep: Vec<Matches>,
    pub(in crate::ops::conversion) importance: Option<PathBuf>,
    pub(in crate::ops::conversion) allow_requantize: bool,
    pub(in crate::ops::conversion) encoding: HowEncoded,
    pub(in crate::ops::conversion) goal: Option<Goal>,
}

impl QuantizeOptions {
    /// The type whose choices are kept where a size decides about the rest.
    pub const USUAL: &str = "Q4_K_M";

    /// To the type of this name: [`quantizers`](crate::ops::quantizers) lists them.
    pub fn new(name: impl Into<String>) -> Self {
        let encoding = HowEncoded { is_measured: true, takes_non_finite: false };
        Self { name: name.into(), encoding, ..Self::default() }
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
}

setters! { QuantizeOptions:
    /// One type for every weight that is quantized, instead of a mixture.
    pure(pure: bool) wishes.pure = pure;

    /// The type of the output matrix.
    output_type(name: impl Into<String>) wishes.output_type = Some(name.into());

    /// The type of the token embedding.
    embedding_type(name: impl Into<String>) wishes.embedding_type = Some(name.into());

    /// Another layout of the same numbers, for another loader.
    layout(name: impl Into<String>) wishes.layout = Some(name.into());

    /// Columns that share a scale, where the type leaves that open.
    group_size(columns: u64) wishes.group_size = Some(columns);

    /// Search longer for the best scales: as if all columns were equally important, where nothing
    /// else says how important they are.
    thorough(thorough: bool) wishes.thorough = thorough;

    /// Chooses a type for every weight, so that the errors of all are as small as they can be with at
    /// most so many bits a weight, over all weights.
    target_bits(bits: f64) goal = Some(Goal::Bits(bits));

    /// The same with at most so many bytes in all files of weights.
    target_size(bytes: u64) goal = Some(Goal::Bytes(bytes));

    /// Also quantize weights that are stored in fewer than eight bits already.
    allow_requantize(allow: bool) allow_requantize = allow;

    /// Also encode numbers that are NaN or infinite, as the reference would.
    allow_non_finite(allow: bool) encoding.takes_non_finite = allow;

    /// Whether what it costs is measured on the way; by default it is.
    measure(measure: bool) encoding.is_measured = measure;
}

/// How large the result should be at the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ops::conversion) enum Goal {
    /// Bits a weight, over all weights.
    Bits(f64),
    /// Bytes of all tensors.
    Bytes(u64),
}
