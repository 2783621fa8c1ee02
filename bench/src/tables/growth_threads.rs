//! What more threads gain: decoding, converting and comparing with one thread and with more,
//! beside what the same threads gain where every byte is only read and written.

use std::path::Path;
use std::process::Command;

use weighbridge::internals::blocks::Block;
use weighbridge::{Scratch, Weight, bf16};

use super::scheme_decode::cases::CASES;
use super::scheme_decode::checkpoint::Checkpoint;
use crate::buffer::Buffer;
use crate::copy_loop::Copy;
use crate::decoding::{COLUMNS, ROWS, Subject};
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::large::{Large, Layout, Payload};
use crate::random_blocks::{BlockFile, Scales};
use crate::table::{Line, Table};
use crate::{Setting, child, limit, program};

/// Numbers of the model that is converted.
const NUMBERS: u64 = 540_000_000;
/// Ours must gain this share of what the limit gains.
const SHARE: f64 = 0.9;

const JOBS: [&str; 4] = ["decode-q4_k", "decode-fp8", "convert-fp8", "diff-fp8"];

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    JOBS.to_vec()
}

pub fn measure(setting: &Setting) -> Table {
    let title = "decode to bf16, convert and compare with one thread and with more";
    let mut table = Table::new("growth-threads", title);
    table.matrix.head =
        ["what", "threads", "limit, ms", "ours, ms", "limit's gain", "our gain", "share of it"]
            .map(str::to_owned)
            .to_vec();
    let mut shares = Vec::new();
    for job in JOBS.into_iter().filter(|job| setting.wants(job)) {
        eprintln!("  {job}");
        match rows(setting, job) {
            Ok(rows) => shares.extend(lines(&mut table, job, &rows).map(|share| (job, share))),
            Err(reason) => table.notes.push(format!("{job} is not measured: {reason}")),
        }
    }
    let what = format!("all threads gain at least {SHARE} of what the limit gains with them");
    crate::verdict::at_least(&mut table, what, &shares, SHARE);
    table.notes.push(
        "Medians, best in brackets; gains are by best over the best with one thread. The limit of \
         decoding reads and writes the same bytes in memory with as many threads; that of \
         converting and comparing is the copy loop as a child program (for comparing it only reads)."
            .into(),
    );
    table
}

/// 1, 2, 4 .. and all of them.
fn thread_counts() -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<_> =
        std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < all).collect();
    counts.push(all);
    counts
}

/// The limit and ours, in that order, for each thread count.
fn rows(setting: &Setting, job: &str) -> Result<Vec<Row>, String> {
    let timed = if setting.quick { 5 } else { 15 };
    let rounds = Rounds { warm_up: 1, timed };
    match job {
        "decode-q4_k" => {
            let block = Block::from_name("Q4_K").expect("it is a type");
            let file = BlockFile::new(block, ROWS, COLUMNS, Scales::Sane, 1);
            Ok(decoding(&file.subject(), rounds))
        }
        "decode-fp8" => {
            let case = CASES.iter().find(|case| case.name == "fp8-block").expect("it is a line");
            Ok(decoding(&Checkpoint::new(&setting.memory_data, case).subject(), rounds))
        }
        _ => children(setting, job, Rounds { timed: timed.min(7), ..rounds }),
    }
}

fn decoding(subject: &Subject<'_>, rounds: Rounds) -> Vec<Row> {
    let bytes = (ROWS * COLUMNS * 2) as usize;
    let buffer = &std::cell::RefCell::new(Buffer::new(bytes));
    let mut all = Vec::new();
    for threads in thread_counts() {
        all.push(Contestant::timed(&format!("limit, {threads}"), move || {
            pass(&subject.parts, buffer.borrow_mut().bytes(bytes), threads);
        }));
        all.push(Contestant::timed(&format!("ours, {threads}"), move || {
            decode(&subject.weight, buffer.borrow_mut().view(bytes / 2), threads);
        }));
    }
    contest(all, rounds)
}

/// Deals out rows evenly, in stretches that hold whole tiles of scales.
fn decode(weight: &Weight, out: &mut [bf16], threads: usize) {
    let (rows, columns) = weight.rows_and_columns();
    let step = rows.div_ceil(threads as u64).next_multiple_of(128);
    std::thread::scope(|scope| {
        for (index, out) in out.chunks_mut((step * columns) as usize).enumerate() {
            let start = index as u64 * step;
            let mine = start..(start + step).min(rows);
            let work = move || {
                weight.decode_rows_with(mine, out, &mut Scratch::default()).expect("it decodes");
            };
            // The last one is for this thread.
            if start + step < rows { drop(scope.spawn(work)) } else { work() }
        }
    });
}

