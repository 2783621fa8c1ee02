//! What can be typed to have an output checked.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::args::EXIT_CODES;
use crate::commands::convert::OutputArgs;

#[derive(ClapArgs)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Verify {
    /// What was written: a file or a directory
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// The model it was made from
    #[arg(long, value_name = "MODEL")]
    pub(crate) against: PathBuf,

    /// It was made by `dequantize`: a type that was asked for is for what was decoded
    #[arg(long)]
    pub(crate) dequantized: bool,

    #[command(flatten)]
    pub(crate) output_args: OutputArgs,
}
