//! Runs the program that its arguments name to its end, discards its standard output, and prints
//! what it cost. A program's peak is at least what its parent holds; this parent holds next to
//! nothing.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "../cost.rs"]
mod cost;

use cost::{Cost, reap};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut said)?;
    }
    let output = String::from_utf8_lossy(&said).into_owned();
    let cost = Cost { output, ..reap(&child, start, 0) };
    println!("{}", serde_json::to_string(&cost)?);
    Ok(())
}
