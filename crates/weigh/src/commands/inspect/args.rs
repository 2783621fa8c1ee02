//! The arguments for inspecting models.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use crate::args::{Json, Open, Select};

/// What does not go with a single value.
const ALONE: [&str; 9] = [
    "tensors",
    "sort",
    "tree",
    "metadata",
    "full_metadata",
    "json",
    "json_lines",
    "quiet",
    "verbose",
];

/// Orders of the list of weights.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Sort {
    /// The largest stored size first
    Bytes,
    /// By name, numbers in it by their value
    Name,
    /// The most parameters first
    Parameters,
    /// The most bits per parameter first
    Bits,
}

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh inspect model/ --tensors --include attn")]
pub(crate) struct Inspect {
    /// A file, a directory, a name in a local store; `-` is stdin
    ///
    /// An index of shards stands for all of them, and so does any part of a split file.
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,

    /// List every weight
    #[arg(short, long)]
    pub(crate) tensors: bool,

    /// List every weight by bytes, name, parameters or bits
    ///
    /// The largest comes first; bits are those per parameter. In names, numbers count by their value. Without
    /// this, weights are in the order of the files.
    #[arg(long, value_enum, value_name = "BY", hide_possible_values = true)]
    pub(crate) sort: Option<Sort>,

    /// Show modules with sums, layers that are alike once
    #[arg(long)]
    pub(crate) tree: bool,

    /// Show the files' metadata, long values shortened
    #[arg(short, long)]
    pub(crate) metadata: bool,

    /// Show the files' metadata in full, long arrays included
    #[arg(long, hide_short_help = true)]
    pub(crate) full_metadata: bool,

    /// Print one metadata value, such as general.name
    ///
    /// Nothing else is printed. Text is printed without quotes, arrays as JSON. Keys of documents beside the files begin with the
    /// document's name: `config.hidden_size`. The exit code is 1 if there is no such key.
    #[arg(long, value_name = "KEY", conflicts_with_all = ALONE)]
    pub(crate) key: Option<String>,

    #[command(flatten)]
    pub(crate) select: Select,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Show only what is wrong
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Show every file, problem and dropped tensor
    #[arg(short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) open: Open,
}

impl Inspect {
    /// Whether every weight is listed.
    pub(super) fn lists_weights(&self) -> bool {
        self.tensors || self.sort.is_some()
    }
}
