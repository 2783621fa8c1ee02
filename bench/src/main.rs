//! Side-by-side measurements.
//!
//! `cargo run --release -p bench -- all` runs every table, `.. -- gguf-open pth-open` some of
//! them; `--json` prints JSON, `--markdown` a document with the machine on top, `--record` writes
//! `bench/record/<cpu>/<date>.md`, `--data DIR` chooses where inputs are built (a disk file system
//! with 3 GB free, 9 GB for `question-mapping`; default `target/bench-data`).
//! `--memory-data DIR` is where whole models are converted (a memory file system with 8 GB free;
//! default `/dev/shm/weigh-bench`).
//! `--only Q4_K,IQ2_S` and `--quick` (no peers, fewer rounds) are for the tables with a line for
//! each block type or scheme. `.. -- make-source LINE DIR` leaves the source of a line of `convert`
//! in a folder, for a profiler. `.. -- ggml-exact [--blocks N]` compares instead of measuring.
//! `.. -- guard [--bless] [PART-OF-A-NAME..]` counts instructions and compares the counts with
//! stored ones. `.. -- peers` lists the tools we compare with, and how to get them.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::cast_precision_loss)]
#![allow(clippy::cast_possible_truncation, missing_docs)]

use std::path::{Path, PathBuf};

mod anamnesis;
mod buffer;
mod cache;
mod candle;
mod child;
mod copy_loop;
mod cost;
mod decode_both;
mod decoding;
mod exact;
mod fixtures;
mod ggml;
mod guard;
mod harness;
mod large;
mod limit;
mod machine;
mod peers;
mod program;
mod pth_file;
mod random_blocks;
mod small_pth;
mod summary;
mod table;
mod tables;
mod verdict;

use table::Table;
use tables::questions;

/// What a table needs to know.
pub struct Setting {
    /// Where inputs are built.
    pub data: PathBuf,
    /// Where inputs and outputs of whole conversions lie: on a memory file system.
    pub memory_data: PathBuf,
    /// The lines to measure, by name; all if empty.
    pub only: Vec<String>,
    /// Whether fewer rounds without peers are enough.
    pub quick: bool,
    /// Blocks of each type to compare.
    pub blocks: u64,
}

impl Setting {
    /// Whether a line is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

type Measure = fn(&Setting) -> Table;
/// The lines of a table that `--only` may name.
type Names = fn() -> Vec<&'static str>;
/// A table's name, how it is measured, its lines.
type Choice = (&'static str, Measure, Names);

/// Every table: its name, how it is measured, its lines. A new one is a file in `tables/` and a
/// line here.
const TABLES: &[Choice] = &[
    ("header-cost", tables::header_cost::measure, Vec::new),
    ("gguf-open", tables::gguf_open::measure, Vec::new),
    ("safetensors-open", tables::safetensors_open::measure, Vec::new),
    ("pth-open", tables::pth_open::measure, Vec::new),
    ("npz-read", tables::npz_read::measure, Vec::new),
    ("gguf-decode", tables::gguf_decode::measure, tables::gguf_decode::names),
    ("scheme-decode", tables::scheme_decode::measure, tables::scheme_decode::names),
    ("convert", tables::convert::measure, tables::convert::names),
    ("convert-memory", tables::convert_memory::measure, tables::convert_memory::names),
    ("diff", tables::diff::measure, tables::diff::names),
    ("stats", tables::stats::measure, tables::stats::names),
    ("to-gguf", tables::to_gguf::measure, tables::to_gguf::names),
    ("quantize", tables::quantize::blocks::measure, tables::quantize::blocks::names),
    ("quantize-model", tables::quantize::model::measure, tables::quantize::model::names),
    ("hash", tables::hash::measure, tables::hash::names),
    ("question-zeroing", questions::zeroing::measure, Vec::new),
    ("question-stack-buffer", questions::stack_buffer::measure, Vec::new),
    ("question-pushing", questions::pushing::measure, Vec::new),
    ("question-mapping", questions::mapping::measure, Vec::new),
    ("question-one-buffer", questions::one_buffer::measure, Vec::new),
    ("question-small-files", questions::small_files::measure, Vec::new),
    ("question-whole-file-reads", questions::whole_file_reads::measure, Vec::new),
    ("growth-tensors", tables::growth_tensors::measure, tables::growth_tensors::names),
    ("growth-threads", tables::growth_threads::measure, tables::growth_threads::names),
];

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(done) = child_program(&arguments) {
        done.expect("the command succeeds");
        return;
    }
    let [json, markdown, record, quick] =
        ["--json", "--markdown", "--record", "--quick"].map(|f| flag(&mut arguments, f));
    let data = value(&mut arguments, "--data").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench-data"),
        PathBuf::from,
    );
    let memory_data = value(&mut arguments, "--memory-data").map_or_else(
        || match Path::new(MEMORY).is_dir() {
            true => Path::new(MEMORY).join("weigh-bench"),
            false => data.clone(),
        },
        PathBuf::from,
    );
    let only: Vec<String> = value(&mut arguments, "--only")
        .map_or_else(Vec::new, |names| names.split(',').map(str::to_owned).collect());
    let blocks = value(&mut arguments, "--blocks").map_or(Some(1 << 20), |n| n.parse().ok());
    if arguments.first().is_some_and(|first| first == "guard") {
        let bless = flag(&mut arguments, "--bless");
        std::process::exit(guard::run(&arguments[1..], bless, &memory_data));
    }
    if arguments == ["peers"] {
        return peers::list();
    }
    if arguments == ["summary"] {
        let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
        return println!("{}", summary::run(&record).unwrap_or_else(|reason| reason).trim_end());
    }
    let all = arguments.iter().any(|a| a == "all");
    let exact = arguments == ["ggml-exact"];
    let chosen: Vec<_> =
        TABLES.iter().filter(|(name, ..)| all || arguments.iter().any(|a| a == name)).collect();
    let (Some(blocks), true) = (blocks, exact || !chosen.is_empty()) else { usage() };
    let names: Vec<_> = match exact {
        true => tables::gguf_decode::names(),
        false => chosen.iter().flat_map(|(_, _, names)| names()).collect(),
    };
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        eprintln!("there is no line {unknown}; the lines are: {}", names.join(" "));
        std::process::exit(2);
    }
    if record && (quick || !only.is_empty()) {
        eprintln!("a record needs whole tables: leave out --quick and --only");
        std::process::exit(2);
    }
    std::fs::create_dir_all(&data).expect("the data folder can be made");
    std::fs::create_dir_all(&memory_data).expect("the folder in memory can be made");
    let setting = Setting { data, memory_data, only, quick, blocks };
    if exact {
        std::process::exit(exact::run(&setting));
    }
    if markdown && !json {
        println!("{}", machine::heading());
    }
    let failed = measure_each(&chosen, &setting, json, record);
    if !failed.is_empty() {
        eprintln!("failed: {}", failed.join(" "));
        std::process::exit(1);
    }
}

