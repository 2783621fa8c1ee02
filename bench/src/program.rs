//! Programs of this workspace, built on demand.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program of a package that is outside the workspace, in a folder of its own.
pub fn outside(package: &str, folder: &Path) -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(package).join("Cargo.toml");
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--release", "--locked", "--manifest-path"]).arg(manifest);
    let built = command.arg("--target-dir").arg(folder).status().ok()?.success();
    built.then(|| folder.join("release").join(package))
}

/// Builds a package's program of the same name, like this one or, in a folder of its own, for
/// this machine.
pub fn release(package: &str, native: Option<&Path>) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?;
    let folder = native.or_else(|| beside.parent()?.parent())?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--release", "-p", package]);
    command.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    command.arg("--target-dir").arg(folder);
    if native.is_some() {
        command.env("RUSTFLAGS", "-C target-cpu=native");
    }
    let built = command.status().ok()?.success();
    built.then(|| folder.join("release").join(package))
}

/// A small program of this package, beside this one. `cargo run` builds only this one, so the
/// small ones are built when the first of them is needed.
pub fn helper(name: &str) -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let here = std::env::current_exe().expect("this program has a path");
        let folder = here.parent().expect("it lies in a folder").to_owned();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--release", "-p", "bench"]);
        command.args(["--bin", "open_cost", "--bin", "measured_apart", "--manifest-path"]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
        command.arg("--target-dir").arg(folder.parent().unwrap_or(&folder));
        // Without cargo, use those that are already built.
        let _ = command.status();
        folder
    });
    folder.join(name)
}
