//! Decodes every quantization scheme of safetensors files: against the speed of memory, and
//! against other tools.
//!
//! One thread, 4096 x 11008 elements, one reused output buffer. Each input is a checkpoint with
//! its config, opened like any other; its file is mapped and its pages are in memory.

mod canonical;
pub mod cases;
mod cells;
pub mod checkpoint;
mod four_bit;
mod packed;
mod peers;
pub mod stored;
mod targets;

use std::cell::RefCell;

use crate::Setting;
use crate::buffer::Buffer;
use crate::decoding::{self, COLUMNS, ROWS};
use crate::harness::{Rounds, Row, contest};
use crate::table::{Line, Table};
use canonical::{Canonical, Libraries};
use cases::{CASES, Case};
use checkpoint::Checkpoint;
use peers::Peers;

/// What was measured of one scheme.
struct Measured {
    case: &'static Case,
    /// Ours and the limit.
    own: Vec<Row>,
    /// Ours and anamnesis, at bf16.
    anamnesis: Vec<Row>,
    /// What anamnesis makes of the file.
    checked: Option<String>,
    /// Ours and the library that owns the scheme.
    canonical: Canonical,
}

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

pub fn measure(setting: &Setting) -> Table {
    let title = format!(
        "decode {ROWS} x {COLUMNS} elements of every scheme, one thread, reused output buffer"
    );
    let mut table = Table::new("scheme-decode", title);
    let peers = if setting.quick { Peers::none() } else { Peers::find(setting, &mut table.notes) };
    let libraries = Libraries::default();
    let buffer = decoding::buffer();
    let chosen = CASES.iter().filter(|case| setting.wants(case.name));
    let measured: Vec<Measured> = chosen
        .map(|case| {
            eprintln!("  {}", case.name);
            measure_one(setting, case, (&peers, &libraries), &buffer)
        })
        .collect();
    targets::judge(&mut table, &measured);
    table.notes.extend(cells::notes(&measured));
    table.matrix.head = cells::head();
    for one in measured {
        let cells = cells::line(&one);
        let rows = [one.own, one.anamnesis, one.canonical.rows].concat();
        table.matrix.lines.push(Line { cells, rows });
    }
    table.notes.push(cells::LEGEND.into());
    table
}

fn measure_one(
    setting: &Setting,
    case: &'static Case,
    (peers, libraries): (&Peers, &Libraries),
    buffer: &RefCell<Buffer>,
) -> Measured {
    let checkpoint = Checkpoint::new(&setting.data, case);
    let timed = if setting.quick { 9 } else { 21 };
    let own = contest(checkpoint.subject().contest(buffer), Rounds { warm_up: 1, timed });
    let anamnesis = peers.contest(case, &checkpoint, buffer);
    let checked = peers.check(&checkpoint, buffer);
    let canonical = match setting.quick {
        true => Canonical::default(),
        false => libraries.contest(case, &checkpoint, buffer),
    };
    Measured { case, own, anamnesis, checked, canonical }
}
