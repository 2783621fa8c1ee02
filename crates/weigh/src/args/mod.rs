//! The arguments of `weigh`.

use std::io::Write as _;

use clap::{Arg, ArgAction, CommandFactory as _, Parser, ValueEnum};

use crate::commands::Command;
use crate::render::wrap::wrapped_at;

#[cfg(test)]
mod alike;
mod formats;
mod implied;
mod json;
mod limits;
mod model;
mod open;
mod positional;
mod remote;
mod report;
mod select;
mod unmatched;
mod work;

pub(crate) use formats::{
    convert_example, format_help, formats, metadata_help, output_help, quantize_example,
};
pub(crate) use implied::{first_word, with_verb};
pub(crate) use json::Json;
pub(crate) use model::{MODEL, STORED_MODEL, model_help, stored_model_help};
pub(crate) use open::Open;
pub(crate) use positional::positional_output;
pub(crate) use report::Report;
pub(crate) use select::{Select, parse_rename};
pub(crate) use unmatched::Unmatched;
pub(crate) use work::Work;

/// The end of every long help. The short help ends with an example.
const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 a finding (problems in `inspect`, differences in `diff` or `verify`, NaN or \
infinite values in `stats`), 2 an error, 130 interrupted by Ctrl-C. `weigh help errors` explains \
every problem and error.

Sizes are in KiB, MiB and GiB: 1024 bytes, 1024 KiB, 1024 MiB.";

const USAGE: &str = "\
weigh MODEL [OPTIONS]    (short for weigh inspect)
       weigh COMMAND [OPTIONS]  (-h: common, --help: all)";

const EXAMPLES: &str = "\
Examples:
  weigh model/                         inspect a model
  weigh dequantize model/ -o plain     dequantize a model
  weigh diff original/ converted/      check a conversion";

/// Inspect, convert, quantize, dequantize and compare model weights
#[derive(Parser)]
#[command(
    name = "weigh",
    version,
    arg_required_else_help = true,
    disable_help_flag = true,
    disable_version_flag = true,
    override_usage = USAGE,
    after_help = EXAMPLES
)]
pub(crate) struct Args {
    /// When to use colours; the variable NO_COLOR turns them off too
    #[arg(
        long,
        value_enum,
        default_value_t = Color::Auto,
        value_name = "WHEN",
        global = true,
        hide_short_help = true,
        display_order = 990
    )]
    pub(crate) color: Color,

    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, hide_short_help = true)]
    version: Option<bool>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The whole command, for parsing, help, completion and man pages.
///
/// Options under a heading appear in the long help only, so that the short help fits a screen.
pub(crate) fn command() -> clap::Command {
    let mut command = with_exit_codes(Args::command()).arg(help().hide_short_help(true));
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs {
        command = command.mut_subcommand(verb, |verb| {
            let verb = with_exit_codes(verb).mut_args(|arg| {
                if arg.get_help_heading().is_some() { arg.hide_short_help(true) } else { arg }
            });
            verb.disable_help_flag(true).arg(help())
        });
    }
    command
}

/// The width of help texts, found as clap finds it.
pub(crate) fn help_width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let stated = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.or_else(stated).unwrap_or(100)
}

/// Wraps the lists of names in long help texts at this width, keeping their columns.
pub(crate) fn fitted(command: clap::Command, width: usize) -> clap::Command {
    /// The indent of long help texts in clap.
    const INDENT: usize = 10;
    let fit = |arg: Arg| match arg.get_long_help() {
        Some(help) => {
            let help = help.to_string();
            arg.long_help(hanging(&help, width.saturating_sub(INDENT)))
        }
        None => arg,
    };
    command.mut_subcommands(|verb| verb.mut_args(fit))
}

/// Wraps the lines of a list, `  NAME   description`, so that descriptions keep their column.
fn hanging(text: &str, width: usize) -> String {
    /// Names in a list are padded to at least this width.
    const NAMES: usize = 16;
    let mut out = Vec::new();
    for line in text.lines() {
        let name = line.trim_start().split(' ').next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let about = line[indent + name.len()..].trim_start();
        let column = line.len() - about.len();
        // Writing to memory cannot fail.
        let _ = if indent > 0 && column >= indent + NAMES && !about.is_empty() {
            out.extend_from_slice(&line.as_bytes()[..column]);
            wrapped_at(&mut out, width, column, column, about)
        } else {
            writeln!(out, "{line}")
        };
    }
    String::from_utf8_lossy(out.trim_ascii_end()).into_owned()
}

