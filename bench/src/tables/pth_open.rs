//! Opening thousands of small PyTorch files.

use std::path::PathBuf;
use std::process::Command;

use weighbridge::FileAccess;

use super::{ours, ours_by_reader};
use crate::harness::{Contestant, Rounds, contest};
use crate::small_pth::{self, COUNT, files_of};
use crate::table::{Table, seconds};
use crate::{Setting, candle, child};

pub fn measure(setting: &Setting) -> Table {
    let title = format!("inspect {COUNT} PyTorch files of 2 to 8 KiB, warm, time for all of them");
    let mut table = Table::new("pth-open", title);
    let folder = small_pth::folder(setting, &mut table.notes);
    let files = files_of(&folder);
    let peer = |path: &PathBuf| anamnesis::parse_pth(path).expect("it opens").inspect();
    let peer_by_reader = |path: &PathBuf| {
        let file = std::fs::File::open(path).expect("it opens");
        anamnesis::inspect_pth_from_reader(file).expect("it can be inspected")
    };
    let mut contestants = vec![
        Contestant::timed("ours, mapped", || {
            files.iter().for_each(|p| drop(ours(p, FileAccess::Map)));
        }),
        Contestant::timed("ours, positioned reads", || {
            files.iter().for_each(|p| drop(ours(p, FileAccess::Read)));
        }),
        Contestant::timed("ours, File as reader", || {
            files.iter().for_each(|p| drop(ours_by_reader(p)));
        }),
        Contestant::timed("anamnesis, mapped", || {
            files.iter().for_each(|p| drop(peer(p)));
        }),
        Contestant::timed("anamnesis, File as reader", || {
            files.iter().for_each(|p| drop(peer_by_reader(p)));
        }),
    ];
    let program = candle::build(setting, &mut table.notes);
    contestants.extend(candle::contestant(program.as_deref(), "pth", &folder, &mut table.notes));
    match child::python_with("torch") {
        Some(python) => {
            let load = move || {
                let mut command = Command::new(&python);
                let cost = child::run(command.arg(child::script("torch_load.py")).arg(&folder));
                cost.expect("torch runs").output.trim().parse().expect("it prints seconds")
            };
            // Takes seconds where the others take a tenth of one.
            let torch = Contestant::reporting("torch.load(weights_only=True)", load);
            contestants.push(torch.turns(6));
        }
        None => table.notes.push(child::missing("torch")),
    }
    table.rows = contest(contestants, Rounds { warm_up: 1, timed: 40 });
    table.at_least("anamnesis, mapped", 3.0);
    table.at_least("torch.load(weights_only=True)", 10.0);
    table.at_most("ours, File as reader", 1.4);
    let figures: Vec<_> = table
        .rows
        .iter()
        .map(|row| (row.contestant.clone(), seconds(row.median / files.len() as f64)))
        .collect();
    for (who, value) in figures {
        table.figure(format!("{who}, per file"), value);
    }
    table
}
