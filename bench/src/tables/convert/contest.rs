//! One conversion, done by everyone in turns.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cases::{Case, Place};
use super::peers::Peers;
use crate::child;
use crate::copy_loop::Copy;
use crate::cost::{Cost, Moved};
use crate::harness::{Contestant, Rounds, Row, contest, summary};
use crate::large::Large;

/// The contestants that always take part, and how many threads each has.
pub const LIMITS: [(&str, usize); 2] = [("limit, 2 threads", 2), ("limit, 1 thread", 1)];
pub const OURS: [(&str, usize); 2] = [("weigh -j 2", 2), ("weigh -j 1", 1)];

/// The system's own copy of the source, which is often smaller than the output.
pub const CP: &str = "cp of the source";

/// Ours, comparing its output with the source.
pub const VERIFY: &str = "weigh verify";

/// What everyone achieved.
pub struct Outcome {
    /// Times.
    pub rows: Vec<Row>,
    /// The cost of every turn, for each row.
    pub costs: Vec<Vec<Cost>>,
    /// Bytes that are read and written.
    pub bytes: u64,
    /// Contestants that failed, and what they said.
    pub failed: Vec<String>,
}

/// A program of the contest.
struct Entry {
    name: String,
    command: Command,
    /// Turns it may take.
    turns: usize,
    costs: RefCell<Vec<Cost>>,
}

impl Entry {
    fn new(name: &str, command: Command, turns: usize) -> Self {
        Self { name: name.into(), command, turns, costs: RefCell::default() }
    }

    /// One turn, into an empty place; returns its seconds, infinity if it fails.
    fn turn(&self, output: &Path) -> f64 {
        remove(output);
        let cost = child::run_apart(&self.command).expect("the child can be measured");
        let wall = if cost.ok { cost.wall } else { f64::INFINITY };
        self.costs.borrow_mut().push(cost);
        // Keep only one output at a time.
        remove(output);
        wall
    }
}

/// What a program said last.
fn last_line(output: &str) -> &str {
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next_back().unwrap_or("it says nothing")
}

/// Runs ours; an error says why it failed.
fn run(command: &Command) -> Result<Cost, String> {
    let cost = child::run_apart(command).map_err(|error| error.to_string())?;
    if cost.ok { Ok(cost) } else { Err(cost.output) }
}

fn remove(output: &Path) {
    if output.starts_with("/dev/null") {
        return;
    }
    let _ = fs::remove_file(output);
    let _ = fs::remove_dir_all(output);
}

/// Lets everyone convert `source`; an error says why ours cannot.
pub fn run_all(
    case: &Case,
    source: &Large,
    folder: &Path,
    peers: &Peers,
    timed: usize,
) -> Result<Outcome, String> {
    let output = match case.output {
        "-" => PathBuf::from("-"),
        name => folder.join(name),
    };
    remove(&output);
    run(&peers.ours(case, source, &output, 2))?;
    let verified = match case.output {
        "-" => vec![],
        _ => (0..3).map(|_| run(&peers.verify(source, &output))).collect::<Result<_, _>>()?,
    };
    let written = size(&output).unwrap_or_else(|| peers.stdout_bytes(case, source));
    let copied = match case.output {
        "-" => PathBuf::from("/dev/null"),
        _ => folder.join("copied"),
    };
    let mut entries = Vec::new();
    for (name, threads) in LIMITS {
        let sync = case.place == Place::Disk;
        let copy = Copy { input: &source.file, output: &copied, bytes: written, threads, sync };
        entries.push((Entry::new(name, copy.command(), usize::MAX), copied.clone()));
    }
    if case.output != "-" {
        let mut command = Command::new("cp");
        command.arg("--reflink=never").arg(&source.file).arg(&copied);
        entries.push((Entry::new(CP, command, usize::MAX), copied.clone()));
    }
    for (name, threads) in OURS {
        let command = peers.ours(case, source, &output, threads);
        entries.push((Entry::new(name, command, usize::MAX), output.clone()));
    }
    for (name, command) in peers.others(case, source, &output) {
        entries.push((Entry::new(name, command, 4), output.clone()));
    }
    let turns = entries.iter().map(|(entry, place)| {
        Contestant::reporting(&entry.name, || entry.turn(place)).turns(entry.turns)
    });
    let rows = contest(turns.collect(), Rounds { warm_up: 1, timed });
    let costs = entries.into_iter().map(|(entry, _)| entry.costs.into_inner());
    let mut outcome =
        Outcome { rows: vec![], costs: vec![], bytes: source.bytes + written, failed: vec![] };
    for (row, costs) in rows.into_iter().zip(costs) {
        if let Some(failure) = costs.iter().find(|cost| !cost.ok) {
            let said = last_line(&failure.output);
            assert!(!row.contestant.starts_with("weigh"), "{}: {}", case.name, failure.output);
            outcome.failed.push(format!("{}: {} fails: {said}", case.name, row.contestant));
        } else {
            outcome.rows.push(row);
            outcome.costs.push(costs);
        }
    }
    if !verified.is_empty() {
        outcome.rows.push(summary(VERIFY, verified.iter().map(|cost| cost.wall).collect()));
        outcome.costs.push(verified);
    }
    Ok(outcome)
}

/// Bytes of what was written.
fn size(output: &Path) -> Option<u64> {
    let about = fs::metadata(output).ok()?;
    if about.is_file() {
        return Some(about.len());
    }
    let files = fs::read_dir(output).ok()?.flatten();
    Some(files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum())
}

impl Outcome {
    /// The largest resident set that a contestant ever had.
    pub fn peak(&self, name: &str) -> Option<u64> {
        let index = self.rows.iter().position(|row| row.contestant == name)?;
        self.costs[index].iter().map(|cost| cost.peak).max()
    }

    /// Gigabytes that went through system calls in the last turn.
    pub fn moved(&self, index: usize, which: impl Fn(Moved) -> u64) -> String {
        let moved = self.costs[index].last().and_then(|cost| cost.moved);
        moved.map_or("-".into(), |moved| format!("{:.3}", which(moved) as f64 / 1e9))
    }

    /// CPU time of the median turn.
    pub fn cpu(&self, index: usize) -> f64 {
        let mut costs: Vec<f64> = self.costs[index].iter().map(|cost| cost.cpu).collect();
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    }
}