/// The help flag, defined here because clap's own would also appear in the list of commands.
fn help() -> Arg {
    let words = "Print help: -h common options, --help everything";
    let flag = Arg::new("help").short('h').long("help").help(words).help_heading(None::<&str>);
    flag.action(ArgAction::Help).display_order(999)
}

/// Puts the exit codes before the example of the long help.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    let end = command.get_after_help().map_or(String::new(), |example| format!("\n\n{example}"));
    command.after_long_help(format!("{EXIT_CODES}{end}"))
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal only
    Auto,
    /// Also in files and pipes
    Always,
    /// Never
    Never,
}

impl Color {
    /// Applies the choice to all output.
    pub(crate) fn write_global(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders the help of every command at 80 columns.
    fn helps(render: impl Fn(&mut clap::Command) -> String) -> Vec<(String, String)> {
        helps_at(80, render)
    }

    /// Renders the help of every command at a width.
    fn helps_at(
        width: usize,
        render: impl Fn(&mut clap::Command) -> String,
    ) -> Vec<(String, String)> {
        let whole = fitted(command(), width);
        let mut whole = whole.term_width(width).disable_help_subcommand(true);
        whole.build();
        let own = ("weigh".to_owned(), render(&mut whole));
        let verbs = whole.get_subcommands().cloned();
        let verbs = verbs.map(|mut verb| (verb.get_name().to_owned(), render(&mut verb)));
        std::iter::once(own).chain(verbs).collect()
    }

    #[test]
    fn a_short_help_fits_a_screen_and_ends_with_an_example() {
        for (verb, help) in helps(|command| command.render_help().to_string()) {
            assert!(help.lines().count() <= 24, "{verb} has too many lines:\n{help}");
            let last = help.rsplit("\n\n").next().unwrap_or_default();
            assert!(last.starts_with("Example"), "{verb} has no example:\n{help}");
            let examples = last.lines().filter(|line| line.contains("weigh ")).count();
            assert!(
                verb != "weigh" || !help.contains("\n               "),
                "one line a verb:\n{help}"
            );
            assert_eq!(examples, if verb == "weigh" { 3 } else { 1 }, "{verb}:\n{help}");
        }
    }

    #[test]
    fn help_fits_the_terminal() {
        for width in [60, 80, 140] {
            let short = helps_at(width, |command| command.render_help().to_string());
            let long = helps_at(width, |command| command.render_long_help().to_string());
            for (verb, help) in short.into_iter().chain(long) {
                let wide = |line: &&str| line.chars().count() > width && line.trim().contains(' ');
                let wide: Vec<&str> = help.lines().filter(wide).collect();
                assert!(wide.is_empty(), "{verb} at {width}: {wide:#?}");
            }
        }
    }

    #[test]
    fn lists_of_types_keep_their_columns() {
        let text = "Types:\n  Q8_0             eight bits for each of them\n  x";
        let want =
            "Types:\n  Q8_0             eight bits for\n                   each of them\n  x";
        assert_eq!(hanging(text, 34), want);
    }

    #[test]
    fn a_long_help_has_limits_and_opening_last() {
        let mut with_limits = 0;
        for (verb, help) in helps(|command| command.render_long_help().to_string()) {
            assert!(help.contains("\nExit codes: "), "{verb}");
            let is_heading = |line: &&str| line.ends_with(':') && !line.starts_with(' ');
            let headings: Vec<&str> = help.lines().filter(is_heading).collect();
            if headings.contains(&"Limits:") {
                assert!(
                    headings.ends_with(&["Opening:", "Network:", "Limits:"]),
                    "{verb}: {headings:?}"
                );
                with_limits += 1;
            }
        }
        assert!(with_limits >= 5, "all commands that open models have limits");
    }
}
