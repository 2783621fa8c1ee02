//! `weigh`: says exactly what is inside a model weight file.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(weigh::run(std::env::args_os()))
}
