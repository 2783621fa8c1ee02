//! Whole comparisons: against reading and decoding both sides, against `cmp`, and against other
//! tools.
//!
//! Both sides lie on a memory file system. Every contestant is a child program. The weights of
//! different models all differ, which is the most work: equal pieces need fewer sums.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weighbridge::DType;

use crate::cost::Cost;
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::large::{Large, Layout, Payload};
use crate::table::{Line, Table, seconds};
use crate::{Setting, child, decode_both, program, verdict};

/// Numbers on each side: 2.2 GB at 16 bits.
const NUMBERS: u64 = 1_080_000_000;
/// Numbers of the pair that everyone can read: aprender's program takes half a minute for it.
const FEWER: u64 = 226_000_000;

const MIB: f64 = (1 << 20) as f64;
/// MiB that a comparison may take, headers included.
const MEMORY: f64 = 64.0;

const OURS: &str = "weigh diff";
const OURS_ALONE: &str = "weigh diff -j 1";
const LIMIT: &str = "decode both";
const CMP: &str = "cmp";
const PYTHON: &str = "Python";
const APR: &str = "apr diff";

/// One line.
struct Case {
    name: &'static str,
    sides: [Layout; 2],
    numbers: u64,
    /// What Python needs to read them.
    python: &'static str,
    /// Who sets the limit, and how many times the limit ours may take.
    limit: (&'static str, f64),
    /// Whether aprender's program reads both.
    apr: bool,
}

const BF16: Layout = Layout::Plain(DType::BF16);

const CASES: &[Case] = &[
    Case {
        name: "bf16-q4_k",
        sides: [BF16, Layout::Gguf("Q4_K")],
        numbers: NUMBERS,
        python: "torch,gguf",
        limit: (LIMIT, 2.0),
        apr: false,
    },
    Case {
        name: "fp8-bf16",
        sides: [Layout::Scheme("fp8-block"), BF16],
        numbers: NUMBERS,
        python: "torch",
        limit: (LIMIT, 2.0),
        apr: false,
    },
    Case {
        name: "bf16-same",
        sides: [BF16, BF16],
        numbers: NUMBERS,
        python: "torch",
        limit: (CMP, 1.2),
        apr: false,
    },
    Case {
        name: "q4_k-q8_0",
        sides: [Layout::Gguf("Q4_K"), Layout::Gguf("Q8_0")],
        numbers: FEWER,
        python: "gguf",
        limit: (LIMIT, 2.0),
        apr: true,
    },
];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

/// A program of the contest.
struct Entry {
    name: &'static str,
    command: Command,
    turns: usize,
    costs: RefCell<Vec<Cost>>,
}

impl Entry {
    fn new(name: &'static str, command: Command, turns: usize) -> Self {
        Self { name, command, turns, costs: RefCell::default() }
    }

    fn turn(&self) -> f64 {
        let cost = child::run_apart(&self.command).expect("the child can be measured");
        let wall = if cost.ok { cost.wall } else { f64::INFINITY };
        self.costs.borrow_mut().push(cost);
        wall
    }

