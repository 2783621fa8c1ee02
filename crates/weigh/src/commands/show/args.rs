//! The arguments for showing a weight.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use weighbridge::DType;
use weighbridge::ops::{ShowOptions, Slice};

use crate::args::{Json, Open};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh show model/ embed_tokens.weight --rows 0:4")]
pub(crate) struct Show {
    /// A file, a directory, a name in a local store; `-` is standard input
    ///
    /// An index of shards stands for all of them, and so does any part of a split file.
    #[arg(value_name = "MODEL")]
    pub(super) model: PathBuf,

    /// The name of a weight, or an end of its name that no other weight has
    #[arg(value_name = "NAME")]
    pub(super) name: String,

    /// Which entries of the first dimension, like 0:4, -4: or :8
    #[arg(long, value_name = "A:B", value_parser = parse_slice, allow_hyphen_values = true)]
    rows: Option<Slice>,

    /// Which entries of the last dimension
    #[arg(long, value_name = "A:B", value_parser = parse_slice, allow_hyphen_values = true)]
    cols: Option<Slice>,

    /// The type of the numbers [default: the one that they are stored in, or decoded to by the
    /// library that the weight is from]
    #[arg(long, value_enum, value_name = "TYPE")]
    dtype: Option<Type>,

    /// Say what the numbers are like: mean, deviation, extremes, quantiles, a histogram
    #[arg(long, conflicts_with = "output")]
    pub(super) stats: bool,

    /// Write the numbers into a new file, as little-endian bytes, row by row; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["json", "json_lines"])]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(super) open: Open,
}

#[derive(Clone, Copy, ValueEnum)]
enum Type {
    F32,
    F16,
    Bf16,
}

impl Show {
    /// The options as the library takes them.
    pub(super) fn options(&self) -> ShowOptions {
        let mut options = ShowOptions::default();
        if let Some(rows) = self.rows.clone() {
            options = options.rows(rows);
        }
        if let Some(columns) = self.cols.clone() {
            options = options.columns(columns);
        }
        match self.dtype {
            Some(Type::F32) => options.dtype(DType::F32),
            Some(Type::F16) => options.dtype(DType::F16),
            Some(Type::Bf16) => options.dtype(DType::BF16),
            None => options,
        }
    }
}

fn parse_slice(text: &str) -> Result<Slice, String> {
    text.parse().map_err(|error: weighbridge::Error| error.message().to_owned())
}
