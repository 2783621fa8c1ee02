//! How a command reports what it did.

use clap::Args as ClapArgs;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Report {
    /// Report as JSON, with every figure
    #[arg(long)]
    pub(crate) json: bool,

    /// Print errors only; the exit code tells the rest
    #[arg(short, long, conflicts_with_all = ["verbose", "json"])]
    pub(crate) quiet: bool,

    /// Show every line of every list
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
