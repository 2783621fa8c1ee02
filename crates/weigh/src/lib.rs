//! The `weigh` command as a library, so that programs in other languages can run it.

use std::ffi::OsString;

use clap::FromArgMatches as _;

mod args;
mod commands;
mod remedy;
mod render;
mod size;
mod sys;
mod terminal;

use render::json::Layout;

pub use size::parse_size;

/// Runs the command and returns its exit code. The first argument is the name of the program.
///
/// Exit codes: 0 success, 1 a finding, 2 an error, 130 interrupted by Ctrl-C (143 by `SIGTERM`, 129
/// by `SIGHUP`).
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(shell) = commands::completing(&args) {
        return shell;
    }
    let is_given = |flag: &str| args.iter().any(|arg| arg == flag);
    let json = match (is_given("--json"), is_given("--json-lines")) {
        (_, true) => Some(Layout::Lines),
        (true, false) => Some(Layout::Indented),
        (false, false) => None,
    };
    let mut command = args::fitted(args::command(), args::help_width());
    let args = match args::with_verb(args, &command) {
        Ok(args) => args,
        Err(error) => return commands::misused(error, None, json),
    };
    let parsed = command.try_get_matches_from_mut(&args).and_then(|matches| {
        args::Args::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
    });
    match parsed {
        Ok(args) => {
            args.color.write_global();
            commands::run(args.command)
        }
        Err(error) => {
            if let Some((error, line)) = args::positional_output(&args, &command, &error) {
                return commands::misused(error, Some(&line), json);
            }
            match json.filter(|_| error.use_stderr()) {
                Some(layout) => commands::not_understood(&error.render().to_string(), layout),
                // If the stream is closed, there is nowhere left to report to.
                None => drop(error.print()),
            }
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// Formats a report as `--json-lines` does, with the version of its fields.
///
/// # Errors
/// Fails if the report cannot be serialized as JSON.
pub fn report_text(report: impl serde::Serialize) -> std::io::Result<String> {
    let mut text = Vec::new();
    render::json::report(&mut text, Layout::Lines, report)?;
    String::from_utf8(text).map_err(std::io::Error::other)
}
