//! The questions that this project began with, a table each: what others found, asked of our own
//! code on this machine.
//!
//! In each table every contestant makes the same thing: the result of its first turn is summed up
//! outside the clock, and a different sum ends the program. Memory that a contestant takes anew in
//! each turn is given back outside the clock. Where it matters, a contest has a process to itself,
//! since what malloc returns depends on what was freed before; and it is held twice: with malloc
//! as it is, and with malloc taking large blocks from the system each time.

pub mod mapping;
pub mod one_buffer;
pub mod pushing;
pub mod small_files;
pub mod stack_buffer;
pub mod whole_file_reads;
pub mod zeroing;

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use weighbridge::Element;

use crate::buffer::Buffer;
use crate::harness::{Contestant, Row};
use crate::table::{Line, Matrix, seconds};
use crate::{Setting, child};

/// The argument that makes this program hold one contest.
pub const CHILD: &str = "question-contest";

/// Holds the contest of that name.
type Compare = fn(&Setting, &str) -> Vec<Row>;

/// Contests that have a process to themselves.
const CONTESTS: [(&str, Compare); 3] = [
    (zeroing::NAME, zeroing::compare),
    (stack_buffer::NAME, stack_buffer::compare),
    (pushing::NAME, pushing::compare),
];

/// Where new memory comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// From wherever malloc takes it: what was given back before, or the system.
    Malloc,
    /// From the system, if it is more than 1 MiB.
    System,
}

/// Holds one contest of a table in a process of its own: a column of [`side_by_side`].
pub fn column(setting: &Setting, table: &str, which: &str, memory: Memory) -> (String, Vec<Row>) {
    eprintln!("  {which}");
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([CHILD, table, which]).arg(&setting.data).arg(setting.quick.to_string());
    let name = match memory {
        Memory::Malloc => which.to_owned(),
        Memory::System => {
            command.env("MALLOC_MMAP_THRESHOLD_", (1 << 20).to_string());
            format!("{which}, new pages")
        }
    };
    let cost = child::run(&mut command).expect("it runs");
    (name, serde_json::from_str(&cost.output).expect("it prints rows"))
}

/// Holds the contest that the arguments name, and prints its rows.
pub fn child(arguments: &[String]) -> std::io::Result<()> {
    let [table, which, data, quick] = arguments else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let found = CONTESTS.iter().find(|(name, _)| name == table);
    let (_, compare) = found.ok_or(std::io::ErrorKind::InvalidInput)?;
    let data = PathBuf::from(data);
    let setting = Setting {
        memory_data: data.clone(),
        data,
        only: Vec::new(),
        quick: quick == "true",
        blocks: 0,
    };
    println!("{}", serde_json::to_string(&compare(&setting, which))?);
    Ok(())
}

/// The sum that all contestants of a contest must agree on.
#[derive(Default)]
pub struct Agreed(Cell<Option<u64>>);

impl Agreed {
    /// Ends the program if the sum differs from that of earlier contestants.
    pub fn check(&self, who: &str, sum: u64) {
        let expected = self.0.get().unwrap_or(sum);
        assert_eq!(sum, expected, "{who} got another sum than those before it");
        self.0.set(Some(sum));
    }
}

/// A contestant that takes new memory in each turn.
pub fn fresh<'a, T>(
    name: &str,
    agreed: &'a Agreed,
    mut job: impl FnMut() -> T + 'a,
    sum: impl Fn(&T) -> u64 + 'a,
) -> Contestant<'a> {
    let (who, mut first) = (name.to_owned(), true);
    Contestant::reporting(name, move || {
        let start = Instant::now();
        let made = black_box(job());
        let seconds = start.elapsed().as_secs_f64();
        if std::mem::take(&mut first) {
            agreed.check(&who, sum(&made));
        }
        seconds
    })
}

/// A contestant that writes `len` numbers into the buffer that all share.
pub fn reused<'a, T: Element + Into<f32>>(
    name: &str,
    agreed: &'a Agreed,
    (buffer, len): (&'a RefCell<Buffer>, usize),
    mut job: impl FnMut(&mut [T]) + 'a,
) -> Contestant<'a> {
    let bytes = len * size_of::<T>();
    let job = move |buffer: &mut Buffer| job(buffer.view(len));
    in_buffer(name, agreed, (buffer, bytes), job, move |buffer| sum_numbers::<T>(buffer.view(len)))
}

/// A contestant that writes `bytes` bytes into the buffer that all share.
pub fn in_buffer<'a>(
    name: &str,
    agreed: &'a Agreed,
    (buffer, bytes): (&'a RefCell<Buffer>, usize),
    mut job: impl FnMut(&mut Buffer) + 'a,
    sum: impl Fn(&mut Buffer) -> u64 + 'a,
) -> Contestant<'a> {
    let (who, mut first) = (name.to_owned(), true);
    Contestant::reporting(name, move || {
        let mut buffer = buffer.borrow_mut();
        if first {
            // Overwrite what others left there.
            buffer.bytes(bytes).fill(1);
        }
        let start = Instant::now();
        job(black_box(&mut *buffer));
        let seconds = start.elapsed().as_secs_f64();
        if std::mem::take(&mut first) {
            agreed.check(&who, sum(&mut buffer));
        }
        seconds
    })
}

/// A sum over bytes that depends on their order.
pub fn sum_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.chain(rest.iter().map(|byte| u64::from(*byte))).fold(0, mixed)
}

/// A sum over numbers that depends on their order.
pub fn sum_numbers<T: Element + Into<f32>>(numbers: &[T]) -> u64 {
    numbers.iter().map(|number| u64::from((*number).into().to_bits())).fold(0, mixed)
}

fn mixed(sum: u64, word: u64) -> u64 {
    (sum.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Adds contests side by side: a line for each contestant, a column for each contest. A cell is
/// the median with its spread, and as a multiple of the first contestant's.
pub fn side_by_side(matrix: &mut Matrix, title: &str, contests: &[(String, Vec<Row>)]) {
    if matrix.head.is_empty() {
        let columns = contests.iter().map(|(name, _)| name.clone());
        matrix.head = std::iter::once(String::new()).chain(columns).collect();
    }
    let count = contests.iter().map(|(_, rows)| rows.len()).max().unwrap_or(0);
    for index in 0..count {
        let rows: Vec<Row> =
            contests.iter().filter_map(|(_, rows)| rows.get(index).cloned()).collect();
        let name = format!("{title}{}", rows[0].contestant);
        let cells = std::iter::once(name).chain(rows.iter().map(cell)).collect();
        matrix.lines.push(Line { cells, rows });
    }
}

fn cell(row: &Row) -> String {
    format!(
        "{} ({} to {}), {:.2}x",
        seconds(row.median),
        seconds(row.low),
        seconds(row.high),
        row.median_ratio
    )
}

/// How to read the cells of [`side_by_side`].
pub const LEGEND: &str = "Cells: median (tenth to ninetieth percentile), times the median of the \
     column's first line. Giving memory back is not timed.";
