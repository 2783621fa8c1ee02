//! What will be read, fetched before it is asked for.
//!
//! The plan of an operation announces stretches of files in the order in which they will be read.
//! They are cut into blocks, and blocks are fetched in that order, several at once, as long as those
//! that wait to be read fit into a budget. A read takes its bytes out of blocks; a block whose bytes
//! have all been read makes room for the next.
//!
//! Bytes that are read in pieces from all over a stretch are held until all of it was read, beyond the
//! budget if need be: that much was granted when the work was planned.
//!
//! A read of something that was not announced, or was given up to make room, is not served here: its
//! file fetches it.

mod block;
mod state;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::runtime::{runtime, wait_while};
use crate::input::{Need, Reading};
use crate::stop::{self, lock};
use block::Announced;
use state::State;

/// Bytes of a block, at most: one request.
const BLOCK: u64 = 8 << 20;

/// A shorter request costs as much.
const LEAST_BLOCK: u64 = 64 << 10;

/// Blocks that are fetched ahead at the same time: a few long requests fill any line. The budget
/// holds as many.
pub(super) const AHEAD_AT_ONCE: usize = 8;

/// How many blocks readers may be apart: workers take tiles out of order, but not far.
const APART: u64 = 8;

/// How long those who read nothing are waited for: a worker may have to wait for its output.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// Bytes of a file that are on their way.
pub(crate) type Fetching = Pin<Box<dyn Future<Output = io::Result<Arc<Vec<u8>>>> + Send>>;

/// The bytes of a block, and where they begin.
type Found = (Arc<Vec<u8>>, u64);

/// A file of which stretches can be fetched.
pub(crate) trait Fetch: Send + Sync {
    /// Fetches exactly these bytes, into memory that was used before where there is some.
    fn fetch(self: Arc<Self>, range: Range<u64>, memory: Vec<u8>) -> Fetching;
}

/// What is fetched ahead, of all files of a place.
pub struct Ahead {
    state: Mutex<State>,
    /// A block has arrived, or was read.
    changed: Condvar,
    /// The most bytes that are fetched ahead, by the settings.
    most: u64,
    /// The most bytes that are held, by what the work at hand allows.
    limit: AtomicU64,
    parallel: usize,
}

