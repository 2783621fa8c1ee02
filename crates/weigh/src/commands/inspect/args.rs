//! The arguments for inspecting models.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::{EXIT_CODES, Open, Select};

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
