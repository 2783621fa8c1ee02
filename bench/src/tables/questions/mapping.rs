//! What does mapping gain over reading, on a file of more than 8 GB on a disk?
//!
//! Three jobs (inspect it, take one tensor out of it, go through all of it), each done in several
//! ways, each turn in a process of its own that reports what it took. Cold means that the file is
//! dropped from the page cache before the turn, warm that all of it is in there.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use weighbridge::{DType, FileAccess, Model, OpenOptions, Scratch, f16};

use super::Agreed;
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::random_blocks::Random;
use crate::table::{Line, Table, seconds};
use crate::tables::ours;
use crate::{Setting, cache, child, fixtures};

/// Tensors of 32 MiB.
const TENSORS: u64 = 256;
const QUICK_TENSORS: u64 = 32;
const SHAPE: [u64; 2] = [4096, 4096];
const TENSOR_BYTES: usize = 32 << 20;
/// Rows decoded at a time when going through all of it: 1 MiB.
const TILE_ROWS: u64 = 128;

/// The argument that makes this program do one job.
pub const CHILD: &str = "question-mapping-job";

/// The jobs, and the ways in which each is done; the first is the machine's own limit.
const JOBS: [(&str, &[(&str, &str)]); 3] = [
    (
        "inspect",
        &[
            ("limit", "limit: one read of the header"),
            ("map", "ours, mapped"),
            ("read", "ours, positioned reads"),
            ("whole", "read whole, then ours"),
            ("whole-reused", "read whole into memory that is there, then ours"),
            ("anamnesis", "anamnesis::parse, inspect"),
        ],
    ),
    (
        "one tensor to f32",
        &[
            ("limit", "limit: one read of its bytes"),
            ("map", "ours, mapped"),
            ("read", "ours, positioned reads"),
            ("whole", "read whole, then ours"),
        ],
    ),
    (
        "all of it, as stored",
        &[
            ("limit", "limit: reads of 1 MiB, front to back"),
            ("map", "ours, mapped"),
            ("lent", "ours, mapped, lent, not copied"),
            ("read", "ours, positioned reads"),
            ("whole", "read whole, then ours"),
        ],
    ),
];

/// What a turn took.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Took {
    seconds: f64,
    /// The largest resident set, mapped pages included.
    peak: u64,
    /// The part of it that no file backs, at the end.
    anonymous: u64,
    /// Bytes that came from the disk.
    from_disk: u64,
    /// The sum over the result; `None` for a limit.
    sum: Option<u64>,
}

pub fn measure(setting: &Setting) -> Table {
    let tensors = if setting.quick { QUICK_TENSORS } else { TENSORS };
    let path = fixtures::once(setting, "question-mapping.safetensors", |p| write(p, tensors));
    let bytes = fs::metadata(&path).expect("it was written").len();
    let title = format!("mapping or reading a safetensors file of {bytes} bytes on disk");
    let mut table = Table::new("question-mapping", title);
    table.matrix.head = ["", "cold", "x", "from disk", "warm", "x", "peak", "anonymous"]
        .map(str::to_owned)
        .to_vec();
    // Cold turns first, so that the cache is filled only once, for the warm ones.
    let cold: Vec<_> = JOBS.iter().map(|job| run_job(&path, job, true, setting.quick)).collect();
    limit_all(&path).expect("it reads");
    let share = |path: &Path| cache::resident(path).unwrap_or(0) as f64 / bytes as f64;
    table.figure(
        "share of the file in the page cache before the warm turns",
        format!("{:.3}", share(&path)),
    );
    let warm: Vec<_> = JOBS.iter().map(|job| run_job(&path, job, false, setting.quick)).collect();
    table.figure("and after them", format!("{:.3}", share(&path)));
    for (((job, ways), cold), warm) in JOBS.iter().zip(cold).zip(warm) {
        for (index, (_, name)) in ways.iter().enumerate() {
            let (cold, warm) = (&cold[index], &warm[index]);
            table.matrix.lines.push(line(&format!("{job}: {name}"), cold, warm));
        }
    }
    let _ = fs::remove_file(&path);
    table.notes.push(
        "Times: median (tenth to ninetieth percentile, number of turns), x: times the first line of the \
         job. Peak: the largest resident set of the process, pages of the mapped file included (most of both); anonymous: \
         the part of it that no file backs, at the end."
            .into(),
    );
    table
}

