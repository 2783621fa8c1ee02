//! The arguments of `show`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use weighbridge::DType;
use weighbridge::ops::{ShowOptions, Slice};

use crate::args::{Json, MODEL, Open, model_help};

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh show model/ embed_tokens.weight --rows 0:4")]
pub(crate) struct Show {
    #[arg(value_name = "MODEL", help = MODEL, long_help = model_help())]
    pub(super) model: PathBuf,

    /// Name of a weight, or a unique suffix of it
    #[arg(value_name = "NAME")]
    pub(super) name: String,

    /// Range of the first dimension, e.g. 0:4, -4: or :8
    #[arg(long, value_name = "A:B", value_parser = parse_slice, allow_hyphen_values = true)]
    rows: Option<Slice>,

    /// Range of the last dimension
    #[arg(long, value_name = "A:B", value_parser = parse_slice, allow_hyphen_values = true)]
    cols: Option<Slice>,

    /// Dtype of the values [default: the weight's native dtype]
    ///
    /// The native dtype is the stored one. For a quantized weight it is the one that the library
    /// it comes from decodes to.
    #[arg(long, value_enum, value_name = "TYPE")]
    dtype: Option<Type>,

    /// Show mean, deviation, extremes, quantiles, histogram
    #[arg(long, conflicts_with = "output")]
    pub(super) stats: bool,

    /// Write to a new .safetensors, .gguf or .npy file
    ///
    /// The extension selects the format. With --raw, any name is allowed, and `-` is stdout. An
    /// existing file is never overwritten.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["json", "json_lines"])]
    pub(super) output: Option<PathBuf>,

    /// Write only the values, without a header
    ///
    /// Values are little-endian, in row order.
    #[arg(long, requires = "output")]
    pub(super) raw: bool,

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
    /// Converts to library options.
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
