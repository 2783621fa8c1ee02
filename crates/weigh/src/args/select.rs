//! Which weights are meant, and what they are called.

use clap::Args as ClapArgs;
use regex::Regex;

#[derive(ClapArgs)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Select {
    /// Take only weights whose name matches; may be repeated, one match is enough
    #[arg(long, value_name = "RE")]
    pub(crate) include: Vec<Regex>,

    /// Leave out weights whose name matches; wins over --include
    #[arg(long, value_name = "RE")]
    pub(crate) exclude: Vec<Regex>,
}

impl Select {
    /// The choice as the library takes it.
    pub(crate) fn predicate(&self) -> Option<weighbridge::ops::Select> {
        if self.include.is_empty() && self.exclude.is_empty() {
            return None;
        }
        let (include, exclude) = (self.include.clone(), self.exclude.clone());
        Some(std::sync::Arc::new(move |name: &str| {
            let wanted = include.is_empty() || include.iter().any(|re| re.is_match(name));
            wanted && !exclude.iter().any(|re| re.is_match(name))
        }))
    }
}

/// `RE=name`, split at the first `=` that is none of the expression's own (`(?=`, `(?<=`): those
/// are not known here, so at the first.
pub(crate) fn parse_rename(text: &str) -> Result<(Regex, String), String> {
    let (expression, to) = text.split_once('=').ok_or("there is no '='")?;
    Ok((Regex::new(expression).map_err(|e| e.to_string())?, to.to_owned()))
}
