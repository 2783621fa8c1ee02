//! The command `weigh` as a library: a program of another language can run it too.

use std::ffi::OsString;

use clap::Parser as _;

mod args;
mod commands;
mod remedy;
mod render;
mod size;
mod sys;
mod terminal;

/// Runs the command with these arguments, of which the first is its own name, and gives the exit
/// code: 0 done, 1 something was found, 2 an error, 130 stopped by Ctrl-C (143 and 129 by other signals).
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    match args::Args::try_parse_from(args) {
        Ok(args) => {
            args.color.write_global();
            commands::run(args.command)
        }
        Err(error) => {
            // Nothing is left to be done if the stream is closed.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}
