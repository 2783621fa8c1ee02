//! The rules of `--dtype`: which type a weight is written in.
//!
//! | asked for | decoded weight | plain floating point | plain, anything else |
//! |---|---|---|---|
//! | `native` | its native type if that has 16 bits, else BF16 | as stored | as stored |
//! | `auto` | as `native`, unless the model has a 16-bit type of its own | as stored | as stored |
//! | a type | that type | that type | as stored |
//! | a type, for decoded weights only | that type | as stored | as stored |
//! | `keep` | copied as the tensors it is stored in | as stored | as stored |
//!
//! A type for single weights (`--cast`) overrides all of this, except that integers stay as they
//! are.

use std::sync::Arc;

use crate::dtype::DType;
use crate::model::Weight;

/// The types that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputType {
    /// What is decoded takes its native 16-bit type, the rest is left alone. In a repository that is
    /// dequantized, it takes the 16-bit type that the config names, where it names one.
    #[default]
    Auto,
    /// What is decoded takes its native 16-bit type: that of the scheme's own library. The rest is
    /// left alone.
    Native,
    /// Single precision.
    F32,
    /// bfloat16.
    Bf16,
    /// IEEE half precision.
    F16,
    /// Nothing is decoded: stored tensors are copied.
    Keep,
}

/// A type for the weights whose names match.
#[derive(Clone)]
pub struct Cast {
    /// Which weights, by their names in the source.
    pub matches: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Their type: F32, BF16 or F16.
    pub dtype: DType,
}

/// The types that are asked for, and the weights they apply to.
#[derive(Clone, Copy)]
pub struct Types<'a> {
    /// The types.
    pub of: OutputType,
    /// Whether they are for decoded weights only, and plain tensors stay as they are.
    pub only_decoded: bool,
    /// The type of a single weight, by its name in the source.
    pub cast: &'a dyn Fn(&str) -> Option<DType>,
    /// The type that the model's config names, where decoded weights follow it: a repository is
    /// loaded in that type.
    pub model: Option<DType>,
}

impl Types<'_> {
    /// The type a weight is written in; see [`OutputType::of`].
    pub fn of(self, weight: &Weight) -> Option<DType> {
        let (is_plain, native) = (weight.is_plain(), weight.native());
        let is_number = !is_plain || native.is_some_and(DType::is_float);
        if let Some(cast) = (self.cast)(weight.name()).filter(|_| is_number) {
            return Some(cast);
        }
        let has_own = matches!(native, Some(DType::F16 | DType::BF16));
        let model = self.model.filter(|model| matches!(model, DType::F16 | DType::BF16));
        match (self.of, model) {
            _ if self.only_decoded && is_plain => native,
            (OutputType::Auto, Some(model)) if !is_plain => Some(model),
            (OutputType::Native, Some(model)) if !is_plain && !has_own => Some(model),
            (of, _) => of.of_stored(is_plain, native),
        }
    }
}

impl OutputType {
    /// The type a weight is written in; `None` for one whose stored type has no name here, which
    /// cannot be written at all.
    #[must_use]
    pub fn of(self, weight: &Weight) -> Option<DType> {
        self.of_stored(weight.is_plain(), weight.native())
    }

    /// The type of a weight that is plain or not, and decodes to `native`.
    pub(crate) fn of_stored(self, is_plain: bool, native: Option<DType>) -> Option<DType> {
        match (is_plain, self.named()) {
            (true, Some(named)) if native.is_some_and(DType::is_float) => Some(named),
            (true, _) => native,
            (false, Some(named)) => Some(named),
            (false, None) => native
                .filter(|native| matches!(native, DType::F16 | DType::BF16))
                .or(Some(DType::BF16)),
        }
    }

    fn named(self) -> Option<DType> {
        match self {
            Self::Auto | Self::Native | Self::Keep => None,
            Self::F32 => Some(DType::F32),
            Self::Bf16 => Some(DType::BF16),
            Self::F16 => Some(DType::F16),
        }
    }
}
