//! The statistics of a whole model, against reading and decoding it.
//!
//! The model lies on a memory file system. Both contestants are child programs and have all workers.

use std::fs;
use std::path::Path;
use std::process::Command;

use weighbridge::DType;

use crate::harness::{Contestant, Rounds, contest};
use crate::large::{Large, Layout, Payload};
use crate::table::{Line, Table, seconds};
use crate::{Setting, child, decode_both, program};

/// Numbers of a model: 0.9 GB at 16 bits.
const NUMBERS: u64 = 452_000_000;

const OURS: &str = "weigh stats";
const LIMIT: &str = "decode";
/// How many times the limit ours may take.
const BOUND: f64 = 2.0;

const CASES: &[(&str, Layout)] = &[
    ("bf16", Layout::Plain(DType::BF16)),
    ("q4_k", Layout::Gguf("Q4_K")),
    ("q8_0", Layout::Gguf("Q8_0")),
    ("fp8-block", Layout::Scheme("fp8-block")),
];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.0).collect()
}

pub fn measure(setting: &Setting) -> Table {
    let mut table = Table::new("stats", "the statistics of all weights, files in memory");
    let weigh = program::release("weigh", None).expect("weigh can be built");
    table.matrix.head = ["model", "contestant", "best", "median", "p10 to p90", "x ours"]
        .map(str::to_owned)
        .to_vec();
    for &(name, layout) in CASES.iter().filter(|case| setting.wants(case.0)) {
        eprintln!("  {name}");
        let folder = setting.memory_data.join("stats");
        match Large::make(&folder, layout, NUMBERS, Payload::Random) {
            Ok(model) => run(name, &model, &weigh, setting, &mut table),
            Err(reason) => table.notes.push(format!("{name} is not measured: {reason}")),
        }
        drop(fs::remove_dir_all(folder));
    }
    table
}

fn run(name: &str, model: &Large, weigh: &Path, setting: &Setting, table: &mut Table) {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ours = Command::new(weigh);
    ours.arg("stats").arg(&model.model).args(["-q", "--no-mmap", "-j", &workers.to_string()]);
    let limit = decode_both::command(&[&model.model], workers);
    let turn = |command: &Command| {
        let cost = child::run_apart(command).expect("the child can be measured");
        // Random bits may be NaN, which is an answer and not a failure.
        let is_done = cost.ok || cost.output.is_empty();
        if is_done { cost.wall } else { f64::INFINITY }
    };
    let contestants = vec![
        Contestant::reporting(OURS, || turn(&ours)),
        Contestant::reporting(LIMIT, || turn(&limit)),
    ];
    let timed = if setting.quick { 3 } else { 9 };
    for row in contest(contestants, Rounds { warm_up: 1, timed }) {
        let spread = format!("{} to {}", seconds(row.low), seconds(row.high));
        let ratio = format!("{:.2}", row.median_ratio);
        let cells = vec![
            name.into(),
            row.contestant.clone(),
            seconds(row.best),
            seconds(row.median),
            spread,
            ratio,
        ];
        eprintln!("    {}", cells[1..].join(" | "));
        if row.contestant == LIMIT {
            let best = 1.0 / row.best_ratio;
            let what = format!(
                "{name}: ours takes at most {BOUND}x as long as `{LIMIT}` (best: {best:.2})"
            );
            table.bounded(what, 1.0 / row.median_ratio, BOUND);
        }
        table.matrix.lines.push(Line { cells, rows: vec![row] });
    }
}
