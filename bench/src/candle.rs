//! candle as a child program, in a package outside the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::worker;
use crate::harness::Contestant;
use crate::{Setting, program};

/// Its name in the tables.
pub const CANDLE: &str = "candle-core";

/// Builds its program; adds a note if that fails. `None` for a quick run.
pub fn build(setting: &Setting, notes: &mut Vec<String>) -> Option<PathBuf> {
    if setting.quick {
        return None;
    }
    let built = program::outside("candle-peer", &setting.data.join("candle"));
    if built.is_none() {
        notes.push(
            "candle-core is missing: `cargo build --release --manifest-path \
             bench/candle-peer/Cargo.toml` failed (it needs crates from crates.io)"
                .into(),
        );
    }
    built
}

/// The contestant that does what the arguments say; adds a note if it cannot.
pub fn contestant<'a>(
    program: Option<&Path>,
    what: &str,
    path: &Path,
    notes: &mut Vec<String>,
) -> Option<Contestant<'a>> {
    let able = worker(CANDLE, Command::new(program?).arg(what).arg(path), 1.0);
    if able.is_none() {
        notes.push(format!("{CANDLE} cannot {what} {}", path.display()));
    }
    able
}
