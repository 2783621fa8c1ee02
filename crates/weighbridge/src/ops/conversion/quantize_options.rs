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

    /// Options for a quantization type. [`quantizers`](crate::ops::quantizers) lists the types.
    pub fn new(name: impl Into<String>) -> Self {
        let encoding = HowEncoded { is_measured: true, takes_non_finite: false };
        Self { name: name.into(), encoding, ..Self::default() }
    }

    /// Sets the type of weights whose output name matches. The first matching rule applies.
    #[must_use]
    pub fn tensor_type(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        name: impl Into<String>,
    ) -> Self {
        self.types.push((Arc::new(matches), name.into()));
        self
    }

    /// Does not quantize weights whose output name matches.
    #[must_use]
    pub fn keep(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.keep.push(Arc::new(matches));
        self
    }

    /// Sets an importance matrix, in either llama.cpp format.
    #[must_use]
    pub fn importance(mut self, file: impl Into<PathBuf>) -> Self {
        self.importance = Some(file.into());
        self.wishes.has_importance = true;
        self
    }
}

setters! { QuantizeOptions:
    /// Uses one type for every quantized weight instead of a mixture.
    pure(pure: bool) wishes.pure = pure;

    /// Sets the type of the output matrix.
    output_type(name: impl Into<String>) wishes.output_type = Some(name.into());

    /// Sets the type of the token embedding.
    embedding_type(name: impl Into<String>) wishes.embedding_type = Some(name.into());

    /// Sets the layout, for loaders that expect another arrangement of the same values.
    layout(name: impl Into<String>) wishes.layout = Some(name.into());

    /// Sets the group size (columns per scale) for types with a variable one.
    group_size(columns: u64) wishes.group_size = Some(columns);

    /// Searches longer for the best scales. Without an importance matrix, all columns count equally.
    thorough(thorough: bool) wishes.thorough = thorough;

    /// Chooses a type for every weight to minimize the total error within this many bits per weight.
    target_bits(bits: f64) goal = Some(Goal::Bits(bits));

    /// Chooses a type for every weight to minimize the total error within this many bytes of weight files.
    target_size(bytes: u64) goal = Some(Goal::Bytes(bytes));

    /// Also quantizes weights that are already stored in fewer than 8 bits.
    allow_requantize(allow: bool) allow_requantize = allow;

    /// Also encodes NaN and infinite values, and finite values that overflow in the type, as the
    /// reference implementation does.
    allow_non_finite(allow: bool) encoding.takes_non_finite = allow;

    /// Whether to measure the quantization error. Default: true.
    measure(measure: bool) encoding.is_measured = measure;
}

/// The size limit of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::ops::conversion) enum Goal {
    /// Bits a weight, over all weights.
    Bits(f64),
    /// Bytes of all tensors.
    Bytes(u64),
}
