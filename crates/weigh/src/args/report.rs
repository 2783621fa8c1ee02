//! Options for reports.

use clap::Args as ClapArgs;

use super::json::Json;
use crate::terminal;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) json: Json,

    /// Print only errors; the exit code is unchanged
    #[arg(short, long, conflicts_with_all = ["verbose", "json", "json_lines"])]
    pub(crate) quiet: bool,

    /// Print every list in full
    #[arg(short, long, help_heading = "Report")]
    pub(crate) verbose: bool,
}

impl Report {
    /// Prints notes to standard error unless `--quiet` is set, and returns them.
    pub(crate) fn say(&self, notes: Vec<String>) -> Vec<String> {
        if !self.quiet {
            terminal::notes(None, &notes);
        }
        notes
    }
}
