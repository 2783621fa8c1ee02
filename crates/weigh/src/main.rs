//! `weigh`: says exactly what is inside a model weight file.

use std::process::ExitCode;

fn main() -> ExitCode {
    weighbridge::internals::give_memory_back();
    ExitCode::from(weigh::run(std::env::args_os()))
}
