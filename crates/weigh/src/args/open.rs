//! How models are opened.

use clap::Args as ClapArgs;
use regex::Regex;
use weighbridge::internals::text::escaped;
use weighbridge::{FileAccess, Model, OpenOptions, Source};

use super::Unmatched;
use super::limits::LimitArgs;
use super::remote::RemoteArgs;

#[derive(ClapArgs)]
#[command(next_help_heading = "Opening")]
pub(crate) struct Open {
    /// Take one branch of a nested checkpoint
    #[arg(long, value_name = "KEY")]
    root: Option<String>,

    /// Refuse a pickle that names anything outside the known set
    #[arg(long)]
    strict_pickle: bool,

    /// The scheme of the weights whose names match, if the file leaves it open; may be repeated,
    /// the first match counts
    #[arg(long, value_name = "RE=SCHEME/VARIANT", value_parser = parse_scheme)]
    scheme: Vec<(Regex, String)>,

    /// Map files into memory; a file that another program shortens meanwhile ends the process
    #[arg(long, overrides_with = "no_mmap")]
    mmap: bool,

    /// Read files by position, which is the default
    #[arg(long, overrides_with = "mmap")]
    no_mmap: bool,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

impl Open {
    /// The options as the library takes them. Files are read by position: one that is cut short
    /// meanwhile is an error then, and not a signal.
    pub(crate) fn options(&self) -> OpenOptions {
        let access = if self.mmap { FileAccess::Map } else { FileAccess::Read };
        let mut options = OpenOptions::new()
            .access(access)
            .limits(self.limits.limits())
            .remote(self.remote.settings())
            .strict_pickle(self.strict_pickle);
        for (matches, scheme) in self.scheme.clone() {
            options = options.scheme(move |name| matches.is_match(name), &scheme);
        }
        match &self.root {
            Some(key) => options.root(key),
            None => options,
        }
    }
}

impl Open {
    /// Checks that a branch was asked of files that have some.
    pub(crate) fn check(&self, models: &[&Model], unmatched: &mut Unmatched<'_>) {
        let (Some(root), Some(first)) = (&self.root, models.first()) else { return };
        let mut sources = models.iter().flat_map(|model| model.sources());
        if !sources.any(Source::has_branches) {
            let (root, format) = (escaped(root), first.format());
            unmatched
                .note(format!("--root '{root}' has no effect: a {format} file has no branches"));
        }
    }
}

/// `RE=scheme/variant`, split at the last `=`: an expression may hold one.
fn parse_scheme(text: &str) -> Result<(Regex, String), String> {
    let (expression, scheme) = text.rsplit_once('=').ok_or("there is no '='")?;
    let matches = Regex::new(expression).map_err(|e| e.to_string())?;
    Ok((matches, scheme.to_owned()))
}
