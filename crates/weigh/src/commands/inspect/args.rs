//! The arguments of `inspect`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use crate::args::{Json, MODEL, Open, Select, model_help};

/// Options that conflict with `--key`.
const ALONE: [&str; 11] = [
    "tensors",
    "sort",
    "tree",
    "metadata",
    "full_metadata",
    "json",
    "json_lines",
    "quiet",
    "recursive",
    "sarif",
    "verbose",
];

/// Options that conflict with `--sarif`, which has problems and no lists.
const LISTS: [&str; 7] =
    ["tensors", "sort", "tree", "metadata", "full_metadata", "json", "json_lines"];

/// The sort order of the list of weights.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Sort {
    /// Largest stored size first
    Bytes,
    /// By name, with numbers sorted by value
    Name,
    /// Most parameters first
    Parameters,
    /// Most bits per parameter first
    Bits,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh inspect model/ --tensors --include attn")]
pub(crate) struct Inspect {
    #[arg(required = true, value_name = "MODEL", help = MODEL, long_help = model_help())]
    pub(crate) models: Vec<PathBuf>,

    /// Scan directories for models and dangerous files
    ///
    /// Inspects every model and weight file below each directory, by content. Continues after files
    /// that it cannot read, and ends with a summary. The exit code is 1 if anything has a problem,
    /// else 2 if something could not be read. Links to directories and `.git` are skipped.
    #[arg(short, long)]
    pub(crate) recursive: bool,

    /// List every weight
    #[arg(short, long)]
    pub(crate) tensors: bool,

    /// List every weight by bytes, name, parameters or bits
    ///
    /// The largest comes first; `bits` means bits per parameter. `name` sorts numbers by value. By
    /// default, weights are in file order.
    #[arg(long, value_enum, value_name = "BY", hide_possible_values = true)]
    pub(crate) sort: Option<Sort>,

    /// Show a module tree with totals, folding equal layers
    #[arg(long)]
    pub(crate) tree: bool,

    /// Show the metadata, with long values shortened
    #[arg(short, long)]
    pub(crate) metadata: bool,

    /// Show the metadata in full, including long arrays
    #[arg(long, hide_short_help = true)]
    pub(crate) full_metadata: bool,

    /// Print one metadata value, such as general.name
    ///
    /// Prints text without quotes and arrays as JSON. Keys of JSON files next to the model start
    /// with the file's name: `config.hidden_size`. The exit code is 1 if the key does not exist.
    #[arg(long, value_name = "KEY", conflicts_with_all = ALONE)]
    pub(crate) key: Option<String>,

    #[command(flatten)]
    pub(crate) select: Select,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Print the problems as SARIF 2.1.0, for code scanning
    ///
    /// Prints one SARIF run with a rule for each kind of problem. Paths are relative to the working
    /// directory. Files that cannot be read are notifications. Exit codes are the same.
    #[arg(long, help_heading = "Report", conflicts_with_all = LISTS)]
    pub(crate) sarif: bool,

    /// Show only problems
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Show every file, problem and dropped tensor
    #[arg(short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) open: Open,
}

impl Inspect {
    /// Whether the report is text.
    pub(super) fn is_text(&self) -> bool {
        self.json.layout().is_none() && !self.sarif
    }

    /// Whether every weight is listed.
    pub(super) fn lists_weights(&self) -> bool {
        self.tensors || self.sort.is_some()
    }
}
