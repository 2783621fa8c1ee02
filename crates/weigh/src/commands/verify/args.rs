//! The arguments of `verify`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::stored_model_help;
use crate::commands::convert::OutputArgs;
use crate::commands::quantize::How;

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh verify plain --against model/")]
pub(crate) struct Verify {
    /// Output to check: a file or a directory
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    #[arg(
        long,
        value_name = "MODEL",
        help = "Source model of the output",
        long_help = stored_model_help()
    )]
    pub(crate) against: PathBuf,

    /// OUT was written by `dequantize`
    ///
    /// Only needed for a file. A directory is recognised by its marker or its config.
    #[arg(long)]
    pub(crate) dequantized: bool,

    /// OUT was written by `quantize` with this type
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "dequantized")]
    pub(crate) to_type: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,

    #[command(flatten)]
    pub(crate) output_args: OutputArgs,
}
