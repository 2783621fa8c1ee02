//! The arguments for hashing models.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use weighbridge::ops::HashOptions;

use crate::args::{Json, Open, Select, Work};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh hash --values original/ converted/")]
pub(crate) struct Hash {
    /// A file, a directory, a name in a local store; `-` is stdin
    ///
    /// An index of shards stands for all of them, and so does any part of a split file.
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,

    /// Hash the numbers as f32, so that the format and the way they are stored do not matter
    #[arg(long)]
    values: bool,

    /// List the hash of every weight
    #[arg(short, long)]
    tensors: bool,

    /// Leave out weights that cannot be read, and list them
    #[arg(long)]
    skip_unreadable: bool,

    #[command(flatten)]
    work: Work,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Say nothing but hashes and errors: no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) select: Select,

    #[command(flatten)]
    pub(crate) open: Open,
}

impl Hash {
    /// The options as the library takes them.
    pub(super) fn options(&self) -> HashOptions {
        HashOptions::default()
            .values(self.values)
            .tensors(self.tensors)
            .skip_unreadable(self.skip_unreadable)
            .select(self.select.options())
            .work(&self.work.options())
    }
}
