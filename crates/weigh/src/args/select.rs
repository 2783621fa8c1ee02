//! Selecting weights by name, and renaming them.

use clap::Args as ClapArgs;
use regex::Regex;

use super::Unmatched;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Select {
    /// Take only weights whose name matches
    ///
    /// Anywhere in the name, unless the expression is anchored. May be repeated; one match is enough.
    #[arg(long, value_name = "RE")]
    include: Vec<Regex>,

    /// Leave out weights whose name matches
    ///
    /// May be repeated, and wins over --include.
    #[arg(long, value_name = "RE")]
    exclude: Vec<Regex>,
}

impl Select {
    /// The choice as the library takes it.
    pub(crate) fn options(&self) -> weighbridge::Select {
        let mut select = weighbridge::Select::new();
        for matches in self.include.clone() {
            select = select.include(move |name| matches.is_match(name));
        }
        for matches in self.exclude.clone() {
            select = select.exclude(move |name| matches.is_match(name));
        }
        select
    }

    /// Checks that each rule matches something; from then on only what is selected counts.
    pub(crate) fn check(&self, unmatched: &mut Unmatched<'_>) {
        unmatched.check("--include", &self.include);
        unmatched.check("--exclude", &self.exclude);
        let select = self.options();
        unmatched.retain(|name| select.wants(name));
    }
}

/// `RE=name`, split at the first `=`: regular expressions here have no lookaround (`(?=`).
pub(crate) fn parse_rename(text: &str) -> Result<(Regex, String), String> {
    let (expression, to) = text.split_once('=').ok_or("there is no '='")?;
    Ok((Regex::new(expression).map_err(|e| e.to_string())?, to.to_owned()))
}