fn pass(parts: &[&[u8]], out: &mut [u8], threads: usize) {
    let share = |len: usize, thread: usize| len * thread / threads / 512 * 512;
    std::thread::scope(|scope| {
        let mut rest = out;
        for thread in 0..threads {
            let last = thread + 1 == threads;
            let len =
                if last { rest.len() } else { share(ROWS as usize * COLUMNS as usize * 2, 1) };
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(len);
            rest = others;
            let parts: Vec<&[u8]> = parts
                .iter()
                .map(|part| {
                    let at = |thread| part.len() * thread / threads;
                    &part[at(thread)..at(thread + 1)]
                })
                .collect();
            let mut work = move || limit::pass_parts::<2>(&parts, mine);
            if last { work() } else { drop(scope.spawn(work)) }
        }
    });
}

/// Converting and comparing, as child programs on the memory file system.
fn children(setting: &Setting, job: &str, rounds: Rounds) -> Result<Vec<Row>, String> {
    let weigh = program::release("weigh", None).ok_or("weigh could not be built")?;
    let numbers = if setting.quick { NUMBERS / 4 } else { NUMBERS };
    let folder = &setting.memory_data;
    let layout = Layout::Scheme("fp8-block");
    let source = Large::make(folder, layout, numbers, Payload::Random)?;
    let output = Output(folder.join("growth.safetensors"));
    let written = run(&ours(&weigh, "convert-fp8", &source, &output.0, 1))
        .and_then(|_| Ok(std::fs::metadata(&output.0).map_err(|e| e.to_string())?.len()))?;
    let copied = Output(folder.join("growth-copied"));
    let nowhere = Path::new("/dev/null");
    let mut all = Vec::new();
    for threads in thread_counts() {
        let (input, to): (_, &Path) = match job {
            "diff-fp8" => (&output.0, nowhere),
            _ => (&source.file, &copied.0),
        };
        let copy = Copy { input, output: to, bytes: written, threads, sync: false }.command();
        all.push(Contestant::reporting(&format!("limit, {threads}"), move || {
            run(&copy).expect("the loop copies")
        }));
        let command = ours(&weigh, job, &source, &output.0, threads);
        all.push(Contestant::reporting(&format!("ours, {threads}"), move || {
            run(&command).expect("weigh does its work")
        }));
    }
    Ok(contest(all, rounds))
}

fn ours(weigh: &Path, job: &str, source: &Large, output: &Path, threads: usize) -> Command {
    let mut command = Command::new(weigh);
    match job {
        "diff-fp8" => command.arg("diff").arg(&source.model).arg(output),
        _ => command.arg("convert").arg(&source.model).arg("--force").arg("-o").arg(output),
    };
    command.args(["-q", "--no-mmap", "-j", &threads.to_string()]);
    command
}

/// The seconds of a child, or what it said.
fn run(command: &Command) -> Result<f64, String> {
    let cost = child::run_apart(command).map_err(|error| error.to_string())?;
    if cost.ok { Ok(cost.wall) } else { Err(cost.output) }
}

/// A file that is removed when this is dropped.
struct Output(std::path::PathBuf);

impl Drop for Output {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the lines of a job; returns the share of the limit's gain with all threads, if there is
/// more than one.
fn lines(table: &mut Table, job: &str, rows: &[Row]) -> Option<f64> {
    let mut last = None;
    for (threads, pair) in thread_counts().into_iter().zip(rows.chunks_exact(2)) {
        let time = |row: &Row| format!("{:.1} ({:.1})", row.median * 1e3, row.best * 1e3);
        let [limit, ours] = [0, 1].map(|who| rows[who].best / pair[who].best);
        let cells = vec![
            job.to_owned(),
            threads.to_string(),
            time(&pair[0]),
            time(&pair[1]),
            format!("{limit:.2}"),
            format!("{ours:.2}"),
            format!("{:.2}", ours / limit),
        ];
        eprintln!("    {}", cells[1..].join(" | "));
        table.matrix.lines.push(Line { cells, rows: pair.to_vec() });
        last = (threads > 1).then_some(ours / limit);
    }
    last
}
