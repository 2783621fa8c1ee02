//! Does decoding FP8 piece by piece into a buffer on the stack, which is then appended, help or
//! hurt?

use std::cell::RefCell;

use weighbridge::Element;
use weighbridge::{Scratch, Weight, bf16};

use super::{Agreed, LEGEND, Memory, column, fresh, reused, side_by_side, sum_numbers};
use crate::buffer::{HugePages, unzeroed, zeroed};
use crate::decoding::{self, COLUMNS, ROWS, Subject};
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::table::Table;
use crate::tables::scheme_decode::cases::CASES;
use crate::tables::scheme_decode::checkpoint::Checkpoint;
use crate::{Setting, limit};

/// Sizes of the buffer on the stack, in bytes.
const CHUNKS: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Elements of the largest of them at two bytes each.
const MOST: usize = 32 << 10;

pub const NAME: &str = "question-stack-buffer";

/// The lines of `scheme-decode` that are measured, and the output types.
const CONTESTS: [&str; 4] =
    ["fp8-tensor bf16", "fp8-tensor f32", "fp8-block bf16", "fp8-block f32"];

pub fn measure(setting: &Setting) -> Table {
    let title =
        format!("decode {ROWS} x {COLUMNS} elements of E4M3, straight or by way of the stack");
    let mut table = Table::new(NAME, title);
    let contests = CONTESTS.map(|which| column(setting, NAME, which, Memory::System));
    side_by_side(&mut table.matrix, "", &contests);
    table.notes.push(LEGEND.into());
    table
}

pub fn compare(setting: &Setting, which: &str) -> Vec<Row> {
    let (name, element) = which.split_once(' ').expect("a scheme and a type");
    let case = CASES.iter().find(|case| case.name == name).expect("it is a line there");
    let checkpoint = Checkpoint::new(&setting.data, case);
    let subject = checkpoint.subject();
    let timed = if setting.quick { 5 } else { 21 };
    match element {
        "bf16" => compare_at::<bf16, 2>(&subject, timed),
        _ => compare_at::<f32, 4>(&subject, timed),
    }
}

fn compare_at<T: Element + Into<f32>, const SIZE: usize>(
    subject: &Subject<'_>,
    timed: usize,
) -> Vec<Row> {
    let (weight, agreed) = (&subject.weight, Agreed::default());
    let buffer = &decoding::buffer();
    let len = weight.len();
    let sum = |made: &Vec<T>| sum_numbers(made);
    let mut all = vec![
        Contestant::timed("limit: reads and writes the same bytes, reused", || {
            limit::pass_parts::<SIZE>(&subject.parts, buffer.borrow_mut().bytes(len * SIZE));
        }),
        reused("straight, reused", &agreed, (buffer, len), straight::<T>(weight)),
        fresh("straight, new, `vec![0; n]`", &agreed, by_vec::<T>(weight), sum),
        fresh("straight, new, zeroed by the system", &agreed, new_zeroed::<T>(weight), sum),
        fresh("straight, new, reserved", &agreed, new_reserved::<T>(weight), sum),
        fresh("straight, new, in huge pages", &agreed, new_huge::<T>(weight), |made| {
            sum_numbers(made.borrow_mut().numbers())
        }),
    ];
    for bytes in CHUNKS {
        let chunk = bytes / SIZE;
        let name = |form: &str| format!("{} KiB at a time, {form}", bytes >> 10);
        all.push(reused(
            &name("straight, reused"),
            &agreed,
            (buffer, len),
            pieces::<T>(weight, chunk),
        ));
        all.push(reused(
            &name("by the stack, copied, reused"),
            &agreed,
            (buffer, len),
            copied::<T>(weight, chunk),
        ));
        all.push(fresh(
            &name("by the stack, appended to new, reserved"),
            &agreed,
            appended::<T>(weight, chunk),
            sum,
        ));
    }
    contest(all, Rounds { warm_up: 1, timed })
}

/// The whole weight in one call.
fn straight<T: Element>(weight: &Weight) -> impl FnMut(&mut [T]) {
    let mut scratch = Scratch::default();
    let rows = weight.rows_and_columns().0;
    move |out| weight.decode_rows_with(0..rows, out, &mut scratch).expect("it decodes")
}

/// Zeros as `vec!` makes them: it asks for zeroed memory for f32, but writes zeros for bf16, which
/// it does not know.
fn by_vec<T: Element>(weight: &Weight) -> impl FnMut() -> Vec<T> {
    let mut decode = straight(weight);
    move || {
        let mut out = vec![T::default(); weight.len()];
        decode(&mut out);
        out
    }
}

fn new_zeroed<T: Element>(weight: &Weight) -> impl FnMut() -> Vec<T> {
    let mut decode = straight(weight);
    move || {
        let mut out = zeroed(weight.len());
        decode(&mut out);
        out
    }
}

fn new_reserved<T: Element>(weight: &Weight) -> impl FnMut() -> Vec<T> {
    let mut decode = straight(weight);
    move || unzeroed(weight.len(), &mut decode)
}

/// Into new pages of 2 MiB, where the system has them.
fn new_huge<T: Element>(weight: &Weight) -> impl FnMut() -> RefCell<HugePages<T>> {
    let mut decode = straight(weight);
    move || {
        let mut out = HugePages::new(weight.len());
        decode(out.numbers());
        RefCell::new(out)
    }
}

/// Some elements per call, straight to their place.
fn pieces<T: Element>(weight: &Weight, chunk: usize) -> impl FnMut(&mut [T]) {
    let mut piece = piece_of(weight);
    move |out| {
        for (index, out) in out.chunks_mut(chunk).enumerate() {
            piece(index * chunk, out);
        }
    }
}

/// Some elements per call into a buffer on the stack, from there to their place.
fn copied<T: Element>(weight: &Weight, chunk: usize) -> impl FnMut(&mut [T]) {
    let mut piece = piece_of(weight);
    move |out| {
        let mut stack = [T::default(); MOST];
        for (index, out) in out.chunks_mut(chunk).enumerate() {
            let now = &mut stack[..out.len()];
            piece(index * chunk, now);
            out.copy_from_slice(now);
        }
    }
}

/// Some elements per call into a buffer on the stack, from there to the end of a vector.
fn appended<T: Element>(weight: &Weight, chunk: usize) -> impl FnMut() -> Vec<T> {
    let mut piece = piece_of(weight);
    move || {
        let len = weight.len();
        let mut stack = [T::default(); MOST];
        let mut all = Vec::with_capacity(len);
        while all.len() < len {
            let now = &mut stack[..chunk.min(len - all.len())];
            piece(all.len(), now);
            all.extend_from_slice(now);
        }
        all
    }
}

/// Decodes elements from a given one on.
fn piece_of<T: Element>(weight: &Weight) -> impl FnMut(usize, &mut [T]) {
    let mut scratch = Scratch::default();
    move |start, out| {
        let elements = start as u64..(start + out.len()) as u64;
        weight.decode_elements_with(elements, out, &mut scratch).expect("it decodes");
    }
}
