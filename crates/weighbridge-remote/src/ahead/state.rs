//! What was announced, what is under way, and what is here.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::block::{Announced, Block};
use super::{APART, Fetch, PATIENCE};
use crate::input::{Need, Reading};
use crate::{Error, ErrorKind};

/// Blocks of a weight that is read twice stay for the second time, if the weight has no more than
/// this many.
const STAY: u64 = 4;

/// The group of what is read at once, before all that was announced for later.
const NOW: u64 = 0;

/// Turns of what is read in its order are higher than those of what is read at once.
const BEHIND: u64 = 1 << 40;

/// A block that could not be fetched.
struct Failure {
    end: u64,
    when: Instant,
    why: io::Error,
}

#[derive(Default)]
pub(super) struct State {
    /// Stretches that are not begun, by their turn.
    pub(super) waiting: BTreeMap<u64, Announced>,
    /// The turns of those, by the number of the file and their start.
    turns: BTreeMap<(u64, u64), u64>,
    /// How many turns were given to what comes after all others, and before them.
    behind: u64,
    before: u64,
    /// What is under way or here, by the number of the file and their start.
    pub(super) blocks: BTreeMap<(u64, u64), Block>,
    /// Blocks that could not be fetched, by the number of the file and their start: the first who
    /// reads one hears why.
    failed: BTreeMap<(u64, u64), Failure>,
    pub(super) held: u64,
    pub(super) under_way: usize,
    /// The group that is being read, of those that are held as a whole.
    pub(super) reading: u64,
    /// How many reads there were: whoever waits for others sees that they go on.
    pub(super) reads: u64,
    /// Blocks that were read whole, oldest first: those that are read once, and those that are read often.
    retired: [VecDeque<(u64, u64)>; 2],
    /// Memory of blocks that were read, for the next ones: given back to the system and taken anew,
    /// it would lie about in pieces.
    pub(super) spare: Vec<Vec<u8>>,
}

impl State {
    /// The next turn for a group.
    fn turn(&mut self, group: u64) -> u64 {
        let count = if group == NOW { &mut self.before } else { &mut self.behind };
        *count += 1;
        *count + if group == NOW { 0 } else { BEHIND }
    }

    /// Announces a stretch in pieces of at most `most` bytes. What of it was announced already keeps
    /// its turn, and is read again if it is for another group.
    pub(super) fn announce(&mut self, file: &Arc<dyn Fetch>, id: u64, need: &Need, most: u64) {
        // It is fetched anew.
        let stays = |start: u64, end: u64| need.range.end <= start || end <= need.range.start;
        self.failed.retain(|(of, start), failure| *of != id || stays(*start, failure.end));
        let mut start = match need.group {
            NOW => need.range.start,
            _ => self.lengthen_last(id, need, most),
        };
        while start < need.range.end {
            if let Some(end) = self.announce_again(file, id, start, need) {
                start = end;
                continue;
            }
            let next = self.next(id, start).unwrap_or(u64::MAX);
            let range = start..need.range.end.min(start + most).min(next);
            start = range.end;
            let (file, again) = (Arc::downgrade(file), VecDeque::new());
            let (reading, group) = (need.reading, need.group);
            let turn = self.turn(group);
            self.wait(turn, Announced { file, id, range, reading, group, again });
        }
    }

    /// Neighbours are one request, up to its length. Where what is left begins.
    fn lengthen_last(&mut self, id: u64, need: &Need, most: u64) -> u64 {
        let start = need.range.start;
        let Some(mut last) = self.waiting.last_entry() else { return start };
        let last = last.get_mut();
        let fits = last.id == id
            && last.range.end == start
            && last.reading == need.reading
            && last.again.is_empty();
        if fits {
            last.range.end = start.max(need.range.end.min(last.range.start + most));
            last.group = need.group;
        }
        if fits { last.range.end } else { start }
    }

    /// Where what is known already ends, if it holds `start`.
    fn announce_again(
        &mut self,
        file: &Arc<dyn Fetch>,
        id: u64,
        start: u64,
        need: &Need,
    ) -> Option<u64> {
        let waiting = self.turn_of(id, start);
        let known = match waiting {
            Some(turn) => self.waiting.get(&turn)?,
            None => &self.block(id, start)?.of,
        };
        let (range, group) = (known.range.clone(), known.group);
        let is_whole = need.range.start <= range.start && range.end <= need.range.end;
        if is_whole && group != need.group {
            let (turn, file) = (self.turn(need.group), Arc::downgrade(file));
            match waiting {
                // What waits for its turn has one now, and another when it was to come.
                Some(later) if need.group == NOW => {
                    let mut waiting = self.take(later)?;
                    let for_later = std::mem::replace(&mut waiting.file, file);
                    waiting.again.push_front((later, for_later));
                    self.wait(turn, waiting);
                }
                Some(turn_of_waiting) => {
                    let waiting = self.waiting.get_mut(&turn_of_waiting)?;
                    waiting.again.push_back((turn, file));
                    waiting.group = need.group;
                }
                None => self.block_mut(id, start)?.announce_again((turn, file), need.group),
            }
        }
        Some(range.end)
    }

