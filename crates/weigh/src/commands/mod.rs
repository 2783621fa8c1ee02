//! The verbs, one folder each, and what they have in common: the exit code.

use std::io;
use std::path::Path;

use clap::Subcommand;
use convert::Verb;

use crate::render::Failure;
use crate::render::json::Layout;
use crate::terminal;

mod completions;
mod convert;
mod diff;
mod hash;
mod inspect;
mod man;
mod near;
mod next;
mod problems;
mod progress;
mod quantize;
mod show;
mod standard_output;
mod stats;
mod stdin;
mod stop;
mod verify;

pub(crate) use completions::completing;
pub(crate) use next::quoted;

/// The verbs. A new one is its `mod` line, its variant here and its arm in [`run`].
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Say what a model is and what it holds, from its headers alone
    Inspect(Box<inspect::Inspect>),
    /// Print the numbers of one weight, or write them into a file
    Show(Box<show::Show>),
    /// Sum up the numbers of all weights, and find what looks wrong
    Stats(Box<stats::Stats>),
    /// Write weights as plain numbers into a new file or directory
    Convert(Box<convert::Convert>),
    /// Make a quantized model plain, with all the files around it
    Dequantize(Box<convert::Dequantize>),
    /// Store a model in fewer bits, and say what that costs
    Quantize(Box<quantize::Quantize>),
    /// Compare two models, across formats and precisions
    ///
    /// By structure, metadata and values.
    Diff(Box<diff::Diff>),
    /// Check an output bit for bit against the model it was made from
    Verify(Box<verify::Verify>),
    /// Hash weights, so that it does not matter which files they lie in
    Hash(Box<hash::Hash>),
    /// Explain kinds of problems, findings and errors
    Errors(problems::Errors),
    /// Print a completion script for a shell
    Completions(completions::Completions),
    /// Print a man page, or write all of them into a directory
    Man(man::Man),
}

impl Command {
    /// How it reports as JSON, if it does.
    fn json(&self) -> Option<Layout> {
        match self {
            Self::Inspect(args) => args.json.layout(),
            Self::Show(args) => args.json.layout(),
            Self::Stats(args) => args.report.json.layout(),
            Self::Convert(args) => args.output_args.report.json.layout(),
            Self::Dequantize(args) => args.convert.output_args.report.json.layout(),
            Self::Quantize(args) => args.convert.output_args.report.json.layout(),
            Self::Diff(args) => args.report.json.layout(),
            Self::Verify(args) => args.output_args.report.json.layout(),
            Self::Hash(args) => args.json.layout(),
            Self::Completions(_) | Self::Man(_) | Self::Errors(_) => None,
        }
    }
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
        after_failure(&error, None, command.json(), Outcome::Failed);
        return FAILED;
    }
    let outcome = match command {
        Command::Inspect(args) => inspect::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Convert(args) => convert::run(&args, Verb::Convert),
        Command::Dequantize(args) => {
            convert::run(&args.convert, Verb::Dequantize { follow_links: args.follow_links })
        }
        Command::Quantize(args) => {
            convert::run(&args.convert, Verb::Quantize(&args.how.options(args.to_type.as_deref())))
        }
        Command::Diff(args) => diff::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Hash(args) => hash::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Errors(args) => problems::run(&args),
    };
    match outcome {
        Outcome::Done => 0,
        Outcome::Found => 1,
        Outcome::Failed => FAILED,
        Outcome::Interrupted(code) => code,
    }
}

/// The outcome after an error. Where a report as JSON was asked for, the error is one, too; `path` is
/// what was asked for.
fn after_failure(
    error: &weighbridge::Error,
    path: Option<&Path>,
    json: Option<Layout>,
    outcome: Outcome,
) -> Outcome {
    let Some(layout) = json else { return outcome };
    let failure = Failure::new(path, error);
    after_write(terminal::print(|out| failure.write(out, layout)), outcome)
}

/// Reports a command line that cannot be meant as it is, with the one that may be, and gives the
/// exit code.
pub(crate) fn misused(error: weighbridge::Error, line: Option<&str>, json: Option<Layout>) -> u8 {
    terminal::report(&error);
    let error = match line {
        Some(line) => {
            terminal::command(line);
            error.hint(line)
        }
        None => error,
    };
    after_failure(&error, None, json, Outcome::Failed);
    FAILED
}

/// Reports arguments that were not understood; `text` is what was said about them to people.
pub(crate) fn not_understood(text: &str, layout: Layout) {
    let reason = text.split("\n\n").next().unwrap_or(text);
    let reason = reason.strip_prefix("error: ").unwrap_or(reason).trim_end();
    after_failure(&weighbridge::Error::usage(reason), None, Some(layout), Outcome::Failed);
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
