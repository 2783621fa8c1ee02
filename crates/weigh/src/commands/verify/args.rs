//! The arguments for verifying an output.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::commands::convert::OutputArgs;
use crate::commands::quantize::How;

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh verify plain --against model/")]
pub(crate) struct Verify {
    /// The output to check: a file or a directory
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The model it was made from
    #[arg(long, value_name = "MODEL")]
    pub(crate) against: PathBuf,

    /// OUT was made by `dequantize`
    ///
    /// Of a directory this is known: by its marker, or by the config in it.
    #[arg(long)]
    pub(crate) dequantized: bool,

    /// OUT was made by `quantize`, with this type
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "dequantized")]
    pub(crate) to_type: Option<String>,

    #[command(flatten)]
    pub(crate) how: How,

    #[command(flatten)]
    pub(crate) output_args: OutputArgs,
}