    fn wait(&mut self, turn: u64, announced: Announced) {
        self.turns.insert((announced.id, announced.range.start), turn);
        self.waiting.insert(turn, announced);
    }

    pub(super) fn take(&mut self, turn: u64) -> Option<Announced> {
        let announced = self.waiting.remove(&turn)?;
        self.turns.remove(&(announced.id, announced.range.start));
        Some(announced)
    }

    /// The turn of the stretch of a file that is not begun and holds a byte.
    pub(super) fn turn_of(&self, id: u64, at: u64) -> Option<u64> {
        let (_, turn) = self.turns.range((id, 0)..=(id, at)).next_back()?;
        self.waiting.get(turn).filter(|waiting| waiting.range.contains(&at)).map(|_| *turn)
    }

    /// The nearest place behind `offset` from which on something of a file was announced.
    pub(super) fn next(&self, id: u64, offset: u64) -> Option<u64> {
        let behind = (id, offset.saturating_add(1))..=(id, u64::MAX);
        let begun = self.blocks.range(behind.clone()).next().map(|((_, start), _)| *start);
        let waiting = self.turns.range(behind).next().map(|((_, start), _)| *start);
        begun.into_iter().chain(waiting).min()
    }

    /// The block of a file that holds a byte.
    pub(super) fn block(&self, id: u64, at: u64) -> Option<&Block> {
        let (_, block) = self.blocks.range((id, 0)..=(id, at)).next_back()?;
        (at < block.of.range.end).then_some(block)
    }

    fn block_mut(&mut self, id: u64, at: u64) -> Option<&mut Block> {
        let (_, block) = self.blocks.range_mut((id, 0)..=(id, at)).next_back()?;
        (at < block.of.range.end).then_some(block)
    }

    /// Bytes that are held, and those that will be for what is read from all over and was announced
    /// before a turn of a group; nothing if all that is older was read.
    pub(super) fn held_by_older(&self, group: u64, turn: u64) -> Option<u64> {
        let waiting = self.waiting.range(..turn).map(|(_, one)| one);
        let waiting = waiting.filter(|one| one.reading == Reading::Scattered && one.group < group);
        let to_come: u64 = waiting.map(Announced::len).sum();
        let is_older =
            |block: &Block| block.turn < turn && block.of.group < group && !block.is_retired;
        (to_come > 0 || self.blocks.values().any(is_older)).then_some(self.held + to_come)
    }

    /// Notes that some bytes of a block were read. When all were, it makes room, or waits to be read
    /// again; of blocks that were read, about `most` bytes stay for a while.
    pub(super) fn was_read(&mut self, id: u64, range: Range<u64>, most: u64) {
        self.reads += 1;
        let Some(block) = self.block_mut(id, range.start) else { return };
        if !block.was_read(range) {
            return;
        }
        let start = block.of.range.start;
        if let Some((turn, file)) = block.of.again.front()
            && (turn.saturating_sub(block.turn) <= STAY || block.of.reading != Reading::Once)
        {
            let (turn, file) = (*turn, file.clone());
            block.of.again.pop_front();
            block.begin_again(turn, file);
            return;
        }
        let queue = match block.of.reading {
            Reading::Once if block.of.again.is_empty() => 0,
            Reading::Often => 1,
            _ => return self.drop_block(id, start),
        };
        block.is_retired = true;
        self.retired[queue].push_back((id, start));
        self.drop_retired(queue, most);
    }

    fn drop_retired(&mut self, queue: usize, most: u64) {
        let len = |state: &Self, (id, start): &(u64, u64)| {
            state.block(*id, *start).map_or(0, |block| block.of.len())
        };
        let mut all: u64 = self.retired[queue].iter().map(|one| len(self, one)).sum();
        while all > most
            && let Some((id, start)) = self.retired[queue].pop_front()
        {
            all -= len(self, &(id, start));
            self.drop_block(id, start);
        }
    }

