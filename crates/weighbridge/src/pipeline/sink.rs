//! Where finished tiles go: to their places in a file, or one behind the other into a stream.

use std::io::Write;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::output::Output;

/// Takes tiles from any thread. Turns count from 0 and rise with offsets.
pub trait Sink: Sync {
    /// Writes the tile whose turn that is.
    fn write(&self, turn: u64, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Lets nobody wait any longer for a turn that will not come.
    fn give_up(&self) {}
}

impl Sink for Output {
    fn write(&self, _: u64, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write_at(offset, bytes)
    }
}

/// A stream: every tile waits for its turn.
pub struct Stream<W> {
    state: Mutex<State<W>>,
    moved: Condvar,
}

struct State<W> {
    writer: W,
    turn: u64,
    /// Bytes written so far.
    at: u64,
    given_up: bool,
}

/// What lies between tiles.
static ZEROS: [u8; 4096] = [0; 4096];

impl<W: Write + Send> Stream<W> {
    /// A stream that begins with `header`.
    pub fn new(mut writer: W, header: &[u8]) -> Result<Self> {
        writer.write_all(header).map_err(failed)?;
        let state = State { writer, turn: 0, at: header.len() as u64, given_up: false };
        Ok(Self { state: Mutex::new(state), moved: Condvar::new() })
    }

    /// Fills up to the planned length, and lets go of the writer.
    pub fn finish(self, len: u64) -> Result<()> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.pad(len)?;
        state.writer.flush().map_err(failed)
    }
}

impl<W: Write> State<W> {
    fn pad(&mut self, to: u64) -> Result<()> {
        while self.at < to {
            let zeros = usize::try_from(to - self.at).unwrap_or(usize::MAX).min(ZEROS.len());
            self.writer.write_all(&ZEROS[..zeros]).map_err(failed)?;
            self.at += zeros as u64;
        }
        Ok(())
    }
}

impl<W: Write + Send> Sink for Stream<W> {
    fn write(&self, turn: u64, offset: u64, bytes: &[u8]) -> Result<()> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let not_yet = |state: &mut State<W>| state.turn != turn && !state.given_up;
        let mut state =
            self.moved.wait_while(state, not_yet).unwrap_or_else(PoisonError::into_inner);
        if state.given_up {
            return Err(Error::usage("another tile could not be written"));
        }
        let written = state.pad(offset).and_then(|()| {
            state.writer.write_all(bytes).map_err(failed)?;
            state.at += bytes.len() as u64;
            Ok(())
        });
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
