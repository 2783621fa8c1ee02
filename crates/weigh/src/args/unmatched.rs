//! Notes on rules that match nothing, which are usually typing mistakes.

use regex::Regex;
use weighbridge::Model;
use weighbridge::internals::text::escaped;

/// The names that rules are matched against, and notes on rules without a match.
pub(crate) struct Unmatched<'n> {
    names: Vec<&'n str>,
    notes: Vec<String>,
}

impl<'n> Unmatched<'n> {
    pub(crate) fn new(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { names: names.into_iter().collect(), notes: Vec::new() }
    }

    /// Takes the names of stored tensors, for a command that copies them.
    pub(crate) fn of_stored(models: &'n [Model]) -> Self {
        let sources = models.iter().flat_map(Model::sources);
        let tensors = sources.flat_map(|source| &source.catalog().tensors);
        Self::new(tensors.map(|tensor| &*tensor.name))
    }

    /// Reduces the names to those that are wanted.
    pub(crate) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.names.retain(|name| wanted(name));
    }

    /// Checks rules that select by name.
    pub(crate) fn check<'r>(&mut self, flag: &str, rules: impl IntoIterator<Item = &'r Regex>) {
        for rule in rules {
            if !self.names.iter().any(|name| rule.is_match(name)) {
                self.miss(flag, rule);
            }
        }
    }

    /// Checks rename rules, applying each to the result of the previous one.
    pub(crate) fn check_renames(&mut self, flag: &str, rules: &[(Regex, String)]) {
        if rules.is_empty() {
            return;
        }
        let mut names: Vec<String> = self.names.iter().map(|&name| name.to_owned()).collect();
        for (rule, to) in rules {
            let mut is_used = false;
            for name in names.iter_mut().filter(|name| rule.is_match(name)) {
                *name = rule.replace_all(name, &**to).into_owned();
                is_used = true;
            }
            if !is_used {
                self.miss(flag, rule);
            }
        }
    }

    /// Adds a note on another option without effect.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn miss(&mut self, flag: &str, rule: &Regex) {
        let (rule, count) = (escaped(rule.as_str()), self.names.len());
        let names = if count == 1 { "name" } else { "names" };
        self.notes.push(format!("{flag} '{rule}' matches none of {count} {names}"));
    }

    /// Returns the notes.
    pub(crate) fn notes(self) -> Vec<String> {
        self.notes
    }
}
