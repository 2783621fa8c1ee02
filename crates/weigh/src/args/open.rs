//! Options for opening models.

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
    /// Open one branch of a nested checkpoint, such as `ema`
    #[arg(long, value_name = "KEY")]
    root: Option<String>,

    /// Reject pickles that name unknown classes or functions
    #[arg(long)]
    strict_pickle: bool,

    /// Set the scheme of ambiguous weights matching RE
    ///
    /// Can be repeated; the first match wins. The message about an ambiguous weight names the
    /// choices.
    #[arg(long, value_name = "RE=SCHEME/VARIANT", value_parser = parse_scheme)]
    scheme: Vec<(Regex, String)>,

    /// Map files into memory
    ///
    /// If another program shortens a mapped file, the system kills the process.
    #[arg(long, overrides_with = "no_mmap")]
    mmap: bool,

    /// Read files by position (the default)
    #[arg(long, overrides_with = "mmap")]
    no_mmap: bool,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

impl Open {
    /// Converts to library options. Files are read by position by default, because a file that
    /// shrinks during a run is then an error rather than a signal.
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
    /// Notes a `--root` for files that have no branches.
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

/// Parses `RE=scheme/variant`. It is split at the last `=`, because an expression may contain one.
fn parse_scheme(text: &str) -> Result<(Regex, String), String> {
    let (expression, scheme) = text.rsplit_once('=').ok_or("expected RE=SCHEME/VARIANT")?;
    let matches = Regex::new(expression).map_err(|e| e.to_string())?;
    Ok((matches, scheme.to_owned()))
}
