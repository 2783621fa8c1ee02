//! What one more tensor costs: models of 10 to 100,000 tiny tensors.
//!
//! Opening and inspecting in every container, converting and comparing. A linear search for each
//! tensor would show here: the time per tensor must not grow with their number.

use std::path::{Path, PathBuf};
use std::process::Command;

use weighbridge::ops::{ConvertOptions, DiffOptions, OutputType, convert, diff};
use weighbridge::{FileAccess, Model};

use super::ours;
use crate::harness::{Contestant, Rounds, contest};
use crate::table::{Line, Table};
use crate::{Setting, child, fixtures, program, pth_file};

/// How many tensors, and how often each is measured.
const COUNTS: [(u64, usize); 5] = [(10, 200), (100, 100), (1_000, 40), (10_000, 15), (100_000, 5)];
/// The counts whose times per tensor are compared.
const FEW: u64 = 1_000;
const MANY: u64 = 100_000;
/// The time per tensor may grow by this factor.
const BOUND: f64 = 2.0;
/// Bytes of each tensor.
const BYTES: u64 = 128;

/// What is measured, by name.
const JOBS: [&str; 7] = ["safetensors", "gguf", "npz", "pth", "apr", "convert", "diff"];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    JOBS.to_vec()
}

pub fn measure(setting: &Setting) -> Table {
    let title = "open and inspect, convert and compare models of 10 to 100,000 tiny tensors";
    let mut table = Table::new("growth-tensors", title);
    let folder = setting.memory_data.join("growth");
    let counts: Vec<_> =
        COUNTS.into_iter().filter(|(count, _)| !setting.quick || *count < MANY).collect();
    let most = counts.last().expect("there are some").0;
    let weigh = program::release("weigh", None);
    table.matrix.head.push("µs a tensor".into());
    table.matrix.head.extend(counts.iter().map(|(count, _)| format!("{count} tensors")));
    table.matrix.head.push(format!("memory a tensor, bytes ({FEW} to {most})"));
    let mut grown = Vec::new();
    for job in JOBS.into_iter().filter(|job| setting.wants(job)) {
        eprintln!("  {job}");
        let mut line = Line { cells: vec![job.to_owned()], rows: vec![] };
        let mut peaks = Vec::new();
        for &(count, rounds) in &counts {
            let files = Files::make(&folder, job, count).expect("the input can be written");
            let rounds = Rounds { warm_up: 1, timed: if setting.quick { 3 } else { rounds } };
            let mut row = contest(vec![files.contestant(job)], rounds).remove(0);
            row.contestant = format!("{job}, {count} tensors");
            line.cells.push(micros(row.median, row.best, count));
            line.rows.push(row);
            if [FEW, most].contains(&count) {
                peaks.push(files.peak(job, weigh.as_deref()));
            }
        }
        let of = |count: u64| counts.iter().position(|(known, _)| *known == count);
        if let (Some(few), Some(many)) = (of(FEW), of(most)) {
            let each = |at: usize| line.rows[at].median / counts[at].0 as f64;
            grown.push((job, each(many) / each(few)));
        }
        line.cells.push(match peaks[..] {
            [Some(few), Some(many)] => format!("{}", many.saturating_sub(few) / (most - FEW)),
            _ => "-".into(),
        });
        eprintln!("    {}", line.cells[1..].join(" | "));
        table.matrix.lines.push(line);
    }
    let what = format!("the time of one tensor of {most} is at most {BOUND}x that of one of {FEW}");
    crate::verdict::at_most(&mut table, what, &grown, BOUND);
    if weigh.is_none() {
        table.notes.push("weigh could not be built: no memory of convert and diff".into());
    }
    table.notes.push(
        "Median, best in brackets; one process, mapped, warm. Memory is what the peak of a child \
         grows by: of the heap for opening, of the resident set for `weigh convert` and `weigh diff`. \
         Converting is from F16 to bf16, safetensors to safetensors, comparing is of source and \
         output, with all threads."
            .into(),
    );
    let _ = std::fs::remove_dir_all(&folder);
    table
}

fn micros(median: f64, best: f64, count: u64) -> String {
    let each = |seconds: f64| seconds * 1e6 / count as f64;
    format!("{:.2} ({:.2})", each(median), each(best))
}

/// The files of one measurement; they are removed when this is dropped.
struct Files {
    folder: PathBuf,
    /// What is opened or converted.
    source: PathBuf,
    /// What is written, or what the source is compared with.
    other: PathBuf,
}

impl Files {
    fn make(folder: &Path, job: &str, count: u64) -> std::io::Result<Self> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder)?;
        let ending = if ["convert", "diff"].contains(&job) { "safetensors" } else { job };
        let source = folder.join(format!("model.{ending}"));
        let files = Self { folder: folder.into(), source, other: folder.join("out.safetensors") };
        match job {
            "gguf" => fixtures::gguf(&files.source, 300, count, BYTES)?,
            "apr" => fixtures::apr(&files.source, count, BYTES)?,
            "pth" => pth_file::write(&files.source, count, BYTES, fixtures::layer_name)?,
            "npz" => {
                let plain = folder.join("plain.safetensors");
                fixtures::safetensors(&plain, count, BYTES)?;
                let model = Model::open(&plain).map_err(std::io::Error::other)?;
                convert(&model, &ConvertOptions::new(&files.source))
                    .map_err(std::io::Error::other)?;
            }
            _ => fixtures::safetensors(&files.source, count, BYTES)?,
        }
        if job == "diff" {
            files.convert();
        }
        Ok(files)
    }

    fn convert(&self) {
        let model = Model::open(&self.source).expect("it opens");
        let options = ConvertOptions::new(&self.other).dtype(OutputType::Bf16).force(true);
        convert(&model, &options).expect("it can be converted");
    }

    fn diff(&self) {
        let [a, b] = [&self.source, &self.other].map(|path| Model::open(path).expect("it opens"));
        let options = DiffOptions::default();
        std::hint::black_box(diff(&a, &b, &options).expect("they can be compared"));
    }

    fn contestant(&self, job: &str) -> Contestant<'_> {
        match job {
            "convert" => Contestant::timed(job, || self.convert()),
            "diff" => Contestant::timed(job, || self.diff()),
            _ => Contestant::timed(job, || ours(&self.source, FileAccess::Map)),
        }
    }

    /// The most memory that a separate child held at once.
    fn peak(&self, job: &str, weigh: Option<&Path>) -> Option<u64> {
        let mut command = match job {
            "convert" | "diff" => Command::new(weigh?),
            _ => {
                let program = program::helper("open_cost");
                let cost = child::run(Command::new(program).arg(&self.source)).ok()?;
                let measured: serde_json::Value = serde_json::from_str(&cost.output).ok()?;
                return measured["peak_heap"].as_u64();
            }
        };
        match job {
            "convert" => {
                command.args(["convert", "-q", "--force", "--dtype", "bf16", "-o"]).arg(&self.other)
            }
            _ => command.args(["diff", "-q"]).arg(&self.other),
        };
        // For diff, a difference is a result, not a failure.
        let cost = child::run_apart(command.arg(&self.source)).ok()?;
        Some(cost.peak)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
