//! Where finished tiles go: to their offsets in a file, or one after the other into a stream.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

use super::checksums::Checksums;
use crate::containers::writing::Fixed;
use crate::error::{Error, Result};
use crate::output::OutputFile;
use crate::stop::{into_inner, lock};

/// The position of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// Its turn in the order of the output, from 0.
    pub turn: u64,
    /// The number of the tensor it is of, among all tensors of the file.
    pub tensor: usize,
    /// Where it begins in the tensor.
    pub at: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// Takes tiles from any thread. Turns rise with offsets.
pub trait Sink: Sync {
    /// Takes a tile.
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()>;

    /// Says that the tiles of a tensor will come, for a sink that reads something for them.
    fn announce(&self, _tensor: usize) {}

    /// Wakes all that wait for a turn that will not come.
    fn give_up(&self) {}
}

/// A file that takes bytes in any order, and the checksums of its tensors.
pub struct AtPlace<'a>(pub &'a dyn OutputFile, pub &'a Checksums);

impl Sink for AtPlace<'_> {
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        self.1.add(tile.tensor, tile.at, bytes);
        if bytes.is_empty() { Ok(()) } else { self.0.write_at(tile.offset, bytes) }
    }
}

/// A file that is written from front to back: tiles are written in turn. A tile that comes early is
/// kept in memory so that its worker need not wait, unless too much is kept already.
pub struct InTurn<'a> {
    queue: Mutex<Queue>,
    moved: Condvar,
    /// Only used by the worker that marked the queue busy.
    end: Mutex<End<'a>>,
    checksums: &'a Checksums,
}

/// Whose turn it is, and the tiles that came early.
#[derive(Default)]
struct Queue {
    turn: u64,
    /// A worker is writing.
    is_busy: bool,
    /// Tiles that came early, by their turns: where they go, and what they are.
    early: BTreeMap<u64, (u64, Vec<u8>)>,
    early_bytes: usize,
    /// Buffers that are free.
    spare: Vec<Vec<u8>>,
    given_up: bool,
}

/// The most bytes of early tiles that are kept.
const MOST_EARLY: usize = 4 << 20;

/// Where the file ends so far.
struct End<'a> {
    file: &'a dyn OutputFile,
    /// Bytes written so far.
    at: u64,
    /// The bytes around the tensors that have not been written yet.
    fixed: &'a [Fixed],
}

/// What lies between tiles.
static ZEROS: [u8; 4096] = [0; 4096];

impl<'a> InTurn<'a> {
    /// Tiles for a file, with these bytes around them, and their checksums in those bytes.
    pub fn new(file: &'a dyn OutputFile, fixed: &'a [Fixed], checksums: &'a Checksums) -> Self {
        let end = Mutex::new(End { file, at: 0, fixed });
        Self { queue: Mutex::default(), moved: Condvar::new(), end, checksums }
    }

    /// Writes up to the planned length.
    pub fn finish(self, len: u64) -> Result<()> {
        into_inner(self.end).go_to(len, self.checksums)
    }

    fn put(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut end = lock(&self.end);
        end.go_to(offset, self.checksums)?;
        end.put(bytes)
    }

    /// Writes early tiles whose turn has come, until one is missing.
    fn go_on(&self) -> Result<()> {
        loop {
            let mut queue = lock(&self.queue);
            queue.turn += 1;
            let turn = queue.turn;
            let Some((offset, bytes)) = queue.early.remove(&turn) else {
                queue.is_busy = false;
                self.moved.notify_all();
                return Ok(());
            };
            drop(queue);
            let put = self.put(offset, &bytes);
            let mut queue = lock(&self.queue);
            queue.early_bytes -= bytes.len();
            queue.spare.push(bytes);
            drop(queue);
            put?;
        }
    }
}

impl Queue {
    /// Keeps a tile that came early.
    fn keep(&mut self, tile: &Tile, bytes: &[u8]) {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(bytes);
        self.early_bytes += bytes.len();
        self.early.insert(tile.turn, (tile.offset, kept));
    }
}

