//! Which weights are wanted, by their names.

use std::fmt;
use std::sync::Arc;

type Pattern = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A choice of weights by their names: all, until something is included or excluded.
///
/// ```
/// let select = weighbridge::Select::new()
///     .include(|name| name.starts_with("model.layers.0."))
///     .exclude(|name| name.ends_with(".bias"));
/// assert!(select.wants("model.layers.0.mlp.up_proj.weight"));
/// assert!(!select.wants("model.layers.0.self_attn.q_proj.bias"));
/// ```
#[derive(Clone, Default)]
pub struct Select {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Select {
    /// All weights.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes only weights whose name matches this or another included pattern.
    #[must_use]
    pub fn include(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.include.push(Arc::new(matches));
        self
    }

    /// Leaves out weights whose name matches, even those that are included.
    #[must_use]
    pub fn exclude(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.exclude.push(Arc::new(matches));
        self
    }

    /// Whether all weights are wanted.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether the weight of that name is wanted.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.wants_any(&[name])
    }

    /// Whether a weight is wanted that goes by several names: included by any of them, and
    /// excluded by none.
    #[must_use]
    pub fn wants_any(&self, names: &[&str]) -> bool {
        let any = |patterns: &[Pattern]| {
            patterns.iter().any(|matches| names.iter().any(|name| matches(name)))
        };
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (include, exclude) = (self.include.len(), self.exclude.len());
        write!(f, "Select {{ include: {include} patterns, exclude: {exclude} patterns }}")
    }
}
