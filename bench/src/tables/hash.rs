//! Hashing: what is stored against b3sum on the same file, and values against decoding alone.

use std::path::Path;
use std::process::Command;

use weighbridge::DType;

use crate::harness::{Contestant, Rounds, Row, contest};
use crate::large::{Large, Layout, Payload};
use crate::table::{Line, Table};
use crate::{Setting, child, decode_both, program};

/// Ours may take this many times as long as b3sum with the same number of threads.
const BOUND: f64 = 1.2;

/// Name, how it is stored, numbers (1 GB and more), whether values are hashed.
const LINES: [(&str, Layout, u64, bool); 4] = [
    ("bf16", Layout::Plain(DType::BF16), 540_000_000, false),
    ("fp8-one-tensor", Layout::OneTensor, 1_080_000_000, false),
    ("values-bf16", Layout::Plain(DType::BF16), 270_000_000, true),
    ("values-q4_k", Layout::Gguf("Q4_K"), 270_000_000, true),
];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    LINES.iter().map(|(name, ..)| *name).collect()
}

pub fn measure(setting: &Setting) -> Table {
    let title = "weigh hash against b3sum, weigh hash --values against decoding, from memory";
    let mut table = Table::new("hash", title);
    let head = ["what", "threads", "bytes", "against", "its time, ms", "ours, ms", "ratio of best"];
    table.matrix.head = head.map(str::to_owned).to_vec();
    let weigh = program::release("weigh", None).expect("weigh can be built");
    let mut ratios = Vec::new();
    for line in LINES.iter().filter(|(name, ..)| setting.wants(name)) {
        for threads in [1, 2] {
            match one(setting, &weigh, line, threads) {
                Ok((cells, rows, ratio)) => {
                    eprintln!("  {}", cells.join(" | "));
                    table.matrix.lines.push(Line { cells, rows });
                    ratios.extend((!line.3).then_some((line.0, ratio)));
                }
                Err(reason) => table.notes.push(format!("{} is not measured: {reason}", line.0)),
            }
        }
    }
    let what = format!("at most {BOUND} times b3sum on the same bytes and threads, by best");
    crate::verdict::at_most(&mut table, what, &ratios, BOUND);
    table.notes.push(
        "Medians, best in brackets, of child programs in turns. b3sum maps its file and hashes all of \
         it, header included; ours reads by position. Decoding is this program, which decodes \
         everything to f32 with as many threads and does nothing with it; hashing values hashes those \
         four bytes a number as well, so there is no bound on it."
            .into(),
    );
    table
}

type Measured = (Vec<String>, Vec<Row>, f64);

fn one(
    setting: &Setting,
    weigh: &Path,
    (name, layout, numbers, values): &(&'static str, Layout, u64, bool),
    threads: usize,
) -> Result<Measured, String> {
    let numbers = if setting.quick { numbers / 4 } else { *numbers };
    let source = Large::make(&setting.memory_data, *layout, numbers, Payload::Random)?;
    let mut ours = Command::new(weigh);
    ours.arg("hash").arg(&source.model).args(["-q", "--no-mmap", "-j", &threads.to_string()]);
    let (against, other) = match values {
        true => {
            ours.arg("--values");
            ("decoding", decode_both::command(&[&source.model], threads))
        }
        false => {
            let b3sum = std::env::var_os("BENCH_B3SUM").unwrap_or_else(|| "b3sum".into());
            let mut command = Command::new(b3sum);
            command.args(["--num-threads", &threads.to_string()]).arg(&source.file);
            ("b3sum", command)
        }
    };
    run(&other)?;
    let timed = if setting.quick { 5 } else { 15 };
    let seconds = |command: Command| move || run(&command).expect("it ran before");
    let rows = contest(
        vec![
            Contestant::reporting(against, seconds(other)),
            Contestant::reporting("ours", seconds(ours)),
        ],
        Rounds { warm_up: 1, timed },
    );
    let time = |row: &Row| format!("{:.0} ({:.0})", row.median * 1e3, row.best * 1e3);
    let ratio = rows[1].best_ratio;
    let cells = vec![
        (*name).to_owned(),
        threads.to_string(),
        source.bytes.to_string(),
        against.to_owned(),
        time(&rows[0]),
        time(&rows[1]),
        format!("{ratio:.2}"),
    ];
    Ok((cells, rows, ratio))
}

/// The seconds of a child, or what it said.
fn run(command: &Command) -> Result<f64, String> {
    let cost = child::run_apart(command).map_err(|error| error.to_string())?;
    if cost.ok { Ok(cost.wall) } else { Err(cost.output) }
}
