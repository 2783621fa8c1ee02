//! The commands, one folder each, and their exit codes.

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
mod families;
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

/// The commands. A new one needs a `mod` line, a variant here and an arm in [`run`].
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show what a model contains, reading only its headers
    ///
    /// Prints format, sizes, quantization schemes and problems. Weight data is not read, so
    /// inspecting a remote model downloads only its headers.
    Inspect(Box<inspect::Inspect>),
    /// Print the decoded values of one weight, or write them to a file
    ///
    /// Values are formatted as numpy formats them. Large weights are shown by their corners.
    Show(Box<show::Show>),
    /// Compute statistics of all weights and report anomalies
    ///
    /// The exit code is 1 if any value is NaN or infinite. Other warnings do not change it.
    Stats(Box<stats::Stats>),
    /// Convert a model to another format or dtype
    ///
    /// Quantized weights are decoded, unless `--dtype keep` copies all tensors as they are stored.
    /// GGUF to GGUF keeps the stored types, unless `--dtype` or `--cast` is given.
    /// The output's extension selects the format.
    Convert(Box<convert::Convert>),
    /// Dequantize a model and copy its other files
    ///
    /// Decodes quantized weights, by default to 16 bits, and leaves plain tensors unchanged. The
    /// quantization section is removed from the config.
    Dequantize(Box<convert::Dequantize>),
    /// Quantize a model and measure the error
    ///
    /// `--type` sets the type. `--target-bpw` or `--target-size` chooses a type for each weight
    /// instead. The report shows bits per weight and signal-to-noise ratio (SNR).
    Quantize(Box<quantize::Quantize>),
    /// Compare two models across formats and precisions
    ///
    /// Compares names, shapes, metadata and values.
    Diff(Box<diff::Diff>),
    /// Check an output bit for bit against its source model
    ///
    /// Takes the same options as the command that wrote the output.
    Verify(Box<verify::Verify>),
    /// Hash weights independently of their files and shards
    ///
    /// With `--values`, the hash is also independent of format and storage.
    Hash(Box<hash::Hash>),
    /// List the model families that convert to GGUF and back
    ///
    /// Prints names, directions and what was checked of each.
    Families(families::Families),
    /// Explain problems, warnings and errors, with examples and fixes
    Errors(problems::Errors),
    /// Print a shell completion script
    Completions(completions::Completions),
    /// Print a man page, or write all of them to a directory
    Man(man::Man),
}

impl Command {
    /// The JSON layout of its report; `None` for text.
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
            Self::Families(args) => args.json.layout(),
            Self::Completions(_) | Self::Man(_) | Self::Errors(_) => None,
        }
    }
}

/// The exit code after an error.
const FAILED: u8 = 2;

/// The outcome of a command, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Done,
    Found,
    Failed,
    /// Interrupted by Ctrl-C or another signal, with the exit code for that signal.
    Interrupted(u8),
}

impl Outcome {
    /// The exit code.
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Found => 1,
            Self::Failed => FAILED,
            Self::Interrupted(code) => code,
        }
    }
}

/// Runs a command and returns its exit code.
pub(crate) fn run(command: Command) -> u8 {
    if let Err(error) = weighbridge::internals::simd::asked() {
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
            let options = args.how.options(args.to_type.as_deref());
            convert::run(&args.convert, Verb::Quantize(&options, &args.how))
        }
        Command::Diff(args) => diff::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Hash(args) => hash::run(&args),
        Command::Families(args) => families::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Errors(args) => problems::run(&args),
    };
    outcome.code()
}

/// Reports an error once: as JSON on standard output, or as text on standard error. `path` is the
/// model on the command line.
fn after_failure(
    error: &weighbridge::Error,
    path: Option<&Path>,
    json: Option<Layout>,
    outcome: Outcome,
) -> Outcome {
    let Some(layout) = json else {
        terminal::report(error);
        return outcome;
    };
    let failure = Failure::new(path, error);
    after_write(terminal::print(|out| failure.write(out, layout)), outcome)
}

/// Reports a misused command line with the corrected one, and returns the exit code.
pub(crate) fn misused(error: weighbridge::Error, line: Option<&str>, json: Option<Layout>) -> u8 {
    match (line, json) {
        (Some(line), Some(_)) => after_failure(&error.hint(line), None, json, Outcome::Failed),
        _ => after_failure(&error, None, json, Outcome::Failed),
    };
    if let Some(line) = line.filter(|_| json.is_none()) {
        terminal::command(line);
    }
    FAILED
}

/// Reports a usage error as JSON; `text` is the error as printed for people.
pub(crate) fn not_understood(text: &str, layout: Layout) {
    let reason = text.split("\n\n").next().unwrap_or(text);
    let reason = reason.strip_prefix("error: ").unwrap_or(reason).trim_end();
    let error = weighbridge::Error::usage(reason);
    // What the text says below its reason: a suggestion, and how the command is used.
    let usage = text.lines().find(|line| line.starts_with("Usage: "));
    let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
    let hints: Vec<&str> = tip.into_iter().chain(usage).collect();
    let error = if hints.is_empty() { error } else { error.hint(hints.join("; ")) };
    after_failure(&error, None, Some(layout), Outcome::Failed);
}

/// The outcome after writing to standard output. A closed pipe is not an error; a full disk is.
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
