//! Counting the instructions of a child with valgrind.

use std::path::Path;
use std::process::{Command, Stdio};

use super::jobs::{JOB, LEVEL, MEASURED};

const HOW: &str = "valgrind is missing: install it (Debian and Ubuntu: `apt install valgrind`, \
                   Fedora: `dnf install valgrind`) and run this again";

/// Its version, or how to get it.
pub fn version() -> Result<String, String> {
    let said = Command::new("valgrind").arg("--version").stderr(Stdio::null()).output();
    let said = said.map_err(|_| HOW.to_owned())?;
    if !said.status.success() {
        return Err(HOW.into());
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The level of the kernels under valgrind, which may know fewer instructions than the CPU.
pub fn level(folder: &Path) -> Result<String, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=none", "-q"]);
    let said = child(command, LEVEL, folder)?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

/// The instructions of a job.
pub fn count(job: &str, folder: &Path) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(format!("--toggle-collect={MEASURED}*"));
    let said = child(command, job, folder)?;
    let text = String::from_utf8_lossy(&said.stderr);
    collected(&text).ok_or_else(|| format!("{job}: valgrind counted nothing: {text}"))
}

fn child(mut command: Command, job: &str, folder: &Path) -> Result<std::process::Output, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    command.arg(program).arg(JOB).arg(job).arg(folder).stdin(Stdio::null());
    // The user's environment must not change what is counted.
    command.env_remove("WEIGHBRIDGE_SIMD").env("RUST_BACKTRACE", "0");
    let said = command.output().map_err(|error| error.to_string())?;
    match said.status.success() {
        true => Ok(said),
        false => Err(format!("{job} failed: {}", own_words(&said.stderr))),
    }
}

/// What the child said, without what valgrind said.
fn own_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The number after `Collected :`; `None` for zero, which means the function was never entered.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        let text = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(text), Some(123_456));
        assert_eq!(collected("==7== Collected : 0"), None);
        assert_eq!(collected("==7== Command: x"), None);
    }
}