    /// The largest resident set it ever had, in MiB.
    fn peak(&self) -> f64 {
        self.costs.borrow().iter().map(|cost| cost.peak).max().unwrap_or(0) as f64 / MIB
    }
}

pub fn measure(setting: &Setting) -> Table {
    let mut table = Table::new("diff", "compare two models by value, files in memory");
    let weigh = program::release("weigh", None).expect("weigh can be built");
    let apr = std::env::var_os("BENCH_APR").map_or_else(|| "apr".into(), PathBuf::from);
    let apr =
        child::run(Command::new(&apr).arg("--version")).is_ok_and(|cost| cost.ok).then_some(apr);
    if apr.is_none() {
        table.notes.push(
            "aprender's program is missing: cargo install apr-cli --version 0.72.3, and set \
             BENCH_APR to it unless it is on the path as `apr`"
                .into(),
        );
    }
    table.matrix.head =
        ["pair", "contestant", "best", "median", "p10 to p90", "x ours", "CPU", "peak MiB"]
            .map(str::to_owned)
            .to_vec();
    let mut all = Judged::default();
    for case in CASES.iter().filter(|case| setting.wants(case.name)) {
        eprintln!("  {}", case.name);
        let folders = ["a", "b"].map(|side| setting.memory_data.join(side));
        let make = |side: usize| {
            Large::make(&folders[side], case.sides[side], case.numbers, Payload::Random)
        };
        match make(0).and_then(|a| Ok((a, make(1)?))) {
            Ok((a, b)) => {
                let entries =
                    entries(case, [&a, &b], &weigh, apr.as_deref(), setting, &mut table.notes);
                run(case, &entries, setting, &mut table, &mut all);
            }
            Err(reason) => table.notes.push(format!("{} is not measured: {reason}", case.name)),
        }
        folders.iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
    }
    all.judge(&mut table);
    table
}

fn ours(weigh: &Path, [a, b]: [&Large; 2], threads: usize) -> Command {
    let mut command = Command::new(weigh);
    command.arg("diff").arg(&a.model).arg(&b.model);
    // No cosine is below this bound: an exit code of 1 would look like a failure.
    command.args(["--fail-over", "cosine<-2", "-q", "--no-mmap", "-j", &threads.to_string()]);
    command
}

fn entries(
    case: &Case,
    sides: [&Large; 2],
    weigh: &Path,
    apr: Option<&Path>,
    setting: &Setting,
    notes: &mut Vec<String>,
) -> Vec<Entry> {
    let [a, b] = sides;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut entries = vec![
        Entry::new(OURS, ours(weigh, sides, workers), usize::MAX),
        Entry::new(OURS_ALONE, ours(weigh, sides, 1), usize::MAX),
    ];
    if case.limit.0 == CMP {
        let mut command = Command::new("cmp");
        command.arg(&a.file).arg(&b.file);
        entries.push(Entry::new(CMP, command, usize::MAX));
    } else {
        let command = decode_both::command(&[&a.model, &b.model], workers);
        entries.push(Entry::new(LIMIT, command, usize::MAX));
    }
    if setting.quick {
        return entries;
    }
    if let Some(apr) = apr.filter(|_| case.apr) {
        let mut command = Command::new(apr);
        command
            .arg("diff")
            .arg(&a.file)
            .arg(&b.file)
            .args(["--values", "--json", "--limit", "1000000"]);
        entries.push(Entry::new(APR, command, 2));
    }
    match child::python_with(case.python) {
        Some(python) => {
            let mut command = Command::new(python);
            command.arg(child::script("diff.py")).arg(&a.file).arg(&b.file);
            entries.push(Entry::new(PYTHON, command, 2));
        }
        None => notes.push(child::missing(case.python)),
    }
    entries
}

fn run(
    case: &'static Case,
    entries: &[Entry],
    setting: &Setting,
    table: &mut Table,
    all: &mut Judged,
) {
    let turns = entries
        .iter()
        .map(|entry| Contestant::reporting(entry.name, || entry.turn()).turns(entry.turns));
    let timed = if setting.quick { 3 } else { 9 };
    let rows = contest(turns.collect(), Rounds { warm_up: 1, timed });
    for (row, entry) in rows.iter().zip(entries) {
        if let Some(failure) = entry.costs.borrow().iter().find(|cost| !cost.ok) {
            let said = failure.output.lines().next_back().unwrap_or("it says nothing").to_owned();
            table.notes.push(format!("{}: {} fails: {said}", case.name, entry.name));
            continue;
        }
        let cells = cells(case, row, entry);
        eprintln!("    {}", cells[1..].join(" | "));
        table.matrix.lines.push(Line { cells, rows: vec![row.clone()] });
        if entry.name == case.limit.0 {
            all.limits.push((case, 1.0 / row.median_ratio, 1.0 / row.best_ratio));
        }
        if [PYTHON, APR].contains(&entry.name) {
            all.peers.push((case, entry.name, row.median_ratio));
        }
        if entry.name == OURS {
            all.peaks.push((case.name, entry.peak()));
        }
    }
}

fn cells(case: &Case, row: &Row, entry: &Entry) -> Vec<String> {
    let costs = entry.costs.borrow();
    let mut cpu: Vec<f64> = costs.iter().map(|cost| cost.cpu).collect();
    cpu.sort_by(f64::total_cmp);
    vec![
        case.name.into(),
        entry.name.into(),
        seconds(row.best),
        seconds(row.median),
        format!("{} to {}", seconds(row.low), seconds(row.high)),
        format!("{:.2}", row.median_ratio),
        seconds(cpu[cpu.len() / 2]),
        format!("{:.1}", entry.peak()),
    ]
}

/// What the targets are judged by.
#[derive(Default)]
struct Judged {
    limits: Vec<(&'static Case, f64, f64)>,
    peers: Vec<(&'static Case, &'static str, f64)>,
    peaks: Vec<(&'static str, f64)>,
}

impl Judged {
    fn judge(self, table: &mut Table) {
        for (case, median, best) in self.limits {
            let (who, bound) = case.limit;
            table.bounded(
                format!(
                    "{}: ours takes at most {bound}x as long as `{who}` (best: {best:.2})",
                    case.name
                ),
                median,
                bound,
            );
        }
        for (case, who, ratio) in self.peers {
            table.reaches(
                format!("{}: {who} takes at least 10x as long as ours", case.name),
                ratio,
                10.0,
            );
        }
        verdict::at_most(
            table,
            format!("at most {MEMORY} MiB, headers included"),
            &self.peaks,
            MEMORY,
        );
    }
}
