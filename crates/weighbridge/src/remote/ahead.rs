//! What will be read, fetched before it is asked for.
//!
//! The plan of an operation announces stretches of files in the order in which they will be read.
//! They are cut into blocks, and blocks are fetched in that order, several at once, as long as those
//! that wait to be read fit into a budget. A read takes its bytes out of blocks; a block whose bytes
//! have all been read makes room for the next.
//!
//! A read of something that was not announced, or was given up to make room, is not served here: its
//! file fetches it.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use super::runtime::{runtime, wait_while};
use crate::stop;

/// Bytes of a block, at most: one request.
const BLOCK: u64 = 8 << 20;

/// A shorter request costs as much.
const LEAST_BLOCK: u64 = 64 << 10;

/// Blocks that are fetched ahead at the same time: a few long requests fill any line.
pub(super) const AHEAD_AT_ONCE: usize = 8;

/// How many blocks readers may be apart: workers take tiles out of order, but not far.
const APART: u64 = 8;

/// Bytes of a file that are on their way.
pub(crate) type Fetching = Pin<Box<dyn Future<Output = io::Result<Vec<u8>>> + Send>>;

/// A file of which stretches can be fetched.
pub(crate) trait Fetch: Send + Sync {
    /// Fetches exactly these bytes, into memory that was used before where there is some.
    fn fetch(self: Arc<Self>, range: Range<u64>, memory: Vec<u8>) -> Fetching;
}

/// What is fetched ahead, of all files of a place.
pub(crate) struct Ahead {
    state: Mutex<State>,
    /// A block has arrived.
    arrived: Condvar,
    /// The most bytes of blocks, by the settings.
    most: u64,
    /// The same, by what the work at hand allows.
    budget: AtomicU64,
    parallel: usize,
}

#[derive(Default)]
struct State {
    /// Blocks that are not begun, by their turn.
    waiting: BTreeMap<u64, Waiting>,
    /// The turns of those of each file, by their start.
    turns: HashMap<u64, BTreeMap<u64, u64>>,
    /// The turn of what is announced next.
    announced: u64,
    /// Blocks that are under way or wait to be read, by the number of the file and their start.
    blocks: HashMap<u64, BTreeMap<u64, Block>>,
    held: u64,
    under_way: usize,
    /// Memory of blocks that were read, for the next ones: given back to the system and taken anew,
    /// it would lie about in pieces.
    spare: Vec<Vec<u8>>,
}

impl State {
    fn wait(&mut self, waiting: Waiting) {
        let turn = self.announced;
        self.announced += 1;
        self.turns.entry(waiting.id).or_default().insert(waiting.range.start, turn);
        self.waiting.insert(turn, waiting);
    }

    fn take(&mut self, turn: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&turn)?;
        if let Some(turns) = self.turns.get_mut(&waiting.id) {
            turns.remove(&waiting.range.start);
        }
        Some(waiting)
    }

    /// The turn of the block of a file that is not begun and holds a byte.
    fn turn_of(&self, id: u64, at: u64) -> Option<u64> {
        let (_, turn) = self.turns.get(&id)?.range(..=at).next_back()?;
        self.waiting.get(turn).filter(|waiting| waiting.range.contains(&at)).map(|_| *turn)
    }

    /// The nearest place behind `offset` from which on something of a file was announced.
    fn next(&self, id: u64, offset: u64) -> Option<u64> {
        let behind = offset.saturating_add(1)..;
        let begun = self.blocks.get(&id).and_then(|all| all.range(behind.clone()).next());
        let waiting = self.turns.get(&id).and_then(|all| all.range(behind).next());
        let starts = [begun.map(|(start, _)| *start), waiting.map(|(start, _)| *start)];
        starts.into_iter().flatten().min()
    }

    /// The block of a file that is begun and holds a byte.
    fn block(&self, id: u64, at: u64) -> Option<(u64, &Block)> {
        let (start, block) = self.blocks.get(&id)?.range(..=at).next_back()?;
        (at < block.end).then_some((*start, block))
    }
}

struct Waiting {
    file: Weak<dyn Fetch>,
    id: u64,
    range: Range<u64>,
}

struct Block {
    end: u64,
    turn: u64,
    unread: u64,
    bytes: Arrival,
}

enum Arrival {
    UnderWay,
    Here(Arc<Vec<u8>>),
}

