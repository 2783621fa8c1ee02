//! Does pushing blocks into reserved capacity beat writing them into a zeroed buffer?
//!
//! Asked twice: of a plain loop over blocks, as one would first write it (and as it was written
//! where the question comes from), and of our own decoding, which fills rows and never pushes.

use std::cell::RefCell;

use weighbridge::internals::blocks::Block;
use weighbridge::{Scratch, f16};

use super::{Agreed, LEGEND, Memory, column, fresh, reused, side_by_side, sum_numbers};
use crate::buffer::{Buffer, unzeroed};
use crate::decoding::COLUMNS;
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::random_blocks::{BlockFile, Scales};
use crate::table::Table;
use crate::{Setting, limit};

const SEED: u64 = 20_261_116;
/// Rows, and their size as f32.
const SIZES: [(u64, &str); 4] = [(45, "2 MB"), (363, "16 MB"), (2044, "90 MB"), (4542, "200 MB")];

type Numbers = [f32; 32];

pub const NAME: &str = "question-pushing";

pub fn measure(setting: &Setting) -> Table {
    let title = "decode Q8_0 and Q4_0 to f32: pushed, or written where they belong";
    let mut table = Table::new(NAME, title);
    for name in ["Q8_0", "Q4_0"] {
        let held = |memory| {
            move |&(_, size): &(u64, &str)| {
                let (column, rows) = column(setting, NAME, &format!("{name} {size}"), memory);
                (column.replace(&format!("{name} "), ""), rows)
            }
        };
        // Malloc takes the larger ones from the system in any case.
        let as_it_is = SIZES.iter().map(held(Memory::Malloc));
        let contests = as_it_is.chain(SIZES[..2].iter().map(held(Memory::System)));
        side_by_side(&mut table.matrix, &format!("{name}: "), &contests.collect::<Vec<_>>());
    }
    table.notes.push(LEGEND.into());
    table
}

pub fn compare(setting: &Setting, which: &str) -> Vec<Row> {
    let (name, size) = which.split_once(' ').expect("a type and a size");
    let rows = SIZES.iter().find(|(_, name)| *name == size).expect("it is a size").0;
    let block = Block::from_name(name).expect("it is a type");
    let file = BlockFile::new(block, rows, COLUMNS, Scales::Sane, SEED);
    let timed = if setting.quick { 5 } else { 4000 / rows.clamp(40, 200) as usize };
    let rounds = Rounds { warm_up: 2, timed };
    match name {
        "Q8_0" => compare_blocks(&file, q8_0, rounds),
        _ => compare_blocks(&file, q4_0, rounds),
    }
}

fn compare_blocks<const BYTES: usize>(
    file: &BlockFile,
    decode: impl Fn(&[u8; BYTES]) -> Numbers + Copy,
    rounds: Rounds,
) -> Vec<Row> {
    let agreed = Agreed::default();
    let len = file.elements();
    let buffer = &RefCell::new(Buffer::new(len * 4));
    let kept = RefCell::new(Vec::with_capacity(len));
    let limit = Contestant::timed("limit: reads and writes the same bytes, reused", || {
        limit::pass_parts::<4>(&[file.blocks()], buffer.borrow_mut().bytes(len * 4));
    });
    let mut all = vec![limit];
    all.extend(plain_loops(file, decode, &agreed, (buffer, &kept)));
    all.extend(ours(file, &agreed, buffer));
    contest(all, rounds)
}

fn sum(made: &impl AsRef<[f32]>) -> u64 {
    sum_numbers(made.as_ref())
}

/// Block after block, as the format describes them.
fn plain_loops<'a, const BYTES: usize>(
    file: &'a BlockFile,
    decode: impl Fn(&[u8; BYTES]) -> Numbers + Copy + 'a,
    agreed: &'a Agreed,
    (buffer, kept): (&'a RefCell<Buffer>, &'a RefCell<Vec<f32>>),
) -> Vec<Contestant<'a>> {
    let (len, blocks) = (file.elements(), file.blocks().as_chunks::<BYTES>().0);
    let push = move |mut all: Vec<f32>| {
        for block in blocks {
            all.extend_from_slice(&decode(block));
        }
        all
    };
    let write = move |out: &mut [f32]| {
        for (out, block) in out.as_chunks_mut::<32>().0.iter_mut().zip(blocks) {
            *out = decode(block);
        }
    };
    let push_new = move || push(Vec::with_capacity(len));
    let write_zeroed = move || {
        let mut out = vec![0f32; len];
        write(&mut out);
        out
    };
    let push_reused = move || {
        let mut all = kept.take();
        all.clear();
        kept.replace(push(all));
    };
    let sum_kept = |(): &()| sum_numbers(&kept.borrow());
    vec![
        fresh("plain loop, pushed into new, reserved", agreed, push_new, sum),
        fresh("plain loop, written into new, zeroed", agreed, write_zeroed, sum),
        fresh(
            "plain loop, written into new, never zeroed",
            agreed,
            move || unzeroed(len, write),
            sum,
        ),
        fresh("plain loop, pushed into reused, cleared", agreed, push_reused, sum_kept),
        reused("plain loop, written into reused", agreed, (buffer, len), write),
    ]
}

/// Ours, through the public interface.
fn ours<'a>(
    file: &'a BlockFile,
    agreed: &'a Agreed,
    buffer: &'a RefCell<Buffer>,
) -> Vec<Contestant<'a>> {
    let len = file.elements();
    let whole = || {
        let (mut scratch, weight) = (Scratch::default(), file.weight());
        move |out: &mut [f32]| {
            weight.decode_rows_with(0..file.rows, out, &mut scratch).expect("it decodes");
        }
    };
    let (mut into_zeroed, mut into_reserved) = (whole(), whole());
    let write_zeroed = move || {
        let mut out = vec![0f32; len];
        into_zeroed(&mut out);
        out
    };
    let (mut scratch, mut row) = (Scratch::default(), vec![0f32; file.columns as usize]);
    let push_rows = move || {
        let (weight, mut all) = (file.weight(), Vec::with_capacity(len));
        for index in 0..file.rows {
            let rows = index..index + 1;
            weight.decode_rows_with(rows, &mut row, &mut scratch).expect("it decodes");
            all.extend_from_slice(&row);
        }
        all
    };
    vec![
        fresh("ours, into new, zeroed", agreed, write_zeroed, sum),
        fresh(
            "ours, into new, never zeroed",
            agreed,
            move || unzeroed(len, &mut into_reserved),
            sum,
        ),
        fresh("ours, row by row, pushed into new, reserved", agreed, push_rows, sum),
        reused("ours, into reused", agreed, (buffer, len), whole()),
    ]
}

fn scale(block: &[u8]) -> f32 {
    f16::from_le_bytes([block[0], block[1]]).to_f32()
}

fn q8_0(block: &[u8; 34]) -> Numbers {
    let scale = scale(block);
    std::array::from_fn(|i| scale * f32::from(block[2 + i].cast_signed()))
}

fn q4_0(block: &[u8; 18]) -> Numbers {
    let scale = scale(block);
    let mut numbers = [0.0; 32];
    // The low halves of all bytes come first.
    let (low, high) = numbers.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(&block[2..]) {
        *low = scale * f32::from((byte & 15).cast_signed() - 8);
        *high = scale * f32::from((byte >> 4).cast_signed() - 8);
    }
    numbers
}
