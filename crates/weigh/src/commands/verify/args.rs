//! The arguments for verifying an output.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::EXIT_CODES;
use crate::commands::convert::OutputArgs;

#[derive(ClapArgs)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Verify {
    /// The output to check: a file or a directory
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The model it was made from
    #[arg(long, value_name = "MODEL")]
    pub(crate) against: PathBuf,

    /// OUT was made by `dequantize`: --dtype applies to decoded weights only
    #[arg(long)]
    pub(crate) dequantized: bool,

    #[command(flatten)]
    pub(crate) output_args: OutputArgs,
}