impl Ahead {
    pub(super) fn new(budget: u64, parallel: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            arrived: Condvar::new(),
            most: budget,
            budget: AtomicU64::new(budget),
            parallel: parallel.max(1),
        })
    }

    /// Limits what it holds; how much that is.
    pub(super) fn limit(&self, bytes: u64) -> u64 {
        let budget = bytes.min(self.most);
        self.budget.store(budget, Ordering::Relaxed);
        budget
    }

    fn budget(&self) -> u64 {
        self.budget.load(Ordering::Relaxed)
    }

    /// Bytes of a block: several fit into the budget.
    fn block(&self) -> u64 {
        BLOCK.min(self.budget() / 2).max(LEAST_BLOCK)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a stretch of the file with that number, after all that was announced before. What of
    /// it was announced already keeps its turn.
    pub(super) fn will_need(self: &Arc<Self>, file: &Arc<dyn Fetch>, id: u64, range: Range<u64>) {
        let mut state = self.state();
        let mut start = range.start;
        if let Some(mut last) = state.waiting.last_entry()
            && last.get().id == id
            && last.get().range.end == start
        {
            // Neighbours are one request, up to its length.
            let last = &mut last.get_mut().range;
            last.end = last.end.max(range.end.min(last.start + self.block()));
            start = last.end;
        }
        while start < range.end {
            let known = state.block(id, start).map(|(_, block)| block.end);
            let waiting = || Some(state.waiting.get(&state.turn_of(id, start)?)?.range.end);
            if let Some(end) = known.or_else(waiting) {
                start = end;
                continue;
            }
            let next = state.next(id, start).unwrap_or(u64::MAX);
            let end = range.end.min(start + self.block()).min(next);
            state.wait(Waiting { file: Arc::downgrade(file), id, range: start..end });
            start = end;
        }
        self.begin_some(&mut state);
    }

    /// Forgets a file that is not read any more.
    pub(super) fn forget(&self, id: u64) {
        let mut state = self.state();
        for turn in state.turns.remove(&id).unwrap_or_default().into_values() {
            state.waiting.remove(&turn);
        }
        let blocks = state.blocks.remove(&id).unwrap_or_default();
        let freed: u64 = blocks.iter().map(|(start, block)| block.end - start).sum();
        state.held -= freed.min(state.held);
    }

    /// Copies what was announced of the bytes from `offset` on, up to the end of a block, and waits for
    /// it if it is under way; how many bytes those are. None if the file has to fetch them itself.
    pub(super) fn copy(self: &Arc<Self>, id: u64, offset: u64, out: &mut [u8]) -> usize {
        let Some((bytes, range)) = self.block_at(id, offset) else { return 0 };
        let found = bytes.get(place(offset - range.start)..).unwrap_or_default();
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        // Whoever drops the block takes its memory.
        drop(bytes);
        self.was_read(id, range.start, count as u64);
        count
    }

    /// The nearest place behind `offset` from which on something of a file was announced.
    pub(super) fn next(&self, id: u64, offset: u64) -> Option<u64> {
        self.state().next(id, offset)
    }

    /// Whether something of a range was announced.
    pub(super) fn touches(&self, id: u64, range: &Range<u64>) -> bool {
        let state = self.state();
        let is_here = state.block(id, range.start).is_some();
        is_here
            || state.turn_of(id, range.start).is_some()
            || state.next(id, range.start).is_some_and(|next| next < range.end)
    }

    /// The block that holds a byte, once it is here; `None` if there is none, or it could not be had.
    fn block_at(self: &Arc<Self>, id: u64, at: u64) -> Option<(Arc<Vec<u8>>, Range<u64>)> {
        let mut state = self.state();
        self.begin_now(&mut state, id, at);
        loop {
            let (start, block) = state.block(id, at)?;
            let range = start..block.end;
            match &block.bytes {
                Arrival::Here(bytes) => return Some((bytes.clone(), range)),
                Arrival::UnderWay => {
                    let is_waiting = |state: &State| {
                        let block = state.block(id, at).map(|(_, block)| &block.bytes);
                        matches!(block, Some(Arrival::UnderWay))
                    };
                    state = wait_while(&self.arrived, state, is_waiting);
                    if stop::is_stopped() {
                        return None;
                    }
                }
            }
        }
    }

    /// Begins a block that is needed now although it is not its turn. What was passed over makes room.
    fn begin_now(self: &Arc<Self>, state: &mut State, id: u64, at: u64) {
        let Some(turn) = state.turn_of(id, at) else { return };
        if let Some(waiting) = state.take(turn) {
            self.begin(state, turn, waiting);
        }
        let is_passed =
            |block: &Block| !matches!(block.bytes, Arrival::UnderWay) && block.turn + APART < turn;
        let passed: Vec<(u64, u64)> = state
            .blocks
            .iter()
            .flat_map(|(id, blocks)| blocks.iter().map(move |(start, block)| (*id, *start, block)))
            .filter(|(_, _, block)| is_passed(block))
            .map(|(id, start, _)| (id, start))
            .collect();
        for (id, start) in passed {
            self.drop_block(state, id, start);
        }
    }

    /// Counts bytes of a block that were read; when all were, it makes room.
    fn was_read(self: &Arc<Self>, id: u64, start: u64, bytes: u64) {
        let mut state = self.state();
        let block = state.blocks.get_mut(&id).and_then(|blocks| blocks.get_mut(&start));
        let Some(block) = block else { return };
        block.unread = block.unread.saturating_sub(bytes);
        if block.unread == 0 {
            self.drop_block(&mut state, id, start);
        }
    }

    fn drop_block(self: &Arc<Self>, state: &mut State, id: u64, start: u64) {
        if let Some(block) = state.blocks.get_mut(&id).and_then(|blocks| blocks.remove(&start)) {
            state.held -= (block.end - start).min(state.held);
            if let Arrival::Here(bytes) = block.bytes {
                state.spare.extend(Arc::into_inner(bytes));
            }
        }
        self.begin_some(state);
        if state.waiting.is_empty() {
            state.spare.clear();
        }
    }

    /// Begins blocks in their order, as many as there is room for.
    fn begin_some(self: &Arc<Self>, state: &mut State) {
        while state.under_way < self.parallel
            && let Some((&turn, next)) = state.waiting.first_key_value()
            && state.held + (next.range.end - next.range.start) <= self.budget()
            && let Some(next) = state.take(turn)
        {
            self.begin(state, turn, next);
        }
    }

    fn begin(self: &Arc<Self>, state: &mut State, turn: u64, waiting: Waiting) {
        let Waiting { file, id, range } = waiting;
        let (Some(file), Ok(runtime)) = (file.upgrade(), runtime()) else { return };
        let Range { start, end } = range;
        let block = Block { end, turn, unread: end - start, bytes: Arrival::UnderWay };
        state.blocks.entry(id).or_default().insert(start, block);
        state.held += end - start;
        state.under_way += 1;
        let memory = state.spare.pop().unwrap_or_default();
        let (ahead, fetching) = (self.clone(), file.fetch(range, memory));
        runtime.spawn(async move {
            let fetched = fetching.await;
            ahead.has_arrived(id, start, fetched.ok());
        });
    }

    fn has_arrived(self: &Arc<Self>, id: u64, start: u64, bytes: Option<Vec<u8>>) {
        let mut state = self.state();
        state.under_way -= 1;
        let block = state.blocks.get_mut(&id).and_then(|blocks| blocks.get_mut(&start));
        if let Some(block) = block {
            let is_whole = |bytes: &Vec<u8>| bytes.len() as u64 == block.end - start;
            match bytes.filter(is_whole) {
                Some(bytes) => block.bytes = Arrival::Here(Arc::new(bytes)),
                // Whoever reads it fetches it again, and hears what is wrong.
                None => self.drop_block(&mut state, id, start),
            }
        }
        self.begin_some(&mut state);
        self.arrived.notify_all();
    }
}

