//! Opening a GGUF file whose vocabulary is most of its header.

use weighbridge::FileAccess;

use super::{ours, ours_by_reader};
use crate::harness::{Contestant, Rounds, contest};
use crate::table::Table;
use crate::{Setting, candle, fixtures};

pub fn measure(setting: &Setting) -> Table {
    let path =
        fixtures::once(setting, "vocabulary.gguf", |p| fixtures::gguf(p, 150_000, 300, 64 << 10));
    let mut table =
        Table::new("gguf-open", "inspect a GGUF with 150,000 tokens and their merges, warm");
    let peer = || anamnesis::parse_gguf(&path).expect("it opens").inspect();
    let peer_by_reader = || {
        let file = std::fs::File::open(&path).expect("it opens");
        anamnesis::inspect_gguf_from_reader(file).expect("it can be inspected")
    };
    let program = candle::build(setting, &mut table.notes);
    let mut contestants = vec![
        Contestant::timed("ours, mapped", || ours(&path, FileAccess::Map)),
        Contestant::timed("ours, positioned reads", || ours(&path, FileAccess::Read)),
        Contestant::timed("ours, File as reader", || ours_by_reader(&path)),
        Contestant::timed("anamnesis, mapped", peer),
        Contestant::timed("anamnesis, File as reader", peer_by_reader),
    ];
    contestants.extend(candle::contestant(program.as_deref(), "open", &path, &mut table.notes));
    table.rows = contest(contestants, Rounds { warm_up: 3, timed: 40 });
    table.at_least("anamnesis, mapped", 10.0);
    table.at_most("ours, File as reader", 1.5);
    table
}
