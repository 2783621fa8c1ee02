//! Options that select and rename weights.

use clap::Args as ClapArgs;
use regex::Regex;

use super::Unmatched;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Select {
    /// Keep only weights matching RE
    ///
    /// RE matches anywhere in the name unless anchored. Can be repeated; one match is enough.
    #[arg(long, value_name = "RE")]
    include: Vec<Regex>,

    /// Exclude weights matching RE
    ///
    /// Can be repeated. Takes precedence over --include.
    #[arg(long, value_name = "RE")]
    exclude: Vec<Regex>,
}

impl Select {
    /// Converts to the library's selection.
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

    /// Notes rules that match nothing, then reduces the names to the selected ones.
    pub(crate) fn check(&self, unmatched: &mut Unmatched<'_>) {
        unmatched.check("--include", &self.include);
        unmatched.check("--exclude", &self.exclude);
        let select = self.options();
        unmatched.retain(|name| select.wants(name));
    }
}

/// Parses `RE=name`. It is split at the first `=`, because these expressions have no lookaround (`(?=`).
pub(crate) fn parse_rename(text: &str) -> Result<(Regex, String), String> {
    let (expression, to) = text.split_once('=').ok_or("expected RE=TO")?;
    Ok((Regex::new(expression).map_err(|e| e.to_string())?, to.to_owned()))
}