/// A place in a block, which is never larger than memory.
fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// A file whose byte at an offset follows from it, and which takes its time.
    struct Slow {
        fetched: Mutex<Vec<Range<u64>>>,
        under_way: AtomicUsize,
        most: AtomicUsize,
    }

    fn byte(at: u64) -> u8 {
        u8::try_from((at / 1000 + at) % 251).unwrap()
    }

    struct File(Arc<Slow>);

    impl Fetch for File {
        fn fetch(self: Arc<Self>, range: Range<u64>, _: Vec<u8>) -> Fetching {
            let slow = self.0.clone();
            Box::pin(async move {
                let now = slow.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                slow.most.fetch_max(now, Ordering::SeqCst);
                slow.fetched.lock().unwrap().push(range.clone());
                tokio::time::sleep(Duration::from_millis(5)).await;
                slow.under_way.fetch_sub(1, Ordering::SeqCst);
                match range.start == 5 * BLOCK {
                    true => Err(io::ErrorKind::BrokenPipe.into()),
                    false => Ok(range.map(byte).collect()),
                }
            })
        }
    }

    fn slow() -> (Arc<Slow>, Arc<dyn Fetch>) {
        let slow = Slow {
            fetched: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        };
        let slow = Arc::new(slow);
        (slow.clone(), Arc::new(File(slow)))
    }

    fn read(ahead: &Arc<Ahead>, at: u64, len: usize) -> Option<Vec<u8>> {
        let (mut out, mut done) = (vec![0; len], 0);
        while done < len {
            match ahead.copy(1, at + done as u64, &mut out[done..]) {
                0 => return None,
                count => done += count,
            }
        }
        Some(out)
    }

    #[test]
    fn what_is_announced_is_there_and_stays_within_the_budget() {
        let (slow, file) = slow();
        let ahead = Ahead::new(3 * BLOCK, 2);
        ahead.will_need(&file, 1, 100..100 + 4 * BLOCK);
        let step = 1 << 20;
        for at in (100..100 + 4 * BLOCK).step_by(step) {
            let found = read(&ahead, at, step).unwrap();
            assert_eq!((found[0], found[step - 1]), (byte(at), byte(at + step as u64 - 1)), "{at}");
            assert!(ahead.state().held <= 3 * BLOCK);
        }
        assert_eq!(slow.fetched.lock().unwrap().len(), 4);
        assert!(slow.most.load(Ordering::SeqCst) <= 2);
        assert_eq!(ahead.state().held, 0);
        assert!(read(&ahead, 0, 10).is_none());
    }

    #[test]
    fn neighbours_are_fetched_together() {
        let (slow, file) = slow();
        let (ahead, all) = (Ahead::new(2 * BLOCK, 4), 2 * BLOCK);
        // The budget is full, so that the rest waits.
        ahead.will_need(&file, 1, 0..all);
        (0..10).for_each(|i| ahead.will_need(&file, 1, all + i * 1000..all + (i + 1) * 1000));
        assert!(read(&ahead, 0, place(all)).is_some());
        assert_eq!(read(&ahead, all + 4500, 1000).unwrap()[0], byte(all + 4500));
        assert_eq!(slow.fetched.lock().unwrap()[2], all..all + 10_000);
    }

    #[test]
    fn a_smaller_budget_means_shorter_requests() {
        let (slow, file) = slow();
        let ahead = Ahead::new(4 * BLOCK, 4);
        assert_eq!((ahead.limit(u64::MAX), ahead.limit(BLOCK)), (4 * BLOCK, BLOCK));
        ahead.will_need(&file, 1, 0..4 * BLOCK);
        assert!(ahead.state().held <= BLOCK);
        assert!(read(&ahead, 0, place(4 * BLOCK)).is_some());
        assert_eq!(slow.fetched.lock().unwrap()[0], 0..BLOCK / 2);
    }

    #[test]
    fn what_is_never_read_does_not_hold_up_the_rest() {
        let (_, file) = slow();
        let ahead = Ahead::new(2 * BLOCK, 2);
        ahead.will_need(&file, 1, 20 * BLOCK..60 * BLOCK);
        for block in (22..60).step_by(7) {
            assert!(read(&ahead, block * BLOCK, 10).is_some(), "{block}");
        }
    }

    #[test]
    fn a_failure_is_left_to_whoever_reads_and_files_are_forgotten() {
        let (_, file) = slow();
        let ahead = Ahead::new(4 * BLOCK, 2);
        ahead.will_need(&file, 1, 5 * BLOCK..7 * BLOCK);
        assert!(read(&ahead, 5 * BLOCK, 10).is_none());
        assert!(read(&ahead, 6 * BLOCK, 10).is_some());
        assert_eq!(ahead.next(1, 0), Some(6 * BLOCK));
        assert!(ahead.touches(1, &(0..7 * BLOCK)) && !ahead.touches(1, &(0..BLOCK)));
        ahead.forget(1);
        assert_eq!(ahead.state().held, 0);
        assert!(read(&ahead, 6 * BLOCK, 10).is_none());
    }
}
