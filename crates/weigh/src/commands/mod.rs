//! The verbs, one folder each, and what they have in common: the exit code.

use std::io;

use clap::Subcommand;
use convert::Verb;
use weighbridge::ops::Conversion;

use crate::terminal;

mod completions;
mod convert;
mod diff;
mod inspect;
mod progress;
mod stdin;
mod stop;
mod verify;

/// The verbs. A new one is its `mod` line, its variant here and its arm in [`run`].
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Say what a model is and what it holds, from its headers alone
    Inspect(Box<inspect::Inspect>),
    /// Write a model's weights as plain numbers into a new file or directory
    Convert(Box<convert::Convert>),
    /// Turn a quantized model into plain numbers, a directory with all its files
    Dequantize(Box<convert::Dequantize>),
    /// Compare two models by structure, metadata and values, across formats and precisions
    Diff(Box<diff::Diff>),
    /// Recompute every weight of a model, and compare an output with it bit for bit
    Verify(Box<verify::Verify>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The exit code after an error.
const FAILED: u8 = 2;

/// How a command ended, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Done,
    Found,
    Failed,
    /// By Ctrl-C or from outside, with the exit code that says by what.
    Interrupted(u8),
}

/// Runs a command, and gives the exit code.
pub(crate) fn run(command: Command) -> u8 {
    if let Err(error) = weighbridge::internals::simd::asked() {
        terminal::report(&error);
        return FAILED;
    }
    let outcome = match command {
        Command::Inspect(args) => inspect::run(&args),
        Command::Convert(args) => {
            convert::run(&args, Verb { plan: Conversion::plan, follow_links: false })
        }
        Command::Dequantize(args) => convert::run(
            &args.convert,
            Verb { plan: Conversion::plan_dequantized, follow_links: args.follow_links },
        ),
        Command::Diff(args) => diff::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Completions { shell } => completions::run(shell),
    };
    match outcome {
        Outcome::Done => 0,
        Outcome::Found => 1,
        Outcome::Failed => FAILED,
        Outcome::Interrupted(code) => code,
    }
}

/// The outcome after writing to standard output. A reader that stops reading is not an error; a full
/// disk is.
fn after_write(written: io::Result<()>, outcome: Outcome) -> Outcome {
    match written {
        Ok(()) => outcome,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => outcome,
        Err(error) => {
            terminal::report(&weighbridge::Error::io(error, "cannot write to standard output"));
            Outcome::Failed
        }
    }
}
