//! A repository in BF16 into a quantized model: a GGUF file against llama-quantize, which reads a
//! BF16 GGUF file of the same model; schemes of repositories against the least that must be done.
//!
//! The repository is a Qwen 2 of 4 GB with a vocabulary of 151,936 tokens and normal weights, on a
//! memory file system; every output is written there too, and removed after each turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::blocks::Noise;
use crate::copy_loop::Copy;
use crate::cost::Cost;
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::table::{Line, Table, seconds};
use crate::tables::to_gguf::{TOKENS, repository};
use crate::{Setting, child, program};

/// A type; whether it is one of GGUF's; the bound: times as fast as llama-quantize at least, or times
/// the copy loop at the most.
const LINES: &[(&str, bool, f64)] = &[
    ("Q4_K_M", true, 8.0),
    ("Q8_0", true, 1.0),
    ("Q6_K", true, 1.0),
    ("bnb-nf4", false, 2.0),
    ("fp8", false, 2.0),
    ("fp8-block", false, 2.0),
];

/// MiB that ours may take besides headers and vocabulary, and what is allowed for those two.
const MEMORY: f64 = 64.0;
const VOCABULARY: f64 = 32.0;

/// Layers, and those of a quick run.
const LAYERS: (u64, u64) = (28, 4);

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    LINES.iter().map(|(name, ..)| *name).collect()
}

pub fn measure(setting: &Setting) -> Table {
    let title = "a repository in BF16 into a quantized model, files in memory";
    let mut table = Table::new("quantize-model", title);
    table.matrix.head =
        ["type", "contestant", "best", "median", "x ours", "peak, MiB"].map(str::to_owned).to_vec();
    let weigh = program::release("weigh", None).expect("weigh can be built");
    let folder = setting.memory_data.join("quantize");
    let layers = if setting.quick { LAYERS.1 } else { LAYERS.0 };
    let mut noise = Noise(1);
    let numbers: Vec<u8> = (0..1 << 22)
        .flat_map(|_| weighbridge::bf16::from_f32(noise.weight()).to_le_bytes())
        .collect();
    let bytes = match repository(&folder, layers, TOKENS, &numbers) {
        Ok(bytes) => bytes,
        Err(error) => {
            table.notes.push(format!("nothing is measured: {error}"));
            return table;
        }
    };
    for &(name, is_gguf, bound) in LINES.iter().filter(|(name, ..)| setting.wants(name)) {
        let of = Contest { name, is_gguf, bound, folder: &folder, bytes, weigh: &weigh };
        of.run(setting, &mut table);
    }
    drop(fs::remove_dir_all(folder));
    table
}

struct Contest<'a> {
    name: &'static str,
    is_gguf: bool,
    bound: f64,
    folder: &'a Path,
    bytes: u64,
    weigh: &'a Path,
}

impl Contest<'_> {
    fn run(&self, setting: &Setting, table: &mut Table) {
        let Self { name, is_gguf, folder, weigh, .. } = *self;
        let workers = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        let out = folder.join(if is_gguf { "out.gguf" } else { "out" });
        let mut ours = Command::new(weigh);
        ours.arg("quantize").arg(folder.join("model")).arg("-o").arg(&out);
        ours.args(["--type", name, "-q", "--no-mmap", "-j", &workers]);
        let first = turn(&ours, &out, true);
        if !first.ok {
            table.notes.push(format!("{name} is not measured: {}", first.output.trim_end()));
            return;
        }
        let written = size_of(&out);
        remove(&out);
        let mut all = vec![("weigh quantize", ours)];
        match is_gguf {
            true => match self.peer(&out, &workers) {
                Ok(command) => all.push(("llama-quantize", command)),
                Err(missing) => table.notes.push(missing),
            },
            false => {
                let (input, output) = (folder.join("model/model.safetensors"), folder.join("copy"));
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                let limit = Copy {
                    input: &input,
                    output: &output,
                    bytes: self.bytes,
                    threads,
                    sync: false,
                };
                all.push(("copy loop", limit.command()));
            }
        }
        let rows = self.contest(&all, &out, setting);
        table.figure(format!("{name}, bytes written"), written.to_string());
        self.judge(&rows, first.peak as f64 / f64::from(1 << 20), table);
    }

    /// Takes turns.
    fn contest(&self, all: &[(&str, Command)], out: &Path, setting: &Setting) -> Vec<Row> {
        let timed = |command| {
            let cost = turn(command, out, false);
            remove(&self.folder.join("copy"));
            if cost.ok { cost.wall } else { f64::INFINITY }
        };
        let contestants = all
            .iter()
            .map(|(name, command)| Contestant::reporting(name, || timed(command)))
            .collect();
        let rounds = Rounds { warm_up: 0, timed: if setting.quick { 2 } else { 3 } };
        contest(contestants, rounds)
    }

    /// Writes the lines, and what was to be reached.
    fn judge(&self, rows: &[Row], peak: f64, table: &mut Table) {
        let Self { name, is_gguf, bound, .. } = *self;
        for row in rows {
            let cells = vec![
                name.into(),
                row.contestant.clone(),
                seconds(row.best),
                seconds(row.median),
                format!("{:.2}", row.median_ratio),
                if row.contestant == rows[0].contestant {
                    format!("{peak:.0}")
                } else {
                    String::new()
                },
            ];
            eprintln!("  {}", cells.join(" | "));
            table.matrix.lines.push(Line { cells, rows: vec![row.clone()] });
        }
        match (is_gguf, rows.get(1)) {
            (true, Some(peer)) => {
                table.reaches(
                    format!("{name}, times as fast as llama-quantize"),
                    peer.median_ratio,
                    bound,
                );
            }
            (false, Some(limit)) => {
                table.bounded(
                    format!("{name}, times the copy loop"),
                    1.0 / limit.median_ratio,
                    bound,
                );
            }
            _ => {}
        }
        table.bounded(format!("{name}, MiB at the most"), peak, MEMORY + VOCABULARY);
    }

    /// llama-quantize on a BF16 GGUF file of the same model, or how to get it.
    fn peer(&self, out: &Path, workers: &str) -> Result<Command, String> {
        let how = "llama-quantize is missing: build llama.cpp as oracles/quantize_files.py says, and \
                   set BENCH_LLAMA_QUANTIZE to it";
        let program = std::env::var_os("BENCH_LLAMA_QUANTIZE").map(PathBuf::from).ok_or(how)?;
        let source = self.folder.join("bf16.gguf");
        if !source.exists() {
            let mut convert = Command::new(self.weigh);
            convert.arg("convert").arg(self.folder.join("model")).arg("-o").arg(&source);
            let made = child::run_apart(convert.args(["--dtype", "bf16", "-q"]));
            made.ok().filter(|cost| cost.ok).ok_or("the model cannot be converted to GGUF")?;
        }
        let mut command = Command::new(program);
        command.arg(source).arg(out).args([self.name, workers]);
        Ok(command)
    }
}

/// One run, whose output is removed unless it is to be looked at.
fn turn(command: &Command, out: &Path, keeps: bool) -> Cost {
    let cost = child::run_apart(command).expect("the child can be measured");
    if !keeps {
        remove(out);
    }
    cost
}

fn remove(out: &Path) {
    drop(fs::remove_file(out));
    drop(fs::remove_dir_all(out));
}

fn size_of(out: &Path) -> u64 {
    if out.is_file() {
        return fs::metadata(out).map_or(0, |of| of.len());
    }
    let files = fs::read_dir(out).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|of| of.len()).sum()
}
