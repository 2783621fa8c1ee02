//! Copying every array out of a stored 300 MB NPZ.

use std::process::Command;

use weighbridge::{FileAccess, Model, OpenOptions};

use crate::harness::{Contestant, Rounds, contest};
use crate::table::Table;
use crate::{Setting, child, fixtures};

pub fn measure(setting: &Setting) -> Table {
    let mut table =
        Table::new("npz-read", "copy all arrays of a stored 300 MB NPZ into a reused buffer, warm");
    let Some(path) = fixtures::by_python(setting, "stored.npz", "numpy", "stored_npz.py", &["300"])
    else {
        table.notes.push(child::missing("numpy"));
        return table;
    };
    let model = OpenOptions::new().access(FileAccess::Map).open(&path).expect("it opens");
    let sizes: Vec<usize> = model.weights().map(|w| w.stored_bytes() as usize).collect();
    let total: usize = sizes.iter().sum();
    let mut out = vec![1u8; total];
    let mut copy = vec![1u8; total];
    let whole: Vec<u8> =
        model.weights().flat_map(|w| w.bytes().expect("it is lent").to_vec()).collect();
    let python = child::python_with("numpy");
    let mut contestants = vec![
        Contestant::timed("ours, opened and copied out", || {
            let model = OpenOptions::new().access(FileAccess::Map).open(&path).expect("it opens");
            copy_out(&model, &mut out);
        }),
        Contestant::timed("memcpy of the same bytes", || copy.copy_from_slice(&whole)),
        Contestant::timed("anamnesis::parse_npz", || {
            anamnesis::parse_npz(&path).expect("it opens")
        }),
    ];
    if let Some(python) = &python {
        let path = &path;
        contestants.push(Contestant::reporting("numpy.load, every array", move || {
            let mut command = Command::new(python);
            let cost = child::run(command.arg(child::script("numpy_load.py")).arg(path));
            cost.expect("numpy runs").output.trim().parse().expect("it prints seconds")
        }));
    }
    table.rows = contest(contestants, Rounds { warm_up: 2, timed: 15 });
    table.at_least("memcpy of the same bytes", 0.9);
    table.at_least("numpy.load, every array", 3.0);
    table.figure("bytes copied", total.to_string());
    table
        .notes
        .push("our row maps the file anew each time, so its page faults are part of it".into());
    table
}

fn copy_out(model: &Model, out: &mut [u8]) {
    let mut at = 0;
    for weight in model.weights() {
        let bytes = weight.bytes().expect("a stored array is lent");
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    }
}
