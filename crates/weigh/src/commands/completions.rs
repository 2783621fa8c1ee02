//! `weigh completions SHELL`.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Outcome, after_write};
use crate::args::Args;

pub(super) fn run(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    // Into memory first: the generator panics when a write fails.
    clap_complete::generate(shell, &mut Args::command(), "weigh", &mut script);
    after_write(std::io::stdout().write_all(&script), Outcome::Done)
}
