//! Budget for matching the names of a model against the patterns of its config.
//!
//! A config lists names and patterns, and every weight may have to be compared with each: 100,000
//! weights and 10,000 patterns make a billion comparisons. Each is counted. Once the budget is
//! spent, nothing is compared any more, and the model is rejected.

use std::cell::Cell;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Steps per model. Comparing a short name with a pattern is one step, about 50 ns.
const STEPS: u64 = 50_000_000;
/// Steps for compiling a pattern, and for each of its bytes.
const COMPILE: u64 = 10_000;
const COMPILE_BYTE: u64 = 50;
/// Memory limit for one compiled pattern.
const PATTERN: usize = 512 << 10;

/// The remaining steps, shared by all schemes of a model.
#[derive(Clone, Debug)]
pub struct MatchBudget(Rc<Cell<u64>>);

impl Default for MatchBudget {
    fn default() -> Self {
        Self(Rc::new(Cell::new(STEPS)))
    }
}

impl MatchBudget {
    /// Counts the comparison of a name with `patterns` patterns. Returns `false` once the budget is
    /// spent: the model will be rejected, so any result will do.
    #[must_use]
    pub fn compare(&self, name: &str, patterns: usize) -> bool {
        self.spend((patterns as u64).saturating_mul(1 + name.len() as u64 / 64))
    }

    /// Compiles a pattern; `None` if it is not supported, since Python has more syntax.
    #[must_use]
    pub fn pattern(&self, text: &str) -> Option<Regex> {
        let steps = COMPILE.saturating_add((text.len() as u64).saturating_mul(COMPILE_BYTE));
        if !self.spend(steps) {
            return None;
        }
        RegexBuilder::new(text).size_limit(PATTERN).dfa_size_limit(PATTERN).build().ok()
    }

    /// Compiles a pattern that matches from the start of a name, as Python's `re.match` does.
    #[must_use]
    pub fn pattern_at_start(&self, text: &str) -> Option<Regex> {
        self.pattern(&format!("^(?:{text})"))
    }

    fn spend(&self, steps: u64) -> bool {
        let left = self.0.get().saturating_sub(steps);
        self.0.set(left);
        left > 0
    }

    /// Returns an error if the budget was exceeded.
    pub fn check(&self) -> Result<()> {
        if self.0.get() > 0 {
            return Ok(());
        }
        let error = Error::limit(
            "the config lists too many module names and patterns to compare with all weights",
        );
        Err(error.hint(
            "open the weights without this config, or shorten its lists (ignore, targets, \
             modules_to_not_convert, dynamic, extra_config)",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn all_who_share_it_spend_the_same() {
        let budget = MatchBudget::default();
        let shared = budget.clone();
        assert!(shared.compare("a", 1000) && budget.check().is_ok());
        assert!(!shared.compare("a", usize::MAX));
        assert_eq!(budget.check().unwrap_err().kind(), ErrorKind::Limit);
        assert!(!budget.compare("a", 1) && budget.pattern("a").is_none());
    }

    #[test]
    fn patterns_are_counted_and_bounded() {
        let budget = MatchBudget::default();
        assert!(budget.pattern_at_start("a|b").unwrap().is_match("bc"));
        assert!(!budget.pattern_at_start("a|b").unwrap().is_match("cb"));
        assert!(budget.pattern(r"\w{1000}").is_none(), "too large");
        assert!(budget.pattern("(?!x)").is_none(), "Python's own");
        assert!(budget.check().is_ok());
        let read = (0..100_000).filter(|_| budget.pattern("a").is_some()).count();
        assert!((1000..10_000).contains(&read), "{read}");
        assert!(budget.check().is_err());
    }
}
