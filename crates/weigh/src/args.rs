//! What can be typed.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use regex::Regex;
use weighbridge::{FileAccess, Limits, OpenOptions};

use crate::size::parse_size;

mod convert;

pub(crate) use convert::{Convert, Verify};

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 something was found (`inspect`: the model has problems; `verify`: the output
differs), 2 an error, 130 stopped by Ctrl-C.";

/// Say exactly what is inside a model weight file, and turn it into plain numbers.
#[derive(Parser)]
#[command(name = "weigh", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// When to use colours; the variable NO_COLOR turns them off too
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Say what a model is and what it holds, from its headers alone
    Inspect(Box<Inspect>),
    /// Write a model's weights as plain numbers into a new file or directory
    Convert(Box<Convert>),
    /// Turn a quantized model into plain numbers, a directory with all its files
    Dequantize(Box<Convert>),
    /// Recompute every weight of a model, and compare an output with it bit for bit
    Verify(Box<Verify>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(ClapArgs)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Inspect {
    /// Files, directories, indexes of shards, parts of a split file, names in a local store;
    /// `-` is standard input
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,

    /// List every weight
    #[arg(short, long)]
    pub(crate) tensors: bool,

    /// Show the files' metadata, long values shortened
    #[arg(short, long)]
    pub(crate) metadata: bool,

    /// Show the files' metadata in full, long arrays included
    #[arg(long)]
    pub(crate) full_metadata: bool,

    /// Report as JSON, one object, or an array for several models
    #[arg(long)]
    pub(crate) json: bool,

    /// Show only what is wrong
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Show every file, problem and dropped tensor
    #[arg(short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) select: Select,

    #[command(flatten)]
    pub(crate) open: Open,
}

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

#[derive(ClapArgs)]
#[command(next_help_heading = "Opening")]
pub(crate) struct Open {
    /// Take one branch of a nested checkpoint
    #[arg(long, value_name = "KEY")]
    root: Option<String>,

    /// Refuse a pickle that names anything outside the known set
    #[arg(long)]
    strict_pickle: bool,

    /// What the matching weights are, where a file cannot tell; may be repeated, the first match
    /// counts
    #[arg(long, value_name = "RE=SCHEME/VARIANT", value_parser = parse_answer)]
    scheme: Vec<(Regex, String)>,

    /// Map files into memory, as `inspect` does
    #[arg(long, overrides_with = "no_mmap")]
    mmap: bool,

    /// Read files by position, as commands do that read whole files
    #[arg(long, overrides_with = "mmap")]
    no_mmap: bool,

    #[command(flatten)]
    limits: LimitArgs,
}

impl Open {
    /// The options as the library takes them; `usual` is how files are read unless a flag says
    /// otherwise.
    pub(crate) fn options(&self, usual: FileAccess) -> OpenOptions {
        let access = match (self.mmap, self.no_mmap) {
            (true, _) => FileAccess::Map,
            (_, true) => FileAccess::Read,
            _ => usual,
        };
        let mut options = OpenOptions::new()
            .access(access)
            .limits(self.limits.limits())
            .strict_pickle(self.strict_pickle);
        for (matches, says) in self.scheme.clone() {
            options = options.scheme(move |name| matches.is_match(name), &says);
        }
        match &self.root {
            Some(key) => options.root(key),
            None => options,
        }
    }
}

/// `RE=scheme/variant`, split at the last `=`: an expression may hold one.
fn parse_answer(text: &str) -> Result<(Regex, String), String> {
    let (expression, says) = text.rsplit_once('=').ok_or("there is no '='")?;
    let matches = Regex::new(expression).map_err(|e| e.to_string())?;
    Ok((matches, says.to_owned()))
}

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
#[command(next_help_heading = "Limits")]
#[allow(clippy::struct_field_names)] // They are named as their flags are.
struct LimitArgs {
    /// Largest single block of memory, like 64MiB or 5GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    max_allocation: Option<u64>,

    /// All memory for headers and metadata together [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, hide_short_help = true)]
    max_total: Option<u64>,

    /// Tensors, metadata entries, archive members and the like together [default: 10000000]
    #[arg(long, value_name = "COUNT", hide_short_help = true)]
    max_items: Option<u64>,

    /// How deep arrays, dictionaries and archives may nest [default: 64]
    #[arg(long, value_name = "COUNT", hide_short_help = true)]
    max_depth: Option<u32>,

    /// Decompressed bytes per compressed byte [default: 1100]
    #[arg(long, value_name = "RATIO", hide_short_help = true)]
    max_ratio: Option<u64>,

    /// Instructions of the pickle machine [default: 50000000]
    #[arg(long, value_name = "COUNT", hide_short_help = true)]
    max_pickle_steps: Option<u64>,
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        let usual = Limits::default();
        let Limits { max_allocation, max_total, max_items, max_depth, max_ratio, .. } = usual;
        let max_pickle_steps = usual.max_pickle_steps;
        usual
            .max_allocation(self.max_allocation.unwrap_or(max_allocation))
            .max_total(self.max_total.unwrap_or(max_total))
            .max_items(self.max_items.unwrap_or(max_items))
            .max_depth(self.max_depth.unwrap_or(max_depth))
            .max_ratio(self.max_ratio.unwrap_or(max_ratio))
            .max_pickle_steps(self.max_pickle_steps.unwrap_or(max_pickle_steps))
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Even into a file or a pipe
    Always,
    /// Not at all
    Never,
}

impl Color {
    /// Makes it the choice of everything that writes.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}
