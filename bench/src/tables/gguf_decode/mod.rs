//! Decodes every block type of GGUF: against the speed of memory, and against other tools.
//!
//! One thread, 4096 x 11008 elements, one reused output buffer. Each type has two contests: ours
//! and the limit (see [`crate::limit`]), then ours and the peers. In addition, ours decodes a
//! tile that stays in the cache, as in the pipeline.

mod cells;
mod peers;
mod targets;

use std::cell::RefCell;
use std::time::Instant;

use weighbridge::Element;
use weighbridge::internals::blocks::{BLOCKS, Block, Standing};
use weighbridge::internals::simd::{Level, with_level};
use weighbridge::{Scratch, bf16, f16};

use crate::buffer::Buffer;
use crate::decoding::{COLUMNS, ROWS};
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::random_blocks::{BlockFile, Scales};
use crate::table::{Line, Table};
use crate::{Setting, decoding};
use peers::Peers;

/// Rows of the tile that stays in the cache: 66,048 elements, 258 KiB as f32.
const TILE_ROWS: u64 = 6;
/// How often a turn decodes that tile.
const TILE_REPEATS: usize = 16;
const SEED: u64 = 20_260_808;

/// What was measured of one block type; empty lists where it cannot be decoded.
struct Measured {
    block: &'static Block,
    /// Ours and the limit.
    own: Vec<Row>,
    /// Ours on the tile, in seconds per element.
    tile: Vec<Row>,
    /// Ours with the architecture's baseline instructions only.
    baseline: Vec<Row>,
    /// Ours and the peers.
    peers: Vec<Row>,
}

impl Measured {
    fn nothing(block: &'static Block) -> Self {
        Self { block, own: vec![], tile: vec![], baseline: vec![], peers: vec![] }
    }
}

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    BLOCKS.iter().map(|block| block.name).collect()
}

pub fn measure(setting: &Setting) -> Table {
    let title = format!(
        "decode {ROWS} x {COLUMNS} elements of every GGUF block type, one thread, reused output buffer"
    );
    let mut table = Table::new("gguf-decode", title);
    let peers = if setting.quick { Peers::none() } else { Peers::find(setting, &mut table.notes) };
    let buffer = decoding::buffer();
    let chosen = BLOCKS.iter().filter(|b| b.standing == Standing::Current && setting.wants(b.name));
    let measured: Vec<Measured> = chosen
        .map(|block| {
            eprintln!("  {}", block.name);
            measure_one(setting, block, &peers, &buffer)
        })
        .collect();
    targets::judge(&mut table, &measured);
    table.matrix.head = cells::head();
    for one in measured {
        let cells = cells::line(&one);
        let rows = [one.own, one.tile, one.baseline, one.peers].concat();
        table.matrix.lines.push(Line { cells, rows });
    }
    table.notes.push(cells::LEGEND.into());
    table
}

fn measure_one(
    setting: &Setting,
    block: &'static Block,
    peers: &Peers,
    buffer: &RefCell<Buffer>,
) -> Measured {
    let file = BlockFile::new(block, ROWS, COLUMNS, Scales::Sane, SEED ^ u64::from(block.id));
    let mut measured = Measured::nothing(block);
    if file.weight().undecodable().is_some() {
        return measured;
    }
    let subject = file.subject();
    let timed = if setting.quick { 9 } else { 21 };
    measured.own = contest(subject.contest(buffer), Rounds { warm_up: 1, timed });
    let tile = vec![
        tile_of::<f32>("f32, tile", &file, buffer),
        tile_of::<bf16>("bf16, tile", &file, buffer),
        tile_of::<f16>("f16, tile", &file, buffer),
    ];
    // The scalar definition itself, at the level that every CPU has.
    let baseline = vec![
        at_baseline(subject.ours::<f32>("f32, baseline", buffer)),
        at_baseline(subject.ours::<bf16>("bf16, baseline", buffer)),
        at_baseline(subject.ours::<f16>("f16, baseline", buffer)),
    ];
    measured.baseline = contest(baseline, Rounds { warm_up: 1, timed: timed / 3 });
    measured.tile = contest(tile, Rounds { warm_up: 3, timed: 60 });
    if !setting.quick {
        let mut all =
            vec![subject.ours::<f32>("f32", buffer), subject.ours::<bf16>("bf16", buffer)];
        let _path = peers.join(setting, &file, buffer, &mut all);
        measured.peers = contest(all, Rounds { warm_up: 1, timed: 7 });
    }
    measured
}

/// One of our contestants, held to the baseline.
fn at_baseline(contestant: Contestant<'_>) -> Contestant<'_> {
    contestant.around(|run| with_level(Level::BASELINE, run))
}

/// The same on a tile, again and again: seconds per element.
fn tile_of<'a, T: Element + 'a>(
    name: &str,
    file: &'a BlockFile,
    buffer: &'a RefCell<Buffer>,
) -> Contestant<'a> {
    let mut scratch = Scratch::default();
    Contestant::reporting(name, move || {
        let elements = (TILE_ROWS * COLUMNS) as usize;
        let mut buffer = buffer.borrow_mut();
        let out = buffer.view::<T>(elements);
        let weight = file.weight();
        let start = Instant::now();
        for _ in 0..TILE_REPEATS {
            weight.decode_rows_with(0..TILE_ROWS, out, &mut scratch).expect("it decodes");
        }
        start.elapsed().as_secs_f64() / (TILE_REPEATS * elements) as f64
    })
}