    /// Drops what was passed over long ago, seen from a turn: it is not read any more.
    pub(super) fn drop_passed(&mut self, turn: u64) {
        let group = self.waiting.get(&turn).map_or(0, |waiting| waiting.group);
        let is_passed = |block: &Block| match block.of.reading {
            _ if block.of.group == NOW || !block.is_left_alone() => false,
            Reading::Once => block.turn + APART < turn,
            Reading::Often => block.of.group < group,
            Reading::Scattered => false,
        };
        self.drop_where(is_passed);
    }

    /// Gives up what others have announced before.
    pub(super) fn drop_older(&mut self, group: u64, turn: u64) {
        let waiting = self.waiting.range(..turn).filter(|(_, one)| one.group < group);
        let waiting: Vec<u64> = waiting.map(|(turn, _)| *turn).collect();
        waiting.into_iter().for_each(|turn| drop(self.take(turn)));
        self.drop_where(|block| block.is_here() && block.turn < turn && block.of.group < group);
    }

    fn drop_where(&mut self, is_gone: impl Fn(&Block) -> bool) {
        let gone = self.blocks.values().filter(|block| is_gone(block));
        let gone: Vec<_> = gone.map(|block| (block.of.id, block.of.range.start)).collect();
        gone.into_iter().for_each(|(id, start)| self.drop_block(id, start));
    }

    /// Drops a block that could not be fetched. Who reads it hears why; if the work was stopped, another
    /// may fetch it.
    pub(super) fn fail_block(&mut self, id: u64, start: u64, why: io::Error) {
        let own = why.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        let is_stopped = own.is_some_and(|own| own.kind() == ErrorKind::Cancelled);
        let end = self.blocks.get(&(id, start)).map(|block| block.of.range.end);
        self.drop_block(id, start);
        if let Some(end) = end.filter(|_| !is_stopped && self.turn_of(id, start).is_none()) {
            self.failed.insert((id, start), Failure { end, when: Instant::now(), why });
        }
    }

    /// Why a byte could not be fetched just now. It may be fetched again after that.
    pub(super) fn take_failure(&mut self, id: u64, at: u64) -> Option<io::Error> {
        let (key, failure) = self.failed.range((id, 0)..=(id, at)).next_back()?;
        let (key, is_here) = (*key, at < failure.end);
        let failure = if is_here { self.failed.remove(&key) } else { None }?;
        (failure.when.elapsed() < PATIENCE).then_some(failure.why)
    }

    /// Whether some of a range could not be fetched.
    pub(super) fn has_failed(&self, id: u64, range: &Range<u64>) -> bool {
        let before = self.failed.range((id, 0)..(id, range.end)).next_back();
        before.is_some_and(|(_, failure)| range.start < failure.end)
    }

    /// Drops a block; what is to be read once more waits for its turn.
    pub(super) fn drop_block(&mut self, id: u64, start: u64) {
        let Some(Block { mut of, bytes, .. }) = self.blocks.remove(&(id, start)) else { return };
        self.held -= of.len().min(self.held);
        self.spare.extend(bytes.and_then(Arc::into_inner));
        self.retired.iter_mut().for_each(|queue| queue.retain(|one| *one != (id, start)));
        if let Some((turn, file)) = of.again.pop_front() {
            of.file = file;
            self.wait(turn, of);
        }
    }

    /// When nothing more will come, nothing is kept for it.
    pub(super) fn tidy(&mut self) {
        if self.waiting.is_empty() {
            self.spare.clear();
            if self.blocks.values().all(|block| block.is_retired) {
                self.drop_where(|_| true);
                self.spare.clear();
            }
        }
    }

    /// Forgets a file that is not read any more.
    pub(super) fn forget(&mut self, id: u64) {
        let all = (id, 0)..=(id, u64::MAX);
        let turns: Vec<u64> = self.turns.range(all.clone()).map(|(_, turn)| *turn).collect();
        turns.into_iter().for_each(|turn| drop(self.take(turn)));
        let starts: Vec<_> = self.blocks.range(all).map(|(at, _)| *at).collect();
        let blocks = starts.iter().filter_map(|at| self.blocks.remove(at));
        let freed: u64 = blocks.map(|block| block.of.len()).sum();
        self.held -= freed.min(self.held);
        self.failed.retain(|(of, _), _| *of != id);
        self.retired.iter_mut().for_each(|queue| queue.retain(|one| one.0 != id));
    }

    /// Memory for a block that begins.
    pub(super) fn begin(&mut self, turn: u64, announced: Announced) -> Vec<u8> {
        self.held += announced.len();
        self.under_way += 1;
        let (id, start) = (announced.id, announced.range.start);
        self.blocks.insert((id, start), Block::new(announced, turn));
        self.spare.pop().unwrap_or_default()
    }
}
