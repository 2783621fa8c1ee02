//! `weigh families [NAME...]`.

use clap::Args as ClapArgs;
use weighbridge::ops;

use super::{Outcome, after_failure, after_write};
use crate::args::Json;
use crate::render::json::report;
use crate::terminal;

mod page;
mod render;

#[derive(ClapArgs)]
#[command(after_help = "Example: weigh families qwen3_moe")]
pub(crate) struct Families {
    /// Families, GGUF architectures or class names [default: all]
    names: Vec<String>,

    #[command(flatten)]
    pub(crate) json: Json,
}

pub(super) fn run(args: &Families) -> Outcome {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let found = match ops::families(&names) {
        Ok(found) => found,
        Err(error) => return after_failure(&error, None, args.json.layout(), Outcome::Failed),
    };
    let written = terminal::print(|out| match args.json.layout() {
        Some(layout) => report(out, layout, &found),
        None if names.is_empty() => render::table(out, &found),
        None => render::each(out, &found),
    });
    after_write(written, Outcome::Done)
}