/// Measures and prints the tables, and records them if asked to; returns the names of those that
/// failed.
fn measure_each(
    chosen: &[&Choice],
    setting: &Setting,
    json: bool,
    record: bool,
) -> Vec<&'static str> {
    let heading = if record { machine::heading() } else { String::new() };
    let (mut tables, mut failed) = (Vec::new(), Vec::new());
    for (name, measure, _) in chosen {
        eprintln!("measuring {name} ..");
        // A table that fails has said why; the others can still be measured.
        let Ok(table) = std::panic::catch_unwind(|| measure(setting)) else {
            failed.push(*name);
            continue;
        };
        if !json {
            println!("{}", table.markdown());
        }
        if record {
            write_record(&heading, &table);
        }
        tables.push(table);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&tables).expect("tables are plain data"));
    }
    failed
}

/// Where a memory file system usually is.
const MEMORY: &str = "/dev/shm";

const MAKE_SOURCE: &str = "make-source";

/// What this program does as its own child, or when one source is wanted for a closer look.
fn child_program(arguments: &[String]) -> Option<std::io::Result<()>> {
    let (what, rest) = arguments.split_first()?;
    match what.as_str() {
        guard::JOB => Some(guard::child(rest)),
        copy_loop::COPY_LOOP => Some(copy_loop::child(rest)),
        decode_both::DECODE_BOTH => Some(decode_both::child(rest)),
        questions::CHILD => Some(questions::child(rest)),
        questions::mapping::CHILD => Some(questions::mapping::child(rest)),
        MAKE_SOURCE => Some(tables::convert::leave_source(rest).map_err(std::io::Error::other)),
        _ => None,
    }
}

/// Takes a flag out of the arguments.
fn flag(arguments: &mut Vec<String>, name: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != name);
    arguments.len() < before
}

/// Takes an option and its value out of the arguments.
fn value(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.drain(at..(at + 2).min(arguments.len())).nth(1)
}

fn usage() -> ! {
    let names: Vec<_> = TABLES.iter().map(|(name, ..)| *name).collect();
    eprintln!(
        "usage: bench [--json | --markdown] [--record] [--data DIR] [--memory-data DIR] [--only LINE,..] [--quick] all | TABLE...\n\
         \x20      bench [--only TYPE,..] [--blocks N] ggml-exact\n\
         \x20      bench make-source LINE DIR\n\
         \x20      bench guard [--bless] [PART-OF-A-NAME..]\n\
         \x20      bench peers\ntables: {}",
        names.join(", ")
    );
    std::process::exit(2);
}

/// Replaces the measured section of today's record and keeps the others.
fn write_record(heading: &str, measured: &Table) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record").join(machine::cpu_folder());
    let path = folder.join(format!("{}.md", machine::today()));
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let mut text = heading.to_owned();
    for (name, ..) in TABLES {
        let fresh = (measured.name == *name).then(|| measured.markdown());
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
