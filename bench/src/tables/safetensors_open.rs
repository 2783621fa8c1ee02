//! Opening a safetensors file of 5,000 tensors.

use weighbridge::FileAccess;

use super::{ours, ours_by_reader};
use crate::harness::{Contestant, Rounds, contest};
use crate::table::Table;
use crate::{Setting, fixtures};

pub fn measure(setting: &Setting) -> Table {
    let path =
        fixtures::once(setting, "5000.safetensors", |p| fixtures::safetensors(p, 5000, 1024));
    let mut table =
        Table::new("safetensors-open", "inspect a safetensors file of 5,000 tensors, warm");
    let bytes = std::fs::read(&path).expect("it can be read");
    let peer = || anamnesis::parse(&path).expect("it opens").inspect();
    let canonical = || safetensors::SafeTensors::read_metadata(&bytes).expect("it is valid");
    let contestants = vec![
        Contestant::timed("ours, mapped", || ours(&path, FileAccess::Map)),
        Contestant::timed("ours, File as reader", || ours_by_reader(&path)),
        Contestant::timed("safetensors::read_metadata, bytes in memory", canonical),
        Contestant::timed("anamnesis::parse + inspect", peer),
    ];
    table.rows = contest(contestants, Rounds { warm_up: 5, timed: 100 });
    table.at_least("safetensors::read_metadata, bytes in memory", 2.0);
    table.at_least("anamnesis::parse + inspect", 2.0);
    table.notes.push(
        "ours includes opening the file, the ledger of schemes and the report; read_metadata is given the bytes".into(),
    );
    table
}
