//! The user's answers where a file cannot tell: which scheme and variant a weight is.
//!
//! An answer is never a way to force a reading on tensors that say otherwise: a scheme asks for
//! it where the evidence leaves several readings open, and an answer that nobody asked for is a
//! finding.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{Entry, Ledger, SCHEMES};
use crate::catalog::Finding;
use crate::error::{Error, Remedy, Result};
use crate::text::escaped;

/// A rule: the weights it speaks of, and what they are.
#[derive(Clone)]
pub struct Answer {
    matches: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    says: Box<str>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answer").field(&self.says).finish()
    }
}

impl Answer {
    /// `says` is `scheme/variant`, checked by [`check`](Self::check).
    pub(crate) fn new(matches: Arc<dyn Fn(&str) -> bool + Send + Sync>, says: Box<str>) -> Self {
        Self { matches, says }
    }

    /// An error if it names no scheme of [`SCHEMES`], or no variant.
    pub(crate) fn check(&self) -> Result<()> {
        let known = |scheme: &str| SCHEMES.iter().any(|known| known.name() == scheme);
        let message = match self.says.split_once('/') {
            None | Some((_, "")) => "is not of the form scheme/variant",
            Some((scheme, _)) if known(scheme) => return Ok(()),
            Some(_) => "names a scheme that this version does not have",
        };
        let names = SCHEMES.iter().map(|scheme| scheme.name()).collect::<Vec<_>>().join(", ");
        Err(Error::usage(format!("the answer '{}' {message}", escaped(&self.says)))
            .hint(format!("the schemes are {names}"))
            .remedy(Remedy::ListProblems))
    }

    fn scheme(&self) -> &str {
        self.says.split_once('/').map_or(&*self.says, |(scheme, _)| scheme)
    }
}

/// The answers to one model, and which were asked for.
#[derive(Default)]
pub(super) struct Answers<'a> {
    rules: &'a [Answer],
    asked: RefCell<BTreeSet<(usize, String)>>,
}

impl<'a> Answers<'a> {
    pub(super) fn new(rules: &'a [Answer]) -> Self {
        Self { rules, asked: RefCell::default() }
    }

    /// Whether nobody has said anything.
    pub(super) fn are_none(&self) -> bool {
        self.rules.is_empty()
    }

    /// What the first rule that matches says of a weight.
    pub(super) fn ask(&self, weight: &str) -> Option<&'a str> {
        let matching = self.rules.iter().enumerate().find(|(_, rule)| (rule.matches)(weight));
        let (index, rule) = matching?;
        self.asked.borrow_mut().insert((index, weight.to_owned()));
        Some(&rule.says)
    }

    /// A finding for each rule that decided nothing: no scheme asked for it, or what it named
    /// did not get the weight.
    pub(super) fn unused(&self, ledger: &Ledger) -> Vec<Finding> {
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

fn finding(rule: &Answer) -> Finding {
    let message = format!(
        "the answer '{}' decides nothing: no weight it matches is one that {} asks about; leave \
         it out, or match the weights that are reported as ambiguous",
        escaped(&rule.says),
        escaped(rule.scheme()),
    );
    Finding::general("unused-answer", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::Bid;

    fn answer(part: &'static str, says: &str) -> Answer {
        Answer::new(Arc::new(move |name: &str| name.contains(part)), says.into())
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
        Ledger { weights: vec![Entry::Scheme(scheme, bid)], ..Ledger::default() }
    }

    #[test]
    fn the_first_rule_that_matches_answers() {
        let rules = [answer("up", "gptq/v1"), answer("", "gptq/v2")];
        let answers = Answers::new(&rules);
        assert_eq!(answers.ask("a.up"), Some("gptq/v1"));
        assert_eq!(answers.ask("a.down"), Some("gptq/v2"));
        assert_eq!(Answers::default().ask("a.up"), None);
    }

    #[test]
    fn what_decides_nothing_is_found() {
        let rules = [answer("up", "gptq/v1")];
        let unused = |asked: &str, weight: &str, scheme| {
            let answers = Answers::new(&rules);
            answers.ask(asked);
            answers.unused(&ledger(weight, scheme)).len()
        };
        assert_eq!(unused("a.up", "a.up", "gptq"), 0);
        assert_eq!(unused("a.up", "a.up", "ggml"), 1, "another scheme has it");
        assert_eq!(unused("a.up", "b.up", "gptq"), 1, "nobody has it");
        assert_eq!(unused("a.down", "a.down", "gptq"), 1, "it does not match");
    }

    #[test]
    fn an_answer_names_a_scheme_and_a_variant() {
        assert!(answer("", "gptq/v2").check().is_ok());
        for wrong in ["gptq", "gptq/", "nonsense/v1", "", "/"] {
            assert!(answer("", wrong).check().is_err(), "{wrong}");
        }
    }
}
