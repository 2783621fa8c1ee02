//! Whole conversions, file to file: against a loop that copies as many bytes, and against other
//! tools.
//!
//! Sources and outputs lie on a memory file system, so that the disk is not measured; one line is
//! on disk and includes the sync. Every contestant is a child program.

mod cases;
mod cells;
mod contest;
mod peers;
mod targets;

use std::path::Path;

use crate::Setting;
use crate::large::{Large, Payload};
use crate::table::{Line, Table};
use cases::{CASES, Case, NUMBERS, Place};
use contest::Outcome;
use peers::Peers;

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

/// Writes the source of a line into a folder, and leaves it there.
pub fn leave_source(arguments: &[String]) -> Result<(), String> {
    let [name, folder] = arguments else { return Err("a line and a folder are needed".into()) };
    let case = CASES.iter().find(|case| case.name == name).ok_or("there is no such line")?;
    let source = Large::make(Path::new(folder), case.layout, NUMBERS, Payload::Random)?;
    println!("{}", source.model.display());
    std::mem::forget(source);
    Ok(())
}

pub fn measure(setting: &Setting) -> Table {
    let numbers = if setting.quick { NUMBERS / 8 } else { NUMBERS };
    let title =
        format!("convert a model of {:.2} billion numbers, file to file", numbers as f64 / 1e9);
    let mut table = Table::new("convert", title);
    let peers = Peers::find(setting, &mut table.notes);
    let mut all: Vec<(&Case, Outcome)> = Vec::new();
    for case in CASES.iter().filter(|case| setting.wants(case.name)) {
        eprintln!("  {}", case.name);
        let folder = match case.place {
            Place::Memory => &setting.memory_data,
            Place::Disk => &setting.data,
        };
        let timed = if setting.quick { 3 } else { 5 };
        let outcome = Large::make(folder, case.layout, numbers, Payload::Random)
            .and_then(|source| contest::run_all(case, &source, folder, &peers, timed));
        match outcome {
            Ok(outcome) => {
                for index in 0..outcome.rows.len() {
                    eprintln!("    {}", cells::line(case, &outcome, index)[1..].join(" | "));
                }
                table.notes.extend(outcome.failed.iter().cloned());
                all.push((case, outcome));
            }
            Err(reason) => table.notes.push(format!("{} is not measured: {reason}", case.name)),
        }
    }
    targets::judge(&mut table, &all);
    table.matrix.head = cells::head();
    for (case, outcome) in all {
        for (index, row) in outcome.rows.iter().enumerate() {
            let cells = cells::line(case, &outcome, index);
            table.matrix.lines.push(Line { cells, rows: vec![row.clone()] });
        }
    }
    table.notes.push(cells::LEGEND.into());
    table
}
