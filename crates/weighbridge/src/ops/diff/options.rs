//! The options of a comparison.

use std::sync::Arc;

use super::rules::FailOver;
use crate::model::Select;
use crate::names::Rules;
use crate::ops::Work;
use crate::ops::work::work_options;

/// Which values are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Values {
    /// None: names, shapes, types and metadata only.
    None,
    /// Those that can differ: weights with the same stored bytes are not decoded, unless another
    /// weight differs (then the figures of the whole model need them).
    #[default]
    Differing,
    /// All, with the figures of each weight.
    All,
}

/// What is compared, and how.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// use weighbridge::ops::DiffOptions;
/// let (a, b) = (Model::open("original/")?, Model::open("quantized.gguf")?);
/// let report = ops::diff(&a, &b, &DiffOptions::default())?;
/// println!("{} of {} weights changed", report.summary.changed, report.summary.compared);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct DiffOptions {
    pub(super) values: Values,
    pub(super) rules: Rules,
    pub(super) select: Select,
    pub(super) fail_over: Option<FailOver>,
    pub(super) exact: bool,
    pub(super) skip_unreadable: bool,
    pub(super) reencode: bool,
    pub(super) work: Work,
}

work_options!(DiffOptions);

impl DiffOptions {
    /// Which values are compared.
    #[must_use]
    pub fn values(mut self, values: Values) -> Self {
        self.values = values;
        self
    }

    /// Which weights are compared. A pair counts under both of its names.
    #[must_use]
    pub fn select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// Renames weights of A to match B; several rules are applied one after the other.
    #[must_use]
    pub fn rename(mut self, rename: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.rules.renames.push(Arc::new(rename));
        self
    }

    /// Pairs a name of A with a name of B.
    #[must_use]
    pub fn map(mut self, a: impl Into<String>, b: impl Into<String>) -> Self {
        self.rules.map.push((a.into(), b.into()));
        self
    }

    /// Which matrices of B are compared transposed, by their name in A or in B.
    #[must_use]
    pub fn transpose(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.rules.transpose = Some(Arc::new(matches));
        self
    }

    /// Which values count as a difference, instead of the default rule.
    #[must_use]
    pub fn fail_over(mut self, rule: FailOver) -> Self {
        self.fail_over = Some(rule);
        self
    }

    /// Whether everything that is not the same to the bit counts as a difference.
    #[must_use]
    pub fn exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Leave out weights that cannot be read, on either side, instead of failing for them:
    /// [`DiffReport::skipped`] names them.
    ///
    /// [`DiffReport::skipped`]: super::DiffReport::skipped
    #[must_use]
    pub fn skip_unreadable(mut self, skip: bool) -> Self {
        self.skip_unreadable = skip;
        self
    }

    /// Whether originals are encoded once more where the other side is stored in a type with an
    /// encoder: [`DiffTensor::reencoded`] says whether that gives the stored bytes, and how its
    /// error compares with theirs.
    ///
    /// [`DiffTensor::reencoded`]: super::DiffTensor::reencoded
    #[must_use]
    pub fn reencode(mut self, reencode: bool) -> Self {
        self.reencode = reencode;
        self
    }

    /// Whether weights are decoded even if their bytes are the same.
    pub(super) fn wants_all(&self) -> bool {
        self.values == Values::All || self.fail_over.as_ref().is_some_and(FailOver::needs_values)
    }
}
