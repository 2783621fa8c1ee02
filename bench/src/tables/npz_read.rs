//! Copying every array out of a stored 300 MB NPZ.

use std::process::Command;

use weighbridge::{FileAccess, Model, OpenOptions};

use crate::harness::{Contestant, Rounds, contest};
use crate::table::Table;
use crate::{Setting, child, fixtures};

pub fn measure(setting: &Setting) -> Table {
    let mut table =
        Table::new("npz-read", "copy all arrays of a stored 300 MB NPZ into a reused buffer, warm");
    let script = ("numpy", "stored_npz.py", "300".to_owned());
    let path = fixtures::by_python_or(setting, "stored.npz", script, &mut table.notes, |path| {
        fixtures::stored_npz(path, 30, 10_000_000)
    });
    let model = OpenOptions::new().access(FileAccess::Map).open(&path).expect("it opens");
    let sizes: Vec<usize> = model.weights().map(|w| w.stored_bytes() as usize).collect();
    let total: usize = sizes.iter().sum();
    let mut out = vec![1u8; total];
    let mut copy = vec![1u8; total];
    let mut in_one = vec![1u8; total];
    let whole: Vec<u8> =
        model.weights().flat_map(|w| w.bytes().expect("it is lent").to_vec()).collect();
    let python = child::python_with("numpy");
    let open = |access| OpenOptions::new().access(access).open(&path).expect("it opens");
    let mut numbers = vec![1f32; total / 4];
    let mut again = numbers.clone();
    let mut anew = vec![1u8; total];
    let mut contestants = vec![
        Contestant::timed("ours, mapped, copied out of the open model", || {
            copy_out(&model, &mut out);
        }),
        Contestant::timed("ours, mapped anew, lent and copied", || {
            copy_out(&open(FileAccess::Map), &mut anew);
        }),
        Contestant::timed("ours, mapped anew, decoded to f32", || {
            decode(&open(FileAccess::Map), &mut numbers);
        }),
        Contestant::timed("ours, positioned reads, decoded to f32", || {
            decode(&open(FileAccess::Read), &mut again);
        }),
        Contestant::timed("memcpy of the same pieces", || {
            let mut at = 0;
            for &size in &sizes {
                copy[at..at + size].copy_from_slice(&whole[at..at + size]);
                at += size;
            }
        }),
        Contestant::timed("memcpy in one piece", || in_one.copy_from_slice(&whole)),
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
    table.at_least("memcpy of the same pieces", 0.9);
    table.at_least("numpy.load, every array", 3.0);
    table.figure("bytes copied", total.to_string());
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

fn decode(model: &Model, out: &mut [f32]) {
    let (mut at, mut scratch) = (0, weighbridge::Scratch::default());
    for weight in model.weights() {
        let (rows, len) = (weight.rows_and_columns().0, weight.len());
        let part = &mut out[at..at + len];
        weight.decode_rows_with(0..rows, part, &mut scratch).expect("it decodes");
        at += len;
    }
}
