//! `weigh`: says exactly what is inside a model weight file.

use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod commands;
mod remedy;
mod render;
mod size;
mod sys;
mod terminal;

fn main() -> ExitCode {
    let args = args::Args::parse();
    args.color.write_global();
    commands::run(args.command)
}