impl End<'_> {
    /// Writes the fixed bytes and padding before an offset.
    fn go_to(&mut self, to: u64, checksums: &Checksums) -> Result<()> {
        while let Some((next, rest)) = self.fixed.split_first().filter(|(next, _)| next.at < to) {
            self.pad(next.at)?;
            self.put(&checksums.filled(next))?;
            self.fixed = rest;
        }
        self.pad(to)
    }

    fn pad(&mut self, to: u64) -> Result<()> {
        while self.at < to {
            let zeros = usize::try_from(to - self.at).unwrap_or(usize::MAX).min(ZEROS.len());
            self.put(&ZEROS[..zeros])?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl Sink for InTurn<'_> {
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        self.checksums.add(tile.tensor, tile.at, bytes);
        let mut queue = lock(&self.queue);
        loop {
            if queue.given_up {
                return Err(Error::usage("stopped because another tile could not be written"));
            }
            if queue.turn == tile.turn && !queue.is_busy {
                queue.is_busy = true;
                drop(queue);
                return self.put(tile.offset, bytes).and_then(|()| self.go_on());
            }
            if queue.early_bytes + bytes.len() <= MOST_EARLY {
                queue.keep(tile, bytes);
                return Ok(());
            }
            queue = self.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_up(&self) {
        lock(&self.queue).given_up = true;
        self.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Destination as _, Stream};

    #[test]
    fn tiles_that_come_early_wait_for_their_turn() {
        let (mut out, tiles) = (Vec::new(), 400u64);
        let fixed = [Fixed::new(0, b"head".to_vec()), Fixed::new(4 + tiles * 3, b"tail".to_vec())];
        let to = Stream::new(&mut out);
        let file = to.create("out", 0).unwrap();
        let sums = Checksums::default();
        let stream = InTurn::new(&*file, &fixed, &sums);
        let next = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for worker in 0..4u64 {
                let (stream, next) = (&stream, &next);
                scope.spawn(move || {
                    loop {
                        let turn = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if turn >= tiles {
                            return;
                        }
                        // Somebody is always late.
                        if (turn + worker) % 7 == 0 {
                            std::thread::yield_now();
                        }
                        let at = turn * 3;
                        let tile = Tile { turn, tensor: 0, at, offset: 4 + at };
                        stream.write(&tile, &[turn.to_le_bytes()[0], 1, 2]).unwrap();
                    }
                });
            }
        });
        stream.finish(4 + tiles * 3 + 4).unwrap();
        let body: Vec<u8> = (0..tiles).flat_map(|turn| [turn.to_le_bytes()[0], 1, 2]).collect();
        drop(file);
        assert!(out == [b"head", &body[..], b"tail"].concat());
    }

    #[test]
    fn what_is_too_much_to_put_aside_waits() {
        let mut out = Vec::new();
        let to = Stream::new(&mut out);
        let file = to.create("out", 0).unwrap();
        let sums = Checksums::default();
        let stream = InTurn::new(&*file, &[], &sums);
        let large = vec![7; MOST_EARLY];
        let tile = |turn: u64, offset: u64| Tile { turn, tensor: 0, at: 0, offset };
        std::thread::scope(|scope| {
            let (first, second) = (large.len() as u64 + 1, 2 * large.len() as u64 + 1);
            let (stream, large) = (&stream, &large);
            scope.spawn(move || stream.write(&tile(1, 1), large).unwrap());
            scope.spawn(move || stream.write(&tile(2, first), large).unwrap());
            scope.spawn(move || stream.write(&tile(3, second), &[1]).unwrap());
            std::thread::yield_now();
            stream.write(&tile(0, 0), &[9]).unwrap();
        });
        drop(stream);
        drop(file);
        assert_eq!(out.len(), 2 * large.len() + 2);
        assert_eq!((out[0], out[out.len() - 1]), (9, 1));
    }

    #[test]
    fn nobody_waits_for_a_turn_that_will_not_come() {
        let to = Stream::new(std::io::sink());
        let file = to.create("out", 0).unwrap();
        let sums = Checksums::default();
        let stream = InTurn::new(&*file, &[], &sums);
        let large = vec![0; MOST_EARLY + 1];
        std::thread::scope(|scope| {
            let waiting = scope
                .spawn(|| stream.write(&Tile { turn: 1, tensor: 0, at: 0, offset: 0 }, &large));
            stream.give_up();
            assert!(waiting.join().unwrap().is_err());
        });
    }
}
