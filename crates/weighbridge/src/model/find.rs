//! Finds a weight by what somebody typed: its name, the end of its name, or something close to it.

use std::collections::HashSet;

use super::{Model, Weight};
use crate::error::{Error, Remedy, Result};
use crate::near::closest;
use crate::text::shortened;

/// How many names are listed.
const MOST: usize = 10;

impl Model {
    /// The weight of that name, or the only one whose name ends with it; ends that begin after a dot
    /// go before others.
    ///
    /// ```no_run
    /// let model = weighbridge::Model::open("Qwen3-8B-GPTQ/")?;
    /// let weight = model.find("layers.0.mlp.up_proj.weight")?;
    /// assert_eq!(weight.name(), "model.layers.0.mlp.up_proj.weight");
    /// # Ok::<(), weighbridge::Error>(())
    /// ```
    pub fn find(&self, name: &str) -> Result<Weight> {
        let found = match self.weight(name) {
            Ok(weight) => return Ok(weight),
            Err(_) if name.is_empty() => Vec::new(),
            Err(_) => self.ending_with(name),
        };
        match &found[..] {
            [] => Err(self.no_such_weight(name)),
            [only] => Ok(Weight::new(self.clone(), *only)),
            several => Err(self.ambiguous_suffix(name, several)),
        }
    }

    /// The weights whose names end so, after a dot if there are any.
    fn ending_with(&self, end: &str) -> Vec<usize> {
        let all = || 0..self.0.ledger.weights.len();
        let rest = |index: &usize| self.name_at(*index).strip_suffix(end);
        let after_dot =
            all().filter(|index| rest(index).is_some_and(|rest| rest.ends_with('.'))).collect();
        match after_dot {
            none if Vec::is_empty(&none) => all().filter(|index| rest(index).is_some()).collect(),
            some => some,
        }
    }

    fn ambiguous_suffix(&self, end: &str, indices: &[usize]) -> Error {
        let shown = if indices.len() <= MOST + 1 { indices.len() } else { MOST };
        let mut names: Vec<String> =
            indices[..shown].iter().map(|&index| shortened(self.name_at(index), 100)).collect();
        if shown < indices.len() {
            names.push(format!("and {} more", indices.len() - shown));
        }
        Error::usage(format!("{} weights match this suffix: {}", indices.len(), names.join(", ")))
            .in_tensor(end)
            .in_file(self.path())
            .hint("give a longer suffix")
    }

    fn no_such_weight(&self, name: &str) -> Error {
        let error =
            Error::usage("the model has no such weight").in_tensor(name).in_file(self.path());
        let names = || (0..self.0.ledger.weights.len()).map(|index| self.name_at(index));
        // Somebody who gave only the end of a name is answered with such ends.
        let parts = name.split('.').count();
        let ends: HashSet<&str> = names().map(|full| end_of(full, parts)).collect();
        let mut close = closest(name, ends.into_iter());
        if close.is_empty() {
            close = closest(name, names());
        }
        if close.is_empty() {
            close = holding(name, names());
        }
        match &close[..] {
            [] => error.remedy(Remedy::ListNames),
            some => error.hint(format!("did you mean {}?", crate::text::listed(some, "or"))),
        }
    }
}

/// The first few names that hold what was typed, in any letter case.
fn holding<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const MOST: usize = 3;
    let typed = typed.to_lowercase();
    let holds = |name: &&str| !typed.is_empty() && name.to_lowercase().contains(&typed);
    names.filter(holds).take(MOST).map(|name| shortened(name, 100)).collect()
}

/// The last `parts` parts of a name, between dots.
fn end_of(name: &str, parts: usize) -> &str {
    match name.rmatch_indices('.').nth(parts.saturating_sub(1)) {
        Some((at, _)) => &name[at + 1..],
        None => name,
    }
}
