//! `weigh completions SHELL`: a script that asks `weigh` itself for completions.
//!
//! This completes weight names too. The script runs `WEIGH_COMPLETE=SHELL weigh -- WORDS`. Errors
//! are silent, because a message would disturb the line being typed.

use std::ffi::OsString;
use std::io::Write as _;

use clap::{Args as ClapArgs, ValueEnum as _};
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::{Outcome, after_write};

mod names;
mod words;

/// The variable that switches `weigh` to completing words.
const VARIABLE: &str = "WEIGH_COMPLETE";

#[derive(ClapArgs)]
#[command(after_help = "Example: source <(weigh completions bash)")]
pub(crate) struct Completions {
    /// Shell to complete in
    shell: Shell,
}

pub(super) fn run(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    let name = args.shell.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
    // Writing to memory does not fail, and clap_complete supports all of these shells.
    if let Some(shell) = Shells::builtins().completer(&name) {
        let _ = shell.write_registration(VARIABLE, "weigh", "weigh", "weigh", &mut script);
    }
    after_write(std::io::stdout().write_all(&script), Outcome::Done)
}

/// Completes words if a completion script runs us; returns the exit code then.
pub(crate) fn completing(args: &[OsString]) -> Option<u8> {
    let shell = std::env::var_os(VARIABLE)?;
    let words = args.iter().position(|arg| arg == "--").map(|at| &args[at + 1..])?;
    let shells = Shells::builtins();
    let shell = shells.completer(shell.to_str()?)?;
    let here = std::env::current_dir().ok();
    let mut found = Vec::new();
    let mut command = words::command_for(words);
    // Without candidates, the shell falls back to its default.
    shell.write_complete(&mut command, words.to_vec(), here.as_deref(), &mut found).ok();
    let _ = std::io::stdout().write_all(&found);
    Some(0)
}
