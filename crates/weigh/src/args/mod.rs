//! The arguments of the command.

use clap::{Parser, ValueEnum};

use crate::commands::Command;

mod formats;
mod limits;
mod open;
mod report;
mod select;
mod work;

pub(crate) use formats::{format_help, metadata_help, output_help};
pub(crate) use open::Open;
pub(crate) use report::Report;
pub(crate) use select::{Select, parse_rename};
pub(crate) use work::Work;

pub(crate) const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 something was found (`inspect`: the model has problems; `verify`: the output
differs; `diff`: the models differ), 2 an error, 130 stopped by Ctrl-C.";

/// Say exactly what is inside a model weight file, and turn it into plain numbers.
#[derive(Parser)]
#[command(name = "weigh", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Args {
    /// When to use colours; the variable NO_COLOR turns them off too
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub(crate) color: Color,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Even into a file or a pipe
    Always,
    /// Not at all
    Never,
}

impl Color {
    /// Applies it to everything that is printed.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}
