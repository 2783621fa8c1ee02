//! The arguments of the command.

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
pub(crate) use open::Open;
pub(crate) use positional::positional_output;
pub(crate) use report::Report;
pub(crate) use select::{Select, parse_rename};
pub(crate) use unmatched::Unmatched;
pub(crate) use work::Work;

/// The end of every long help. The short one ends with an example.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 something was found (`inspect`: the model has problems; `verify`: the output \
differs; `diff`: the models differ; `stats`: numbers are NaN or infinite), 2 an error, 130 stopped \
by Ctrl-C. `weigh help errors` says what each problem means.

Sizes are shown in KiB, MiB and GiB: 1024 bytes, 1024 KiB, 1024 MiB.";

const USAGE: &str = "\
weigh MODEL [OPTIONS]      (as weigh inspect MODEL)
       weigh COMMAND [OPTIONS] .. (-h: short, --help: long)";

const EXAMPLES: &str = "\
Examples:
  weigh model/                         what is in it
  weigh dequantize model/ -o plain     make it plain numbers
  weigh diff original/ converted/      is a conversion right";

/// Say exactly what is inside a model weight file, and turn it into plain numbers.
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

/// The whole command, as it is parsed, helped with, completed and put into man pages.
///
/// What has a heading is left to the long help: the short one is to fit a screen.
pub(crate) fn command() -> clap::Command {
    let mut command = with_exit_codes(Args::command()).arg(help().hide_short_help(true));
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs {
        command = command.mut_subcommand(verb, |verb| {
            let verb = with_exit_codes(verb).mut_args(|arg| match arg.get_help_heading() {
                Some(_) => arg.hide_short_help(true),
                None => arg,
            });
            verb.disable_help_flag(true).arg(help())
        });
    }
    command
}

/// The columns that help is laid out for, as clap finds them.
pub(crate) fn help_width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let stated = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.or_else(stated).unwrap_or(100)
}

/// The command with lists of names in its long help that keep their columns at this width.
pub(crate) fn fitted(command: clap::Command, width: usize) -> clap::Command {
    /// What clap indents a long help by.
    const INDENT: usize = 10;
    command.mut_subcommand("quantize", |verb| {
        verb.mut_arg("to_type", |arg| match arg.get_long_help() {
            Some(help) => {
                let help = help.to_string();
                arg.long_help(hanging(&help, width.saturating_sub(INDENT)))
            }
            None => arg,
        })
    })
}

/// Text in which what continues a line of a list, `  NAME   what it is`, stays in its column.
fn hanging(text: &str, width: usize) -> String {
    /// A name that is followed by a column is padded to at least so much.
    const NAMES: usize = 16;
    let mut out = Vec::new();
    for line in text.lines() {
        let name = line.trim_start().split(' ').next().unwrap_or_default();
        let indent = line.len() - line.trim_start().len();
        let about = line[indent + name.len()..].trim_start();
        let column = line.len() - about.len();
        // Nothing fails that is written to memory.
        let _ = match indent > 0 && column >= indent + NAMES && !about.is_empty() {
            true => {
                out.extend_from_slice(line[..column].as_bytes());
                wrapped_at(&mut out, width, column, column, about)
            }
            false => writeln!(out, "{line}"),
        };
    }
    String::from_utf8_lossy(out.trim_ascii_end()).into_owned()
}

/// The flag for help, which clap would put into the list of verbs too.
fn help() -> Arg {
    let words = "Print help: -h what is used most, --help everything";
    let flag = Arg::new("help").short('h').long("help").help(words).help_heading(None::<&str>);
    flag.action(ArgAction::Help).display_order(999)
}

/// The long help has the exit codes before its example.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    let end = command.get_after_help().map_or(String::new(), |example| format!("\n\n{example}"));
    command.after_long_help(format!("{EXIT_CODES}{end}"))
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Even into a file or a pipe
    Always,
    /// Not at all
    Never,
}

impl Color {
    /// Applies it to everything that is printed.
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

    /// What each help says on a terminal of 80 columns.
    fn helps(render: impl Fn(&mut clap::Command) -> String) -> Vec<(String, String)> {
        helps_at(80, render)
    }

    /// What each help says on a terminal of so many columns.
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
        assert!(with_limits >= 5, "all that open models have them");
    }
}