/// A way's times, and what its turns took.
type Measured = (Row, Vec<Took>);

fn run_job(
    path: &Path,
    (job, ways): &(&str, &[(&str, &str)]),
    cold: bool,
    quick: bool,
) -> Vec<Measured> {
    let agreed = Agreed::default();
    let took: Vec<_> = ways.iter().map(|_| RefCell::new(Vec::new())).collect();
    let contestants = ways.iter().zip(&took).map(|((way, name), took)| {
        let agreed = &agreed;
        let turn = move || {
            if cold {
                cache::drop_file(path).expect("the cache can be dropped");
            }
            let one = apart(job, way, path);
            if let Some(sum) = one.sum {
                agreed.check(name, sum);
            }
            took.borrow_mut().push(one.clone());
            one.seconds
        };
        // Going through all of it takes long.
        let long = way.starts_with("whole") || job.starts_with("all");
        let turns = if long { 3 } else { 15 };
        Contestant::reporting(name, turn).turns(turns)
    });
    eprintln!("  {job}, {}", if cold { "cold" } else { "warm" });
    let rows =
        contest(contestants.collect(), Rounds { warm_up: 0, timed: if quick { 3 } else { 15 } });
    rows.into_iter().zip(took.into_iter().map(RefCell::into_inner)).collect()
}

/// One turn in a process of its own.
fn apart(job: &str, way: &str, path: &Path) -> Took {
    let program = std::env::current_exe().expect("this program has a path");
    let cost = child::run(Command::new(program).args([CHILD, job, way]).arg(path));
    let output = cost.expect("it runs").output;
    serde_json::from_str(&output).unwrap_or_else(|_| panic!("{job}, {way} failed: {output}"))
}

fn line(name: &str, cold: &Measured, warm: &Measured) -> Line {
    let most = |of: fn(&Took) -> u64| {
        let most = cold.1.iter().chain(&warm.1).map(of).max().unwrap_or(0);
        format!("{:.1} MiB", most as f64 / f64::from(1 << 20))
    };
    let time = |(row, took): &Measured| {
        let spread = format!("{} to {}", seconds(row.low), seconds(row.high));
        format!("{} ({spread}, {})", seconds(row.median), took.len())
    };
    let from_disk = cold.1.iter().map(|took| took.from_disk).max().unwrap_or(0);
    let cells = vec![
        name.to_owned(),
        time(cold),
        format!("{:.2}", cold.0.median_ratio),
        format!("{:.1} MiB", from_disk as f64 / f64::from(1 << 20)),
        time(warm),
        format!("{:.2}", warm.0.median_ratio),
        most(|took| took.peak),
        most(|took| took.anonymous),
    ];
    Line { cells, rows: vec![cold.0.clone(), warm.0.clone()] }
}

/// Writes random bytes, which no disk can compress.
fn write(path: &Path, tensors: u64) -> io::Result<()> {
    let name = |i| format!("model.layers.{i}.mlp.up_proj.weight");
    let planned: Vec<_> = (0..tensors).map(|i| (name(i), DType::F16, SHAPE.to_vec())).collect();
    let layout = fixtures::safetensors_layout(&planned, "pt")?;
    let mut file = File::create(path)?;
    file.write_all(&layout.fixed[0].bytes)?;
    let (mut bytes, mut random) = (vec![0; TENSOR_BYTES], Random(20_261_116));
    for _ in 0..tensors {
        random.fill(&mut bytes);
        file.write_all(&bytes)?;
    }
    file.sync_all()
}