impl Ahead {
    pub(super) fn new(most: u64, parallel: usize) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Arc::new(Self {
            state,
            changed,
            most,
            limit: AtomicU64::new(most),
            parallel: parallel.clamp(1, AHEAD_AT_ONCE),
        })
    }

    /// Limits what it holds.
    pub(super) fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// The most bytes that are held of what is read from all over.
    fn most_held(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    fn budget(&self) -> u64 {
        self.most_held().min(self.most)
    }

    /// Bytes of a request: as many as may be under way fit into the budget.
    pub(super) fn request_bytes(&self) -> u64 {
        (self.budget() / AHEAD_AT_ONCE as u64).clamp(LEAST_BLOCK, BLOCK)
    }

    /// Announces a stretch of the file with that number, after all that was announced before.
    pub(super) fn will_need(self: &Arc<Self>, file: &Arc<dyn Fetch>, id: u64, need: &Need) {
        let mut state = lock(&self.state);
        state.announce(file, id, need, self.request_bytes());
        self.begin_some(&mut state);
    }

    /// Forgets a file that is not read any more.
    pub(super) fn forget(&self, id: u64) {
        lock(&self.state).forget(id);
    }

    /// Copies what was announced of the bytes from `offset` on, up to the end of a block, and waits for
    /// it if it is under way; how many bytes those are. None if the file has to fetch them itself. An
    /// error if they could not be fetched: that took all tries.
    pub(super) fn copy(
        self: &Arc<Self>,
        id: u64,
        offset: u64,
        out: &mut [u8],
    ) -> io::Result<usize> {
        let Some((bytes, start)) = self.block_at(id, offset)? else { return Ok(0) };
        let found = bytes.get(place(offset - start)..).unwrap_or_default();
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        // Whoever drops the block takes its memory.
        drop(bytes);
        let mut state = lock(&self.state);
        state.was_read(id, offset..offset + count as u64, self.request_bytes());
        self.begin_some(&mut state);
        self.changed.notify_all();
        Ok(count)
    }

    /// The nearest place behind `offset` from which on something of a file was announced.
    pub(super) fn next(&self, id: u64, offset: u64) -> Option<u64> {
        lock(&self.state).next(id, offset)
    }

    /// Whether something of a range was announced.
    pub(super) fn touches(&self, id: u64, range: &Range<u64>) -> bool {
        let state = lock(&self.state);
        let is_here = state.block(id, range.start).is_some();
        is_here
            || state.has_failed(id, range)
            || state.turn_of(id, range.start).is_some()
            || state.next(id, range.start).is_some_and(|next| next < range.end)
    }

    /// The block that holds a byte, once it is here, and where it begins; `None` if there is none, or
    /// it could not be had.
    fn block_at(self: &Arc<Self>, id: u64, at: u64) -> io::Result<Option<Found>> {
        let mut state = self.begin_now(lock(&self.state), id, at);
        loop {
            if let Some(failed) = state.take_failure(id, at) {
                return Err(failed);
            }
            let Some(block) = state.block(id, at) else { return Ok(None) };
            if let Some(bytes) = &block.bytes {
                return Ok(Some((bytes.clone(), block.of.range.start)));
            }
            let is_under_way =
                |state: &State| state.block(id, at).is_some_and(|block| !block.is_here());
            state = wait_while(&self.changed, state, is_under_way);
            if stop::is_stopped() {
                return Ok(None);
            }
        }
    }

    /// Begins a block that is needed now, although it is not its turn. What was passed over makes room.
    fn begin_now<'a>(
        self: &'a Arc<Self>,
        mut state: MutexGuard<'a, State>,
        id: u64,
        at: u64,
    ) -> MutexGuard<'a, State> {
        let Some(turn) = state.turn_of(id, at) else { return state };
        state.drop_passed(turn);
        state = self.wait_for_room(state, turn);
        // Another reader may have begun it meanwhile.
        if let Some(announced) = state.take(turn) {
            if announced.reading == Reading::Scattered {
                state.reading = announced.group;
            }
            self.begin(&mut state, turn, announced);
        }
        // With it, the rest of its group.
        self.begin_some(&mut state);
        state
    }

    /// What is held as a whole waits until those before it have been read, as long as somebody reads
    /// them.
    fn wait_for_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        turn: u64,
    ) -> MutexGuard<'a, State> {
        let is_full = |state: &State| {
            state.waiting.get(&turn).is_some_and(|waiting| {
                let held = state.held_by_older(waiting.group, turn);
                waiting.reading == Reading::Scattered
                    && held.is_some_and(|held| held + waiting.len() > self.most_held())
            })
        };
        while is_full(&state) && !stop::is_stopped() {
            let (reads, begun) = (state.reads, Instant::now());
            let nobody_reads = |state: &State| state.reads == reads && begun.elapsed() < PATIENCE;
            state = wait_while(&self.changed, state, |state| is_full(state) && nobody_reads(state));
            if is_full(&state)
                && state.reads == reads
                && let Some(group) = state.waiting.get(&turn).map(|waiting| waiting.group)
            {
                state.drop_older(group, turn);
                break;
            }
        }
        state
    }

    /// Begins blocks in their order, as many as there is room for.
    fn begin_some(self: &Arc<Self>, state: &mut State) {
        while state.under_way < self.parallel
            && let Some((&turn, next)) = state.waiting.first_key_value()
        {
            let is_being_read = next.reading == Reading::Scattered && next.group == state.reading;
            let most = if is_being_read { self.most_held() } else { self.budget() };
            if state.held + next.len() > most {
                break;
            }
            if let Some(next) = state.take(turn) {
                self.begin(state, turn, next);
            }
        }
        state.tidy();
    }

    fn begin(self: &Arc<Self>, state: &mut State, turn: u64, announced: Announced) {
        let (Some(file), Ok(runtime)) = (announced.file.upgrade(), runtime()) else { return };
        let (id, range) = (announced.id, announced.range.clone());
        let start = range.start;
        let memory = state.begin(turn, announced);
        let (ahead, fetching) = (self.clone(), file.fetch(range, memory));
        runtime.spawn(async move {
            let fetched = fetching.await;
            ahead.has_arrived(id, start, turn, fetched);
        });
    }

    fn has_arrived(
        self: &Arc<Self>,
        id: u64,
        start: u64,
        turn: u64,
        fetched: io::Result<Arc<Vec<u8>>>,
    ) {
        let mut state = lock(&self.state);
        state.under_way -= 1;
        let block = state.blocks.get_mut(&(id, start));
        if let Some(block) = block.filter(|block| block.turn == turn && !block.is_here()) {
            match fetched {
                Ok(bytes) if bytes.len() as u64 == block.of.len() => block.bytes = Some(bytes),
                Ok(_) => state.drop_block(id, start),
                Err(failed) => state.fail_block(id, start, failed),
            }
        }
        self.begin_some(&mut state);
        self.changed.notify_all();
    }
}

/// A place in a block, which is never larger than memory.
fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
