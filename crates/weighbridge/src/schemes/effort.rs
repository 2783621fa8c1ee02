//! What comparing the names of a model with the patterns of its config may cost.
//!
//! A config lists names and patterns, and every weight may have to be compared with each: a hundred
//! thousand of one and ten thousand of the other are a thousand million comparisons. Each is
//! counted. When too many were made, nothing is compared any more, and the model is not opened.

use std::cell::Cell;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Steps for one model: a comparison of a short name with a pattern is one, some 50 ns.
const STEPS: u64 = 50_000_000;
/// What reading a pattern counts, and each byte of it.
const READ: u64 = 10_000;
const READ_BYTE: u64 = 50;
/// The most memory for one pattern that was read.
const PATTERN: usize = 512 << 10;

/// What is left; shared by all who compare for the same model.
#[derive(Clone, Debug)]
pub(crate) struct Effort(Rc<Cell<u64>>);

impl Default for Effort {
    fn default() -> Self {
        Self(Rc::new(Cell::new(STEPS)))
    }
}

impl Effort {
    /// Counts the comparison of a name with so many patterns. `false` if that is too much: the
    /// model will be refused, so any result will do.
    #[must_use]
    pub(crate) fn compare(&self, name: &str, patterns: usize) -> bool {
        self.spend((patterns as u64).saturating_mul(1 + name.len() as u64 / 64))
    }

    /// A pattern; `None` if it cannot be read here, since Python knows more kinds.
    #[must_use]
    pub(crate) fn pattern(&self, text: &str) -> Option<Regex> {
        let steps = READ.saturating_add((text.len() as u64).saturating_mul(READ_BYTE));
        if !self.spend(steps) {
            return None;
        }
        RegexBuilder::new(text).size_limit(PATTERN).dfa_size_limit(PATTERN).build().ok()
    }

    /// One that fits names from their start on, as Python's `match` has it.
    #[must_use]
    pub(crate) fn pattern_at_start(&self, text: &str) -> Option<Regex> {
        self.pattern(&format!("^(?:{text})"))
    }

    fn spend(&self, steps: u64) -> bool {
        let left = self.0.get().saturating_sub(steps);
        self.0.set(left);
        left > 0
    }

    /// Whether all comparisons were made.
    pub(crate) fn check(&self) -> Result<()> {
        if self.0.get() > 0 {
            return Ok(());
        }
        let error = Error::limit(
            "the config lists so many names and patterns of modules that comparing all weights \
             with them would take too long",
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
    use crate::ErrorKind;

    #[test]
    fn all_who_share_it_spend_the_same() {
        let effort = Effort::default();
        let shared = effort.clone();
        assert!(shared.compare("a", 1000) && effort.check().is_ok());
        assert!(!shared.compare("a", usize::MAX));
        assert_eq!(effort.check().unwrap_err().kind(), ErrorKind::Limit);
        assert!(!effort.compare("a", 1) && effort.pattern("a").is_none());
    }

    #[test]
    fn patterns_are_counted_and_bounded() {
        let effort = Effort::default();
        assert!(effort.pattern_at_start("a|b").unwrap().is_match("bc"));
        assert!(!effort.pattern_at_start("a|b").unwrap().is_match("cb"));
        assert!(effort.pattern(r"\w{1000}").is_none(), "too large");
        assert!(effort.pattern("(?!x)").is_none(), "Python's own");
        assert!(effort.check().is_ok());
        let read = (0..100_000).filter(|_| effort.pattern("a").is_some()).count();
        assert!((1000..10_000).contains(&read), "{read}");
        assert!(effort.check().is_err());
    }
}
