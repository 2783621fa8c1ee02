//! What does a buffer gain when a GGUF header is read through a reader?
//!
//! Our own code always reads through its window. So this table has a small walk of its own, which
//! reads four or eight bytes at a time and every string in two reads, from whatever it is given:
//! the file itself, buffers of two sizes, bytes in memory.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use weighbridge::FileAccess;

use super::{Agreed, LEGEND, fresh, side_by_side};
use crate::harness::{Contestant, Rounds, Row, contest};
use crate::table::Table;
use crate::tables::{ours, ours_by_reader};
use crate::{Setting, fixtures};

const TENSORS: u64 = 300;
const VOCABULARIES: [(u64, &str); 3] =
    [(1000, "1,000 tokens"), (32_000, "32,000 tokens"), (150_000, "150,000 tokens")];

pub fn measure(setting: &Setting) -> Table {
    let title = "inspect a GGUF file through a reader: no buffer, one, or a map; warm";
    let mut table = Table::new("question-one-buffer", title);
    let mut contests = Vec::new();
    for (tokens, name) in VOCABULARIES {
        let path = fixtures::once(setting, &format!("question-{tokens}.gguf"), |path| {
            fixtures::gguf(path, tokens, TENSORS, 64 << 10)
        });
        let walked = walk(BufReader::new(open(&path))).expect("it is a GGUF header");
        table.figure(
            format!("{name}: bytes of the header, reads of the walk"),
            format!("{}, {}", walked.bytes, walked.reads),
        );
        contests.push((name.to_owned(), compare(&path, &walked, setting.quick)));
        let _ = std::fs::remove_file(&path);
    }
    side_by_side(&mut table.matrix, "", &contests);
    table.notes.push(LEGEND.into());
    table.notes.push(
        "The walk counts what it reads and keeps nothing; ours and anamnesis build a catalog and a report.".into(),
    );
    table
}

fn compare(path: &Path, walked: &Walked, quick: bool) -> Vec<Row> {
    let agreed = Agreed::default();
    let mut header = vec![1u8; walked.bytes as usize];
    let image = std::fs::read(path).expect("it reads");
    let walk_of = |name: &str, make: fn(&Path) -> Box<dyn Read>| {
        let agreed = &agreed;
        fresh(
            name,
            agreed,
            move || walk(make(path)),
            |walked| walked.as_ref().expect("it walks").sum,
        )
    };
    let peer_by_reader = || anamnesis::inspect_gguf_from_reader(open(path)).expect("it opens");
    let counted = |count: u64| assert_eq!(count, TENSORS);
    let contestants = vec![
        Contestant::timed("limit: open, one read of the header, close", || {
            open(path).read_exact(&mut header).expect("it reads");
        }),
        Contestant::timed("ours, mapped", || counted(ours(path, FileAccess::Map).stored_tensors)),
        Contestant::timed("ours, positioned reads, its window", || {
            counted(ours(path, FileAccess::Read).stored_tensors);
        }),
        Contestant::timed("ours, File as reader, its window", || {
            counted(ours_by_reader(path).stored_tensors);
        }),
        walk_of("walk, no buffer", |path| Box::new(open(path))),
        walk_of("walk, BufReader of 8 KiB", |path| Box::new(BufReader::new(open(path)))),
        walk_of("walk, BufReader of 64 KiB", |path| {
            Box::new(BufReader::with_capacity(64 << 10, open(path)))
        }),
        fresh(
            "walk, bytes in memory",
            &agreed,
            || walk(Cursor::new(&image[..])),
            |walked| walked.as_ref().expect("it walks").sum,
        ),
        Contestant::timed("anamnesis, mapped", || {
            let info = anamnesis::parse_gguf(path).expect("it opens").inspect();
            counted(info.tensor_count as u64);
        }),
        Contestant::timed("anamnesis, File as reader", || {
            counted(peer_by_reader().tensor_count as u64);
        }),
    ];
    contest(contestants, Rounds { warm_up: 1, timed: if quick { 5 } else { 21 } })
}

fn open(path: &Path) -> File {
    File::open(path).expect("it opens")
}

/// What a walk saw.
struct Walked {
    bytes: u64,
    reads: u64,
    /// Lengths of strings, numbers and offsets, folded.
    sum: u64,
}

/// Reads a header through a reader, one field at a time.
struct Walk<R> {
    reader: R,
    seen: Walked,
    text: Vec<u8>,
}

/// Walks a GGUF header of version 3 to its end.
fn walk(reader: impl Read) -> io::Result<Walked> {
    let seen = Walked { bytes: 0, reads: 0, sum: 0 };
    let mut walk = Walk { reader, seen, text: Vec::new() };
    walk.word()?;
    walk.word()?;
    let (tensors, entries) = (walk.long()?, walk.long()?);
    for _ in 0..entries {
        walk.string()?;
        let kind = walk.word()?;
        walk.value(kind)?;
    }
    for _ in 0..tensors {
        walk.string()?;
        let dimensions = walk.word()?;
        (0..dimensions).try_for_each(|_| walk.long().map(drop))?;
        walk.word()?;
        walk.long()?;
    }
    Ok(walk.seen)
}

impl<R: Read> Walk<R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.seen.bytes += N as u64;
        self.seen.reads += 1;
        Ok(bytes)
    }

    fn word(&mut self) -> io::Result<u32> {
        let word = u32::from_le_bytes(self.bytes()?);
        self.seen.sum = super::mixed(self.seen.sum, u64::from(word));
        Ok(word)
    }

    fn long(&mut self) -> io::Result<u64> {
        let word = u64::from_le_bytes(self.bytes()?);
        self.seen.sum = super::mixed(self.seen.sum, word);
        Ok(word)
    }

    fn string(&mut self) -> io::Result<()> {
        let len = self.long()?;
        self.text.resize(len as usize, 0);
        self.reader.read_exact(&mut self.text)?;
        self.seen.bytes += len;
        self.seen.reads += 1;
        let first = self.text.first().copied().unwrap_or(0);
        self.seen.sum = super::mixed(self.seen.sum, u64::from(first));
        Ok(())
    }

    /// A value of the kinds that the fixture has: 32-bit numbers, strings, arrays of either.
    fn value(&mut self, kind: u32) -> io::Result<()> {
        match kind {
            4..=6 => self.word().map(drop),
            8 => self.string(),
            9 => {
                let (kind, len) = (self.word()?, self.long()?);
                (0..len).try_for_each(|_| self.value(kind))
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
