//! `weigh`: inspects, converts, quantizes, dequantizes and compares model weights.

use std::process::ExitCode;

fn main() -> ExitCode {
    weighbridge::internals::give_memory_back();
    ExitCode::from(weigh::run(std::env::args_os()))
}
