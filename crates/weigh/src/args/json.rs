//! Whether a command reports as JSON, and how that is laid out.

use clap::Args as ClapArgs;

use crate::render::json::Layout;

// No doc comment: clap would take it for the help of the whole command.
#[derive(ClapArgs)]
pub(crate) struct Json {
    /// Report as JSON, with every figure
    ///
    /// Errors are objects too, several models an array.
    #[arg(long)]
    json: bool,

    /// As --json, with each object on a line of its own, and no array
    #[arg(long, help_heading = "Report")]
    json_lines: bool,
}

impl Json {
    /// How the report is laid out; `None` if it is for people.
    pub(crate) fn layout(&self) -> Option<Layout> {
        match (self.json, self.json_lines) {
            (_, true) => Some(Layout::Lines),
            (true, false) => Some(Layout::Indented),
            (false, false) => None,
        }
    }
}
