//! Selecting weights by name, and renaming them.

use clap::Args as ClapArgs;
use regex::Regex;

#[derive(ClapArgs)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Select {
    /// Take only weights whose name matches; may be repeated, one match is enough
    #[arg(long, value_name = "RE")]
    include: Vec<Regex>,

    /// Leave out weights whose name matches; wins over --include
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
}

/// `RE=name`, split at the first `=`: regular expressions here have no lookaround (`(?=`).
pub(crate) fn parse_rename(text: &str) -> Result<(Regex, String), String> {
    let (expression, to) = text.split_once('=').ok_or("there is no '='")?;
    Ok((Regex::new(expression).map_err(|e| e.to_string())?, to.to_owned()))
}
