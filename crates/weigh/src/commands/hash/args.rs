//! The arguments of `hash`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use weighbridge::ops::HashOptions;

use crate::args::{Json, MODEL, Open, Select, Work, model_help};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh hash --values original/ converted/")]
pub(crate) struct Hash {
    #[arg(required = true, value_name = "MODEL", help = MODEL, long_help = model_help())]
    pub(crate) models: Vec<PathBuf>,

    /// Hash the decoded values, independent of format
    ///
    /// Values are hashed as f32, so format and storage do not matter.
    #[arg(long)]
    values: bool,

    /// List the hash of every weight
    #[arg(short, long)]
    tensors: bool,

    /// Skip unreadable weights and list them
    #[arg(long)]
    skip_unreadable: bool,

    #[command(flatten)]
    work: Work,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Print only hashes and errors, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) select: Select,

    #[command(flatten)]
    pub(crate) open: Open,
}

impl Hash {
    /// Converts to library options.
    pub(super) fn options(&self) -> HashOptions {
        HashOptions::default()
            .values(self.values)
            .tensors(self.tensors)
            .skip_unreadable(self.skip_unreadable)
            .select(self.select.options())
            .work(&self.work.options())
    }
}
