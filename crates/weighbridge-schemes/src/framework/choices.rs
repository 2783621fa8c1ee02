//! The user's choice of scheme and variant for ambiguous weights.
//!
//! A choice never overrides the evidence: a scheme asks for it only if several readings are
//! possible. A choice that no scheme asked for is a finding.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::catalog::Finding;
use crate::text::escaped;

/// A set of weights and the scheme that the user states for them.
#[derive(Clone)]
pub struct SchemeChoice {
    matches: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// `scheme/variant`
    pub(crate) says: Box<str>,
}

impl fmt::Debug for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SchemeChoice").field(&self.says).finish()
    }
}

impl SchemeChoice {
    /// Creates a choice. `says` is `scheme/variant` and is checked by [`check`](Self::check).
    pub fn new(matches: Arc<dyn Fn(&str) -> bool + Send + Sync>, says: Box<str>) -> Self {
        Self { matches, says }
    }

    fn scheme(&self) -> &str {
        self.says.split_once('/').map_or(&*self.says, |(scheme, _)| scheme)
    }
}

/// All choices for one model, and which of them a scheme asked for.
#[derive(Default)]
pub(crate) struct Choices<'a> {
    rules: &'a [SchemeChoice],
    asked: RefCell<BTreeSet<(usize, String)>>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(rules: &'a [SchemeChoice]) -> Self {
        Self { rules, asked: RefCell::default() }
    }

    /// Whether there are no choices.
    pub(crate) fn are_none(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the first choice that matches a weight.
    pub(crate) fn ask(&self, weight: &str) -> Option<&'a str> {
        let matching = self.rules.iter().enumerate().find(|(_, rule)| (rule.matches)(weight));
        let (index, rule) = matching?;
        self.asked.borrow_mut().insert((index, weight.to_owned()));
        Some(&rule.says)
    }

    /// Returns a finding for each choice without effect: no scheme asked for it, or the scheme it
    /// names did not get the weight. `decided` lists the weights that schemes got, by name.
    pub(crate) fn unused<'d>(
        &self,
        decided: impl Iterator<Item = (&'d str, &'static str)>,
    ) -> Vec<Finding> {
        let mut used = vec![false; self.rules.len()];
        let asked = self.asked.borrow();
        if !asked.is_empty() {
            let decided: BTreeSet<(&str, &str)> = decided.collect();
            for (rule, weight) in &*asked {
                used[*rule] |= decided.contains(&(weight.as_str(), self.rules[*rule].scheme()));
            }
        }
        let unused = self.rules.iter().zip(used).filter(|(_, used)| !used);
        unused.map(|(rule, _)| finding(rule)).collect()
    }
}

fn finding(rule: &SchemeChoice) -> Finding {
    let message = format!(
        "'{}' has no effect: no matching weight is ambiguous in {}; remove it, or match weights \
         that are reported as ambiguous",
        escaped(&rule.says),
        escaped(rule.scheme()),
    );
    Finding::general("unused-answer", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(part: &'static str, says: &str) -> SchemeChoice {
        SchemeChoice::new(Arc::new(move |name: &str| name.contains(part)), says.into())
    }

    #[test]
    fn the_first_choice_that_matches_counts() {
        let rules = [choice("up", "gptq/v1"), choice("", "gptq/v2")];
        let choices = Choices::new(&rules);
        assert_eq!(choices.ask("a.up"), Some("gptq/v1"));
        assert_eq!(choices.ask("a.down"), Some("gptq/v2"));
        assert_eq!(Choices::default().ask("a.up"), None);
    }

    #[test]
    fn what_decides_nothing_is_found() {
        let rules = [choice("up", "gptq/v1")];
        let unused = |asked: &str, weight: &str, scheme| {
            let choices = Choices::new(&rules);
            choices.ask(asked);
            choices.unused([(weight, scheme)].into_iter()).len()
        };
        assert_eq!(unused("a.up", "a.up", "gptq"), 0);
        assert_eq!(unused("a.up", "a.up", "ggml"), 1, "another scheme has it");
        assert_eq!(unused("a.up", "b.up", "gptq"), 1, "nobody has it");
        assert_eq!(unused("a.down", "a.down", "gptq"), 1, "it does not match");
    }
}
