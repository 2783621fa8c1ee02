//! How a command reports what it did.

use clap::Args as ClapArgs;

use super::json::Json;
use crate::terminal;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) json: Json,

    /// Print errors only; the exit code tells the rest
    #[arg(short, long, conflicts_with_all = ["verbose", "json", "json_lines"])]
    pub(crate) quiet: bool,

    /// Show every line of every list
    #[arg(short, long, help_heading = "Report")]
    pub(crate) verbose: bool,
}

impl Report {
    /// Says notes on standard error, unless only errors are wanted, and gives them back.
    pub(crate) fn say(&self, notes: Vec<String>) -> Vec<String> {
        if !self.quiet {
            terminal::notes(None, &notes);
        }
        notes
    }
}
