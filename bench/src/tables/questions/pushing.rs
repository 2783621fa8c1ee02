//! Does pushing blocks into reserved capacity beat writing them into a zeroed buffer?
//!
//! Asked twice: of a plain loop over blocks, as it would be written first (and was, where the
//! question comes from), and of our own decoding, which fills rows and never pushes.

use std::cell::RefCell;

use weighbridge::blocks::Block;
use weighbridge::{Scratch, f16};

use super::{Agreed, LEGEND, fresh, reused, side_by_side, sum_numbers};
use crate::buffer::{Buffer, unzeroed};
use crate::decoding::COLUMNS;
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::random_blocks::{BlockFile, Scales};
use crate::table::Table;
use crate::{Setting, limit};

const SEED: u64 = 20_261_116;
/// Rows, and the megabytes they give as f32.
const SIZES: [(u64, &str); 4] = [(45, "2 MB"), (363, "16 MB"), (2044, "90 MB"), (4542, "200 MB")];

type Numbers = [f32; 32];

pub fn measure(setting: &Setting) -> Table {
    let title = "decode Q8_0 and Q4_0 to f32: pushed, or written where they belong";
    let mut table = Table::new("question-pushing", title);
    let buffer = RefCell::new(Buffer::new((SIZES[3].0 * COLUMNS * 4) as usize));
    for name in ["Q8_0", "Q4_0"] {
        let block = Block::from_name(name).expect("it is a type");
        let contests = SIZES.iter().map(|&(rows, size)| {
            let file = BlockFile::new(block, rows, COLUMNS, Scales::Sane, SEED);
            let timed = if setting.quick { 5 } else { 4000 / rows.clamp(40, 200) as usize };
            let rounds = Rounds { warm_up: 2, timed };
            let rows = match name {
                "Q8_0" => compare::<34>(&file, &buffer, q8_0, rounds),
                _ => compare::<18>(&file, &buffer, q4_0, rounds),
            };
            (size.to_owned(), rows)
        });
        side_by_side(&mut table.matrix, &format!("{name}: "), contests.collect());
    }
    table.notes.push(LEGEND.into());
    table
}

fn compare<const BYTES: usize>(
    file: &BlockFile,
    buffer: &RefCell<Buffer>,
    decode: impl Fn(&[u8; BYTES]) -> Numbers + Copy,
    rounds: Rounds,
) -> Vec<Row> {
    let agreed = Agreed::default();
    let (len, blocks) = (file.elements(), file.blocks().as_chunks::<BYTES>().0);
    let sum = |made: &Vec<f32>| sum_numbers(made);
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
    let kept = RefCell::new(Vec::with_capacity(len));
    let ours = || {
        let (mut scratch, weight) = (Scratch::default(), file.weight());
        move |out: &mut [f32]| {
            weight.decode_rows_with(0..file.rows, out, &mut scratch).expect("it decodes");
        }
    };
    let (mut into_zeroed, mut into_reserved) = (ours(), ours());
    let mut scratch = Scratch::default();
    let mut row = vec![0f32; file.columns as usize];
    let all = vec![
        Contestant::timed("limit: reads and writes the same bytes, reused", || {
            limit::pass_parts::<4>(&[file.blocks()], buffer.borrow_mut().bytes(len * 4));
        }),
        fresh(
            "plain loop, pushed into new, reserved",
            &agreed,
            || push(Vec::with_capacity(len)),
            sum,
        ),
        fresh(
            "plain loop, written into new, zeroed",
            &agreed,
            || {
                let mut out = vec![0f32; len];
                write(&mut out);
                out
            },
            sum,
        ),
        fresh("plain loop, written into new, never zeroed", &agreed, || unzeroed(len, write), sum),
        fresh(
            "plain loop, pushed into reused, cleared",
            &agreed,
            || {
                let mut all = kept.take();
                all.clear();
                kept.replace(push(all));
            },
            |()| sum_numbers(&kept.borrow()),
        ),
        reused("plain loop, written into reused", &agreed, (buffer, len), write),
        fresh(
            "ours, into new, zeroed",
            &agreed,
            || {
                let mut out = vec![0f32; len];
                into_zeroed(&mut out);
                out
            },
            sum,
        ),
        fresh("ours, into new, never zeroed", &agreed, || unzeroed(len, &mut into_reserved), sum),
        fresh(
            "ours, row by row, pushed into new, reserved",
            &agreed,
            || {
                let mut all = Vec::with_capacity(len);
                for index in 0..file.rows {
                    let weight = file.weight();
                    weight
                        .decode_rows_with(index..index + 1, &mut row, &mut scratch)
                        .expect("it decodes");
                    all.extend_from_slice(&row);
                }
                all
            },
            sum,
        ),
        reused("ours, into reused", &agreed, (buffer, len), ours()),
    ];
    contest(all, rounds)
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
    std::array::from_fn(|i| {
        let byte = block[2 + i % 16];
        let code = if i < 16 { byte & 15 } else { byte >> 4 };
        scale * f32::from(code.cast_signed() - 8)
    })
}
