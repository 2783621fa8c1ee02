//! `weigh completions SHELL`: a script that asks the command itself what could come next.
//!
//! So names of weights can be completed too. The script runs `WEIGH_COMPLETE=SHELL weigh -- WORDS`,
//! and whatever goes wrong then is silence: nobody reads an error in the middle of a line.

use std::ffi::OsString;
use std::io::Write as _;

use clap::{Args as ClapArgs, ValueEnum as _};
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::{Outcome, after_write};

mod names;
mod words;

/// The variable that makes the command complete words instead of doing anything.
const VARIABLE: &str = "WEIGH_COMPLETE";

#[derive(ClapArgs)]
#[command(after_help = "Example: source <(weigh completions bash)")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    let name = args.shell.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
    // Writing into memory does not fail, and each of these shells is there.
    if let Some(shell) = Shells::builtins().completer(&name) {
        let _ = shell.write_registration(VARIABLE, "weigh", "weigh", "weigh", &mut script);
    }
    after_write(std::io::stdout().write_all(&script), Outcome::Done)
}

/// Completes words if a script asks for that, and gives the exit code then.
pub(crate) fn completing(args: &[OsString]) -> Option<u8> {
    let shell = std::env::var_os(VARIABLE)?;
    let words = args.iter().position(|arg| arg == "--").map(|at| &args[at + 1..])?;
    let shells = Shells::builtins();
    let shell = shells.completer(shell.to_str()?)?;
    let here = std::env::current_dir().ok();
    let mut found = Vec::new();
    let mut command = words::command_for(words);
    // Nothing fits: the shell does what it does without a script.
    shell.write_complete(&mut command, words.to_vec(), here.as_deref(), &mut found).ok();
    let _ = std::io::stdout().write_all(&found);
    Some(0)
}
