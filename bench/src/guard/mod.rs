//! `bench guard`: a guard against regressions that a noisy machine can run.
//!
//! Every job runs in a child of its own under valgrind's callgrind, which counts the instructions
//! between entry and exit of one function. Start-up, making the input, and what a job does only
//! once in a process do not count (each job runs once before it is counted). The counts are
//! compared with those stored in `bench/guard/<architecture>-<level>.json`.
//!
//! Two runs of one build give the same counts for kernels; where hash maps (which have random
//! seeds) or paths of different lengths take part, counts differ by well under one in a hundred.
//! Counts are instructions, not time: a change that keeps the count but ruins cache use goes
//! unnoticed.

mod inputs;
mod jobs;
mod stored;
mod valgrind;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use inputs::Inputs;
use jobs::Job;
use stored::{Counts, Verdict};

pub use jobs::{JOB, child};

/// Runs the guard on the jobs whose names contain one of `parts`, or on all; returns the exit code.
pub fn run(parts: &[String], bless: bool, memory_data: &Path) -> i32 {
    match try_run(parts, bless, memory_data) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("{reason}");
            2
        }
    }
}

fn try_run(parts: &[String], bless: bool, memory_data: &Path) -> Result<i32, String> {
    if cfg!(debug_assertions) {
        return Err("the guard counts what a release build does: run it with --release".into());
    }
    let version = valgrind::version()?;
    let jobs: Vec<Job> = jobs::all().into_iter().filter(|job| wanted(job, parts)).collect();
    if jobs.is_empty() {
        return Err(format!("no job has such a name; the jobs are: {}", names().join(" ")));
    }
    let inputs = Inputs::make(&memory_data.join("guard"))?;
    let level = valgrind::level(inputs.folder())?;
    let own = weighbridge::internals::simd::level().name();
    if level != own {
        println!("under valgrind the kernels run at level {level}, on this machine at {own}");
    }
    let path = file(&level);
    let measured = Counts {
        rustc: env!("BENCH_RUSTC").to_owned(),
        valgrind: version,
        level,
        counts: count(&jobs, inputs.folder())?,
    };
    println!("{} jobs at level {}, {}", jobs.len(), measured.level, measured.rustc);
    let whole = parts.is_empty();
    if bless {
        let kept = if whole { None } else { Counts::read(&path)? };
        measured.over(kept).write(&path)?;
        println!("stored in {}", path.display());
        return Ok(0);
    }
    let Some(before) = Counts::read(&path)? else {
        return Err(format!("there are no counts in {}: run with --bless first", path.display()));
    };
    let verdict = Verdict::new(&before, &measured, whole);
    print!("{verdict}");
    Ok(i32::from(verdict.failed()))
}

fn wanted(job: &Job, parts: &[String]) -> bool {
    parts.is_empty() || parts.iter().any(|part| job.name.contains(part.as_str()))
}

fn names() -> Vec<String> {
    jobs::all().into_iter().map(|job| job.name).collect()
}

/// Where the counts of a level are stored.
fn file(level: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("guard");
    folder.join(format!("{}-{level}.json", std::env::consts::ARCH))
}

/// Counts every job, several at a time: the count of one does not depend on the others.
fn count(jobs: &[Job], folder: &Path) -> Result<Vec<(String, u64)>, String> {
    let next = AtomicUsize::new(0);
    let counts = Mutex::new(Vec::new());
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let counted = valgrind::count(&job.name, folder);
            counts.lock().expect("nobody panics").push((job.name.clone(), counted));
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    let mut counts = counts.into_inner().expect("nobody panics");
    counts.sort();
    counts.into_iter().map(|(name, count)| Ok((name, count?))).collect()
}
