//! Options for JSON reports.

use clap::Args as ClapArgs;

use crate::render::json::Layout;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Json {
    /// Print the full report as JSON
    ///
    /// Errors are objects too, and not printed as text. Several models are an array.
    #[arg(long)]
    json: bool,

    /// Like --json, with one object per line and no array
    #[arg(long, help_heading = "Report")]
    json_lines: bool,
}

impl Json {
    /// The JSON layout; `None` for text.
    pub(crate) fn layout(&self) -> Option<Layout> {
        match (self.json, self.json_lines) {
            (_, true) => Some(Layout::Lines),
            (true, false) => Some(Layout::Indented),
            (false, false) => None,
        }
    }
}
