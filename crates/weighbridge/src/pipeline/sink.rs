//! Where finished tiles go: to their places in a file, or one behind the other into a stream.

use std::io::Write;
use std::sync::{Condvar, Mutex, PoisonError};

use super::sums::Sums;
use crate::containers::writing::Fixed;
use crate::error::{Error, Result};
use crate::output::Output;

/// Which tile that is.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    /// Its turn in the order of the output, from 0.
    pub turn: u64,
    /// The tensor it is of: an index of the jobs.
    pub job: usize,
    /// Where it begins in the tensor.
    pub at: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// Takes tiles from any thread. Turns rise with offsets.
pub trait Sink: Sync {
    /// Takes a tile.
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()>;

    /// Lets nobody wait any longer for a turn that will not come.
    fn give_up(&self) {}
}

impl Sink for Output {
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        self.write_at(tile.offset, bytes)
    }
}

/// A stream: every tile waits for its turn.
pub struct Stream<'a, W> {
    state: Mutex<State<'a, W>>,
    moved: Condvar,
    sums: Option<&'a Sums>,
}

struct State<'a, W> {
    writer: W,
    turn: u64,
    /// Bytes written so far.
    at: u64,
    /// What stands around the tensors and has not been written yet.
    fixed: &'a [Fixed],
    given_up: bool,
}

/// What lies between tiles.
static ZEROS: [u8; 4096] = [0; 4096];

impl<'a, W: Write + Send> Stream<'a, W> {
    /// A stream of tiles with these bytes around them, and their sums in those bytes.
    pub fn new(writer: W, fixed: &'a [Fixed], sums: Option<&'a Sums>) -> Self {
        let state = State { writer, turn: 0, at: 0, fixed, given_up: false };
        Self { state: Mutex::new(state), moved: Condvar::new(), sums }
    }

    /// Writes up to the planned length, and lets go of the writer.
    pub fn finish(self, len: u64) -> Result<()> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.go_to(len, self.sums)?;
        state.writer.flush().map_err(failed)
    }
}

impl<W: Write> State<'_, W> {
    /// Writes what lies before a place.
    fn go_to(&mut self, to: u64, sums: Option<&Sums>) -> Result<()> {
        while let Some((next, rest)) = self.fixed.split_first().filter(|(next, _)| next.at < to) {
            self.pad(next.at)?;
            match sums {
                Some(sums) => self.put(&sums.filled(next))?,
                None => self.put(&next.bytes)?,
            }
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
        self.writer.write_all(bytes).map_err(failed)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl<W: Write + Send> Sink for Stream<'_, W> {
    fn write(&self, tile: &Tile, bytes: &[u8]) -> Result<()> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let not_yet = |state: &mut State<'_, W>| state.turn != tile.turn && !state.given_up;
        let mut state =
            self.moved.wait_while(state, not_yet).unwrap_or_else(PoisonError::into_inner);
        if state.given_up {
            return Err(Error::usage("another tile could not be written"));
        }
        let written = state.go_to(tile.offset, self.sums).and_then(|()| state.put(bytes));
        state.turn += 1;
        self.moved.notify_all();
        written
    }

    fn give_up(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).given_up = true;
        self.moved.notify_all();
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io(error, "cannot write to the stream")
}
