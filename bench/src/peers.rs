//! `bench peers`: every other tool that the tables know, whether it is installed, and how to get
//! it.

use std::process::{Command, Stdio};

use crate::{child, ggml};

/// How a tool is found.
enum Found {
    /// Compiled into this program.
    Library(&'static str),
    /// Compiled when a table needs it.
    OnDemand(&'static str),
    /// A program: the variable that names it, its usual name.
    Program(&'static str, &'static str),
    /// A Python module, and the package that it comes in.
    Python(&'static str, &'static str),
    /// ggml's shared library.
    Ggml,
}

/// Name, how it is found, how it is installed.
const PEERS: &[(&str, Found, &str)] = &[
    ("anamnesis, library", Found::Library("0.7.10"), ""),
    ("anamnesis, child programs", Found::OnDemand("0.7.10, default and native build"), ""),
    (
        "anamnesis, amn",
        Found::Program("BENCH_AMN", "amn"),
        "RUSTFLAGS=-Ctarget-cpu=native cargo install anamnesis --version 0.7.10 --all-features --root DIR",
    ),
    ("safetensors, crate", Found::Library("0.8.0"), ""),
    ("candle-core", Found::OnDemand("0.11.1, bench/candle-peer"), ""),
    ("ggml's C", Found::Ggml, "oracles/ggml_build.sh DIR"),
    (
        "apr",
        Found::Program("BENCH_APR", "apr"),
        "cargo install apr-cli --version 0.72.3 --root DIR",
    ),
    ("cp", Found::Program("BENCH_CP", "cp"), "it is part of every system"),
    ("b3sum", Found::Program("BENCH_B3SUM", "b3sum"), "apt install b3sum, or cargo install b3sum"),
    ("cmp", Found::Program("BENCH_CMP", "cmp"), "apt install diffutils"),
    ("torch", Found::Python("torch", "torch"), "pip install torch==2.15.0"),
    (
        "safetensors, Python",
        Found::Python("safetensors", "safetensors"),
        "pip install safetensors==0.8.0",
    ),
    ("numpy", Found::Python("numpy", "numpy"), "pip install numpy==2.4.6"),
    ("gguf-py", Found::Python("gguf", "gguf"), "pip install gguf==0.19.0"),
    (
        "bitsandbytes",
        Found::Python("bitsandbytes", "bitsandbytes"),
        "pip install -r oracles/requirements-bnb.txt",
    ),
    (
        "compressed-tensors",
        Found::Python("compressed_tensors", "compressed-tensors"),
        "pip install -r oracles/requirements-compressed.txt",
    ),
    (
        "transformers",
        Found::Python("transformers", "transformers"),
        "pip install -r oracles/requirements-fp8.txt",
    ),
    (
        "modelopt",
        Found::Python("modelopt", "nvidia-modelopt"),
        "pip install -r oracles/requirements-fp8.txt",
    ),
    (
        "comfy-kitchen",
        Found::Python("comfy_kitchen", "comfy-kitchen"),
        "pip install -r oracles/requirements-fp8.txt",
    ),
    ("mlx", Found::Python("mlx", "mlx"), "pip install -r oracles/requirements-mlx.txt"),
    (
        "gptqmodel",
        Found::Python("gptqmodel", "gptqmodel"),
        "pip install -r oracles/requirements-gptq.txt",
    ),
    ("autoawq", Found::Python("awq", "autoawq"), "pip install -r oracles/requirements-awq.txt"),
];

/// Prints the list.
pub fn list() {
    let mut missing = 0;
    for (name, found, install) in PEERS {
        match version(found) {
            Some(version) => println!("{name:26} {version}"),
            None => {
                println!("{name:26} missing: {install}{}", then_set(found));
                missing += 1;
            }
        }
    }
    if missing > 0 {
        println!("\n{missing} missing; `bench/peers.sh DIR` installs all of them");
    }
}

/// The tools that are installed, with their versions.
pub fn versions() -> Vec<String> {
    let named = |(name, found, _): &(&str, Found, &str)| {
        let version = version(found)?;
        let number = version.split([' ', ',']).find(|word| word.starts_with(char::is_numeric));
        // Names such as `anamnesis, library` go into a list with commas.
        Some(format!("{} {}", name.replace(',', ""), number?))
    };
    PEERS.iter().filter_map(named).collect()
}

/// The version of a tool, if it is installed.
fn version(found: &Found) -> Option<String> {
    match found {
        Found::Library(version) => Some(format!("{version}, compiled in")),
        Found::OnDemand(version) => Some(format!("{version}, compiled when a table needs it")),
        Found::Program(variable, usual) => {
            let program = std::env::var_os(variable).unwrap_or_else(|| usual.into());
            first_line(Command::new(program).arg("--version"))
        }
        Found::Python(module, package) => {
            let python = child::python_with(module)?;
            let code = format!("import importlib.metadata as m; print(m.version('{package}'))");
            let version = first_line(Command::new(&python).args(["-c", &code]));
            Some(format!("{} in {}", version.unwrap_or_default(), python.display()))
        }
        Found::Ggml => ggml::Library::open().ok().map(|library| library.version()),
    }
}

fn first_line(command: &mut Command) -> Option<String> {
    let said = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    said.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// Which variable must name it once it is installed.
fn then_set(found: &Found) -> String {
    match found {
        Found::Library(_) | Found::OnDemand(_) => String::new(),
        Found::Program(variable, _) => {
            format!(", and set {variable} to it unless it is on the path")
        }
        Found::Python(module, _) => {
            format!(", and set BENCH_PYTHON or {} to that python", child::variable(module))
        }
        Found::Ggml => ", and set BENCH_GGML to DIR/libggml-base.so".into(),
    }
}
