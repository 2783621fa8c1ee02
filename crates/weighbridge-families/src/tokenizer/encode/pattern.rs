//! Patterns that cut texts. Those of tokenizers look ahead in one place only: spaces before a word
//! leave the last of them to the word. That is done here by hand, so that a pattern of a file is run
//! by an engine whose time is bounded, and none that backtracks is needed.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

const LOOKS_AHEAD: &str = r"|\s+(?!\S)|\s+";
const SPACES: &str = r"|(?<spaces>\s+)";

pub(super) struct Pattern(Regex);

impl Pattern {
    /// None for a pattern that looks ahead elsewhere, or has other things that are not known.
    pub fn new(pattern: &str) -> Option<Self> {
        let plain = match pattern.strip_suffix(LOOKS_AHEAD) {
            Some(front) => format!("{front}{SPACES}"),
            None => pattern.to_owned(),
        };
        // Everybody's `$` is the end of a line.
        RegexBuilder::new(&plain).multi_line(true).size_limit(4 << 20).build().ok().map(Self)
    }

    /// Where it matches.
    pub fn matches(&self, text: &str) -> Vec<Range<usize>> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(groups) = self.0.captures_at(text, at) {
            let Some(all) = groups.get(0).filter(|all| !all.is_empty()) else { break };
            let mut end = all.end();
            let spaces = groups.name("spaces").map(|spaces| spaces.as_str());
            if let Some(last) = spaces.and_then(|spaces| spaces.chars().next_back())
                && end < text.len()
                && all.len() > last.len_utf8()
            {
                end -= last.len_utf8();
            }
            found.push(all.start()..end);
            at = end;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_space_belongs_to_the_word() {
        let pattern = Pattern::new(r" ?\w+|\s*[\r\n]+|\s+(?!\S)|\s+").unwrap();
        let text = "a  b\n   c \t ";
        let found: Vec<&str> = pattern.matches(text).into_iter().map(|m| &text[m]).collect();
        assert_eq!(found, ["a", " ", " b", "\n", "  ", " c", " \t "]);
        let one = Pattern::new(r"x|\s+(?!\S)|\s+").unwrap();
        assert_eq!(one.matches(" x"), [0..1, 1..2]);
    }

    #[test]
    fn what_looks_ahead_elsewhere_is_not_known() {
        assert!(Pattern::new(r"\d{1,3}(?=(?:\d{3})*\b)").is_none());
        assert!(Pattern::new(r"a(?!b)|\s+(?!\S)|\s+").is_none());
    }
}
