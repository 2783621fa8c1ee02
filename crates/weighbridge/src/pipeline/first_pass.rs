//! The first pass that an encoder may need over a weight before it encodes.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::schemes::WeightEncoder;
use crate::stop::lock;

/// An encoder and the state of its first pass.
pub(super) struct FirstPass {
    pub(super) encoder: Box<dyn WeightEncoder>,
    state: Mutex<State>,
    moved: Condvar,
}

struct State {
    /// Tiles that have not been seen.
    left: u64,
    given_up: bool,
}

impl FirstPass {
    /// A weight of so many tiles.
    pub(super) fn new(encoder: Box<dyn WeightEncoder>, tiles: u64) -> Self {
        let left = if encoder.needs_first_pass() { tiles } else { 0 };
        let state = Mutex::new(State { left, given_up: false });
        Self { encoder, state, moved: Condvar::new() }
    }

    /// One more tile was seen.
    pub(super) fn tile_is_seen(&self) {
        let mut state = lock(&self.state);
        state.left = state.left.saturating_sub(1);
        if state.left == 0 {
            self.moved.notify_all();
        }
    }

    /// Waits until every tile was seen. Workers take the tiles of the pass first, so the missing
    /// ones are in work by others.
    pub(super) fn wait(&self) -> Result<()> {
        let mut state = lock(&self.state);
        while state.left > 0 {
            if state.given_up {
                return Err(Error::usage("stopped because another tile could not be read"));
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Wakes all that wait, with an error.
    pub(super) fn give_up(&self) {
        lock(&self.state).given_up = true;
        self.moved.notify_all();
    }
}
