//! Side-by-side measurements.
//!
//! `cargo run --release -p bench -- all` runs every table, `.. -- gguf-open pth-open` some of
//! them; `--json` prints JSON, `--record` writes `bench/record/<cpu>/<date>.md`, `--data DIR`
//! chooses where inputs are built (a disk file system with 3 GB free; default `target/bench-data`).
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::cast_precision_loss)]
#![allow(clippy::cast_possible_truncation, missing_docs)]

use std::path::{Path, PathBuf};

mod cache;
mod child;
mod fixtures;
mod harness;
mod machine;
mod table;
mod tables;

use table::Table;

/// What a table needs to know.
pub struct Setting {
    /// Where inputs are built.
    pub data: PathBuf,
}

type Measure = fn(&Setting) -> Table;

/// Every table, by name. A new one is a file in `tables/` and a line here.
const TABLES: &[(&str, Measure)] = &[
    ("header-cost", tables::header_cost::measure),
    ("gguf-open", tables::gguf_open::measure),
    ("safetensors-open", tables::safetensors_open::measure),
    ("pth-open", tables::pth_open::measure),
    ("npz-read", tables::npz_read::measure),
];

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut flag = |name: &str| {
        let before = arguments.len();
        arguments.retain(|argument| argument != name);
        arguments.len() < before
    };
    let (json, record) = (flag("--json"), flag("--record"));
    let mut data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench-data");
    if let Some(at) = arguments.iter().position(|a| a == "--data") {
        data = arguments.get(at + 1).map_or(data, PathBuf::from);
        arguments.drain(at..(at + 2).min(arguments.len()));
    }
    let all = arguments.iter().any(|a| a == "all");
    let chosen: Vec<_> =
        TABLES.iter().filter(|(name, _)| all || arguments.iter().any(|a| a == name)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = TABLES.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "usage: bench [--json] [--record] [--data DIR] all | TABLE...\ntables: {}",
            names.join(", ")
        );
        std::process::exit(2);
    }
    std::fs::create_dir_all(&data).expect("the data folder can be made");
    let setting = Setting { data };
    let mut tables = Vec::new();
    for (name, measure) in chosen {
        eprintln!("measuring {name} ..");
        let table = measure(&setting);
        if !json {
            println!("{}", table.markdown());
        }
        tables.push(table);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&tables).expect("tables are plain data"));
    }
    if record {
        write_record(&tables);
    }
}

/// Replaces the sections of today's record that were measured, and keeps the others.
fn write_record(tables: &[Table]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine::cpu_folder());
    let path = folder.join(format!("{}.md", machine::today()));
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let mut text = machine::heading();
    for (name, _) in TABLES {
        let fresh = tables.iter().find(|table| table.name == *name).map(Table::markdown);
        let kept = || {
            let start = old.find(&format!("\n## {name}: "))?;
            let rest = &old[start + 1..];
            Some(rest[..rest[3..].find("\n## ").map_or(rest.len(), |end| end + 4)].to_owned())
        };
        if let Some(section) = fresh.or_else(kept) {
            text += &format!("\n{}\n", section.trim_end());
        }
    }
    std::fs::create_dir_all(&folder).expect("the record folder can be made");
    std::fs::write(&path, text).expect("the record can be written");
    eprintln!("recorded in {}", path.display());
}