/// Does one job in one way and prints what it took.
pub fn child(arguments: &[String]) -> io::Result<()> {
    let [job, way, path] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let path = Path::new(path);
    // Memory whose pages are in place before the clock starts.
    let there = match way.as_str() {
        "whole-reused" => vec![1u8; fs::metadata(path)?.len() as usize],
        _ => Vec::new(),
    };
    let start = Instant::now();
    let (sum, held) = match (job.as_str(), way.as_str()) {
        ("inspect", "limit") => (None, Held::Bytes(limit_header(path)?)),
        ("inspect", "anamnesis") => {
            let info = anamnesis::parse(path).map_err(io::Error::other)?.inspect();
            (Some(info.tensor_count as u64), Held::Nothing)
        }
        ("inspect", "map") => (Some(ours(path, FileAccess::Map).stored_tensors), Held::Nothing),
        ("inspect", "read") => (Some(ours(path, FileAccess::Read).stored_tensors), Held::Nothing),
        ("inspect", way) => {
            let model = open(way, path, there)?;
            let report = weighbridge::ops::inspect(&model, &Default::default());
            (Some(report.map_err(io::Error::other)?.stored_tensors), Held::Model(model))
        }
        (job, "limit") if job.starts_with("one") => (None, Held::Bytes(limit_tensor(path)?)),
        (_, "limit") => {
            limit_all(path)?;
            (None, Held::Nothing)
        }
        (job, way) => {
            let model = open(way, path, there)?;
            let sum = match job.starts_with("one") {
                true => one_tensor(&model),
                false if way == "lent" => all_lent(&model),
                false => all_tiles(&model),
            };
            (Some(sum), Held::Model(model))
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let from_disk = number("/proc/self/io", "read_bytes")?;
    let [peak, anonymous] = ["VmHWM", "RssAnon"].map(|name| number("/proc/self/status", name));
    drop(held);
    let took = Took { seconds, peak: peak? * 1024, anonymous: anonymous? * 1024, from_disk, sum };
    println!("{}", serde_json::to_string(&took)?);
    Ok(())
}

/// What is still held when memory is looked at.
#[allow(dead_code)] // It is held, not used.
enum Held {
    Nothing,
    Bytes(Vec<u8>),
    Model(Model),
}

/// A field of one of the system's files about this process.
fn number(file: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    Ok(digits.parse().unwrap_or(0))
}

fn open(way: &str, path: &Path, mut there: Vec<u8>) -> io::Result<Model> {
    let options = OpenOptions::new();
    let name = path.to_string_lossy();
    let opened = match way {
        "map" | "lent" => options.access(FileAccess::Map).open(path),
        "read" => options.access(FileAccess::Read).open(path),
        "whole" => options.open_bytes(fs::read(path)?, &name),
        _ => {
            File::open(path)?.read_exact(&mut there)?;
            options.open_bytes(there, &name)
        }
    };
    opened.map_err(io::Error::other)
}

fn limit_header(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut len = [0; 8];
    file.read_exact(&mut len)?;
    let mut header = vec![0; u64::from_le_bytes(len) as usize];
    file.read_exact(&mut header)?;
    Ok(header)
}

fn limit_tensor(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = vec![0; TENSOR_BYTES];
    file.read_exact_at(&mut bytes, file.metadata()?.len() / 2)?;
    Ok(bytes)
}

fn limit_all(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    while file.read(&mut block)? > 0 {
        std::hint::black_box(&mut block);
    }
    Ok(())
}

/// The tensor in the middle.
fn one_tensor(model: &Model) -> u64 {
    let middle = model.weights().count() / 2;
    let weight = model.weights().nth(middle).expect("there is one");
    let mut out = vec![0f32; weight.len()];
    weight.decode_into(&mut out).expect("it decodes");
    super::sum_numbers(&out)
}

fn all_tiles(model: &Model) -> u64 {
    let mut scratch = Scratch::default();
    let mut tile = vec![f16::ZERO; (TILE_ROWS * SHAPE[1]) as usize];
    let mut sum = 0u64;
    for weight in model.weights() {
        for row in (0..SHAPE[0]).step_by(TILE_ROWS as usize) {
            let rows = row..row + TILE_ROWS;
            weight.decode_rows_with(rows, &mut tile, &mut scratch).expect("it decodes");
            sum = sum.wrapping_add(tile.iter().map(|number| u64::from(number.to_bits())).sum());
        }
    }
    sum
}

fn all_lent(model: &Model) -> u64 {
    model.weights().fold(0, |sum, weight| added(sum, weight.bytes().expect("it is lent")))
}

/// 16-bit numbers, added up.
fn added(sum: u64, bytes: &[u8]) -> u64 {
    let numbers = bytes.as_chunks::<2>().0.iter();
    sum.wrapping_add(numbers.map(|pair| u64::from(u16::from_le_bytes(*pair))).sum())
}
