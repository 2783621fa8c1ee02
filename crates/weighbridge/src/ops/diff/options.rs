//! The options of a comparison.

use std::sync::Arc;

use super::rules::FailOver;
use crate::model::Select;
use crate::names::Rules;
use crate::ops::Work;
use crate::ops::work::{setters, work_options};

/// Which values are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Values {
    /// None: names, shapes, types and metadata only.
    None,
    /// Values that can differ. Weights with equal stored bytes are not decoded, unless another
    /// weight differs: the metrics of the whole model need all values then.
    #[default]
    Differing,
    /// All values, with metrics for each weight.
    All,
}

/// Options for [`diff`](crate::ops::diff).
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
    pub(super) weights_only: bool,
    pub(super) work: Work,
}

work_options!(DiffOptions);

setters! { DiffOptions:
    /// Which values are compared.
    values(values: Values) values = values;

    /// Which weights are compared. A pair counts under both of its names.
    select(select: Select) select = select;

    /// Transposes matrices of B whose name in A or B matches.
    transpose(matches: impl Fn(&str) -> bool + Send + Sync + 'static)
        rules.transpose = Some(Arc::new(matches));

    /// Which values count as a difference, instead of the default rule.
    fail_over(rule: FailOver) fail_over = Some(rule);

    /// Whether every value that is not bit-identical counts as a difference.
    exact(exact: bool) exact = exact;

    /// Whether only weights decide about [`DiffReport::ok`]. Settings that differ are listed anyway.
    ///
    /// [`DiffReport::ok`]: super::DiffReport::ok
    weights_only(weights_only: bool) weights_only = weights_only;

    /// Skips weights that cannot be read on either side instead of returning an error.
    /// [`DiffReport::skipped`] lists them.
    ///
    /// [`DiffReport::skipped`]: super::DiffReport::skipped
    skip_unreadable(skip: bool) skip_unreadable = skip;

    /// Encodes originals again where the other side is stored in a type with an encoder.
    ///
    /// [`DiffTensor::reencoded`] compares the result with the stored bytes and their error.
    ///
    /// [`DiffTensor::reencoded`]: super::DiffTensor::reencoded
    reencode(reencode: bool) reencode = reencode;
}

impl DiffOptions {
    /// Renames weights of A to match B. Several rules apply in the order they were added.
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

    /// Whether weights are decoded even if their bytes are the same.
    pub(super) fn wants_all(&self) -> bool {
        self.values == Values::All || self.fail_over.as_ref().is_some_and(FailOver::needs_values)
    }
}
