//! Rules that match nothing: most often a slip of whoever typed them, so they are said.

use regex::Regex;
use weighbridge::Model;
use weighbridge::internals::text::escaped;

/// The names that rules are held against, and what is said of those that match none.
pub(crate) struct Unmatched<'n> {
    names: Vec<&'n str>,
    notes: Vec<String>,
}

impl<'n> Unmatched<'n> {
    pub(crate) fn new(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { names: names.into_iter().collect(), notes: Vec::new() }
    }

    /// The names of the models' stored tensors, for a command that copies these.
    pub(crate) fn of_stored(models: &'n [Model]) -> Self {
        let sources = models.iter().flat_map(Model::sources);
        let tensors = sources.flat_map(|source| &source.catalog().tensors);
        Self::new(tensors.map(|tensor| &*tensor.name))
    }

    /// From now on only these names count.
    pub(crate) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.names.retain(|name| wanted(name));
    }

    /// Rules that look at names.
    pub(crate) fn check<'r>(&mut self, flag: &str, rules: impl IntoIterator<Item = &'r Regex>) {
        for rule in rules {
            if !self.names.iter().any(|name| rule.is_match(name)) {
                self.miss(flag, rule);
            }
        }
    }

    /// Rules that change names one after the other.
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

    /// Something else that has no effect.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn miss(&mut self, flag: &str, rule: &Regex) {
        let (rule, count) = (escaped(rule.as_str()), self.names.len());
        let names = if count == 1 { "name" } else { "names" };
        self.notes.push(format!("{flag} '{rule}' matches none of {count} {names}"));
    }

    /// What is to be said.
    pub(crate) fn notes(self) -> Vec<String> {
        self.notes
    }
}
