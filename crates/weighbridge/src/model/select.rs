//! Selection of weights by name.

use std::fmt;
use std::sync::Arc;

type Pattern = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A selection of weights by name. By default, all weights are selected.
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

    /// Selects only weights that match this or another include pattern.
    #[must_use]
    pub fn include(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.include.push(Arc::new(matches));
        self
    }

    /// Excludes weights whose name matches, even if they are included.
    #[must_use]
    pub fn exclude(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.exclude.push(Arc::new(matches));
        self
    }

    /// Whether all weights are selected.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether the weight with this name is selected.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.wants_any(&[name])
    }

    /// Whether a weight with several names is selected: one name is included and none is excluded.
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
