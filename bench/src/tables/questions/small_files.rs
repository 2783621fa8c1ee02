//! Thousands of small PyTorch files, mapped, read, or loaded by torch: how long each file takes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use weighbridge::FileAccess;

use crate::harness::{Row, summary};
use crate::small_pth::{self, COUNT, files_of};
use crate::table::{Line, Table, seconds};
use crate::tables::{ours, ours_by_reader};
use crate::{Setting, child};

/// Files that one contestant inspects before the next does: few, so that a slow moment of the
/// machine hits everyone.
const CHUNK: usize = 100;

/// Inspects one file and returns how many tensors it has.
type Look<'a> = Box<dyn FnMut(&Path) -> usize + 'a>;

pub fn measure(setting: &Setting) -> Table {
    let title = format!("inspect {COUNT} PyTorch files of 2 to 8 KiB, warm: times of single files");
    let mut table = Table::new("question-small-files", title);
    let folder = small_pth::folder(setting, &mut table.notes);
    let python = child::python_with("torch");
    if python.is_none() {
        table.notes.push(child::missing("torch"));
    }
    let files = files_of(&folder);
    let mut buffer = vec![0; 64 << 10];
    let mut contestants: Vec<(&str, Look<'_>)> = vec![
        ("limit: open, fstat, read, close", Box::new(|path| touch(path, &mut buffer))),
        ("ours, mapped", Box::new(|path| ours(path, FileAccess::Map).stored_tensors as usize)),
        (
            "ours, positioned reads",
            Box::new(|path| ours(path, FileAccess::Read).stored_tensors as usize),
        ),
        ("ours, File as reader", Box::new(|path| ours_by_reader(path).stored_tensors as usize)),
        (
            "anamnesis, mapped",
            Box::new(|path| anamnesis::parse_pth(path).expect("it opens").inspect().tensor_count),
        ),
        (
            "anamnesis, File as reader",
            Box::new(|path| {
                let file = File::open(path).expect("it opens");
                anamnesis::inspect_pth_from_reader(file).expect("it can be inspected").tensor_count
            }),
        ),
    ];
    let passes = if setting.quick { 3 } else { 11 };
    let all = contestants.len() + usize::from(python.is_some());
    let mut times = vec![vec![Vec::with_capacity(passes); files.len()]; all];
    let mut tensors = vec![0; all];
    for pass in 0..=passes {
        tensors.fill(0);
        let mut keep = |index: usize, start: usize, (each, found): (Vec<f64>, usize)| {
            tensors[index] += found;
            // The first pass warms up.
            for (times, seconds) in times[index][start..].iter_mut().zip(each) {
                if pass > 0 {
                    times.push(seconds);
                }
            }
        };
        for (chunk, part) in files.chunks(CHUNK).enumerate() {
            for turn in 0..contestants.len() {
                let turn = if pass % 2 == 0 { turn } else { contestants.len() - 1 - turn };
                let index = (turn + pass + chunk) % contestants.len();
                keep(index, chunk * CHUNK, one_by_one(part, &mut contestants[index].1));
            }
        }
        if let Some(python) = &python {
            keep(all - 1, 0, by_torch(python, &folder));
        }
    }
    assert!(tensors[2..].iter().all(|found| *found == tensors[1]), "they differ: {tensors:?}");
    let names: Vec<_> = contestants.iter().map(|(name, _)| *name).collect();
    report(&mut table, &names, times);
    table.figure(
        "files, tensors in them, passes",
        format!("{}, {}, {passes}", files.len(), tensors[1]),
    );
    table.notes.push(
        "Each file's time is its median over the passes; the columns are the distribution over \
         the files; the last is the longest of all single times. Contestants take turns every 100 files; torch goes through all of them once a pass, and also makes the tensors."
            .into(),
    );
    table
}

/// The system calls that nobody can do without.
fn touch(path: &Path, buffer: &mut [u8]) -> usize {
    let mut file = File::open(path).expect("it opens");
    let len = file.metadata().expect("it can be asked").len();
    file.read_exact(&mut buffer[..len as usize]).expect("it reads");
    std::hint::black_box(buffer.first());
    0
}

/// The seconds of each file, and the tensors of all.
fn one_by_one(files: &[PathBuf], look: &mut Look<'_>) -> (Vec<f64>, usize) {
    let mut tensors = 0;
    let mut once = |path: &PathBuf| {
        let start = Instant::now();
        tensors += std::hint::black_box(look(path));
        start.elapsed().as_secs_f64()
    };
    let each = files.iter().map(&mut once).collect();
    (each, tensors)
}

/// The same with torch.
fn by_torch(python: &Path, folder: &Path) -> (Vec<f64>, usize) {
    let mut command = Command::new(python);
    let cost = child::run(command.arg(child::script("torch_load_each.py")).arg(folder));
    serde_json::from_str(&cost.expect("torch runs").output).expect("it prints JSON")
}

fn report(table: &mut Table, names: &[&str], times: Vec<Vec<Vec<f64>>>) {
    const SHARES: [usize; 6] = [1, 10, 50, 90, 99, 100];
    let head = ["", "p1", "p10", "median", "p90", "p99", "max", "x of ours, mapped", "longest"];
    table.matrix.head = head.map(str::to_owned).to_vec();
    let names = names.iter().copied().chain(["torch.load(weights_only=True)"]);
    let mut measured: Vec<(Row, Vec<f64>, f64)> = Vec::new();
    for (name, times) in names.zip(times) {
        let longest = times.iter().flatten().copied().fold(0.0, f64::max);
        let mut medians: Vec<f64> =
            times.into_iter().map(|times| summary("", times).median).collect();
        medians.sort_by(f64::total_cmp);
        measured.push((summary(name, medians.clone()), medians, longest));
    }
    let ours = measured[1].0.clone();
    for (mut row, medians, longest) in measured {
        row.best_ratio = row.best / ours.best;
        row.median_ratio = row.median / ours.median;
        let share = |share: usize| seconds(medians[(medians.len() - 1) * share / 100]);
        let mut cells = vec![row.contestant.clone()];
        cells.extend(SHARES.map(share));
        cells.extend([format!("{:.2}", row.median_ratio), seconds(longest)]);
        table.matrix.lines.push(Line { cells, rows: vec![row] });
    }
}
