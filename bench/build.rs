//! Tells the program which compiler built it: the instruction counts of `guard` depend on it.
use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|v| String::from_utf8_lossy(&v.stdout).trim().to_owned());
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.unwrap_or_default());
    println!("cargo::rerun-if-changed=build.rs");
}
