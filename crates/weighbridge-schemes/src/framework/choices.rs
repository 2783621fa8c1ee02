//! The user's choice of scheme and variant, for weights that could be stored in several ways.
//!
//! A choice never forces a reading on tensors that say otherwise: a scheme looks at it only where
//! several readings are possible. A choice that no scheme looked at is a finding.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::catalog::Finding;
use crate::error::{Error, Remedy, Result};
use crate::framework::{Entry, Ledger, Registry, Scheme};
use crate::text::{did_you_mean, escaped};

/// Which weights the user means, and what they are.
#[derive(Clone)]
pub struct SchemeChoice {
    matches: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// `scheme/variant`
    says: Box<str>,
}

impl fmt::Debug for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SchemeChoice").field(&self.says).finish()
    }
}

impl SchemeChoice {
    /// `says` is `scheme/variant`, checked by [`check`](Self::check).
    pub fn new(matches: Arc<dyn Fn(&str) -> bool + Send + Sync>, says: Box<str>) -> Self {
        Self { matches, says }
    }

    /// An error if it names none of these schemes, or no variant.
    pub fn check(&self, schemes: Registry<'_>) -> Result<()> {
        let message = match self.says.split_once('/') {
            None | Some((_, "")) => "is not of the form SCHEME/VARIANT",
            Some((scheme, _)) if schemes.scheme(scheme).is_some() => return Ok(()),
            Some(_) => "names a scheme that this version does not have",
        };
        let names = || schemes.iter().map(Scheme::name);
        let all = || format!("the schemes are {}", names().collect::<Vec<_>>().join(", "));
        Err(Error::usage(format!("'{}' {message}", escaped(&self.says)))
            .hint(did_you_mean(self.scheme(), names()).unwrap_or_else(all))
            .remedy(Remedy::ListProblems))
    }

    fn scheme(&self) -> &str {
        self.says.split_once('/').map_or(&*self.says, |(scheme, _)| scheme)
    }
}

/// All choices for one model, and which of them a scheme looked at.
#[derive(Default)]
pub(crate) struct Choices<'a> {
    rules: &'a [SchemeChoice],
    asked: RefCell<BTreeSet<(usize, String)>>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(rules: &'a [SchemeChoice]) -> Self {
        Self { rules, asked: RefCell::default() }
    }

    /// Whether the user made no choices.
    pub(crate) fn are_none(&self) -> bool {
        self.rules.is_empty()
    }

    /// What the first choice that matches says about a weight.
    pub(crate) fn ask(&self, weight: &str) -> Option<&'a str> {
        let matching = self.rules.iter().enumerate().find(|(_, rule)| (rule.matches)(weight));
        let (index, rule) = matching?;
        self.asked.borrow_mut().insert((index, weight.to_owned()));
        Some(&rule.says)
    }

    /// A finding for each choice that decided nothing: no scheme looked at it, or the scheme it
    /// names did not get the weight.
    pub(crate) fn unused(&self, ledger: &Ledger) -> Vec<Finding> {
        let mut used = vec![false; self.rules.len()];
        let asked = self.asked.borrow();
        if !asked.is_empty() {
            let mut decided = BTreeSet::new();
            decided.extend(ledger.weights.iter().filter_map(|entry| match entry {
                Entry::Scheme(scheme, bid) => Some((&*bid.name, *scheme)),
                Entry::Plain(_) => None,
            }));
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
        "'{}' has no effect: the weights it was given for are not ambiguous for {}; leave it out, or \
         give it for weights that are reported as ambiguous",
        escaped(&rule.says),
        escaped(rule.scheme()),
    );
    Finding::general("unused-answer", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Bid;
    use crate::framework::testing::SCHEMES;

    fn choice(part: &'static str, says: &str) -> SchemeChoice {
        SchemeChoice::new(Arc::new(move |name: &str| name.contains(part)), says.into())
    }

    fn ledger(weight: &str, scheme: &'static str) -> Ledger {
        let bid = Bid {
            name: weight.into(),
            shape: [2].into_iter().collect(),
            variant: "".into(),
            native: None,
            parts: Vec::new(),
            recipe: Err("none".into()),
        };
        Ledger { weights: vec![Entry::Scheme(scheme, Box::new(bid))], ..Ledger::default() }
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
            choices.unused(&ledger(weight, scheme)).len()
        };
        assert_eq!(unused("a.up", "a.up", "gptq"), 0);
        assert_eq!(unused("a.up", "a.up", "ggml"), 1, "another scheme has it");
        assert_eq!(unused("a.up", "b.up", "gptq"), 1, "nobody has it");
        assert_eq!(unused("a.down", "a.down", "gptq"), 1, "it does not match");
    }

    #[test]
    fn a_choice_names_a_scheme_and_a_variant() {
        assert!(choice("", "gptq/v2").check(SCHEMES).is_ok());
        for wrong in ["gptq", "gptq/", "nonsense/v1", "", "/"] {
            assert!(choice("", wrong).check(SCHEMES).is_err(), "{wrong}");
        }
    }
}
