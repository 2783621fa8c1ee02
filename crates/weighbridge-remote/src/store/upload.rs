//! One object that is sent in parts, which are filled out of order by several threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::{Error, Result, stop};
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{PutPayload, PutResult};

use crate::runtime::{runtime, wait_while};
use crate::stop::lock;
use crate::store::bucket::Bucket;
use crate::store::part::{Pieces, sum};

const MIN_PART: u64 = 16 << 20;
/// Stores take 10,000 parts; some are left for safety.
const MAX_PARTS: u64 = 9000;
const MIB: u64 = 1 << 20;

/// How many bytes a part has.
pub(crate) fn part_bytes(len: u64) -> u64 {
    MIN_PART.max(len.div_ceil(MAX_PARTS).div_ceil(MIB) * MIB)
}

/// Bytes of all files that wait to be sent or are under way. At most `max` of them: who would add
/// more waits until some have arrived. Only if nothing is under way, so that waiting could not end,
/// more are taken.
pub(crate) struct Room {
    max: u64,
    held: Mutex<Held>,
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    bytes: u64,
    sending: usize,
}

impl Room {
    pub(crate) fn new(max: u64) -> Arc<Self> {
        Arc::new(Self { max, held: Mutex::default(), changed: Condvar::new() })
    }

    /// Waits until there is room for so many bytes, and takes it.
    pub(crate) fn take(&self, bytes: u64) {
        let full = |held: &Held| held.sending > 0 && held.bytes.saturating_add(bytes) > self.max;
        let mut held = wait_while(&self.changed, lock(&self.held), full);
        held.bytes += bytes;
    }

    pub(crate) fn give(&self, bytes: u64) {
        let mut held = lock(&self.held);
        held.bytes = held.bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Notes that a part is under way; waits while too many are.
    fn begin_send(&self, parallel: usize) {
        let busy = |held: &Held| held.sending >= parallel.max(1);
        let mut held = wait_while(&self.changed, lock(&self.held), busy);
        held.sending += 1;
    }

    fn end_send(&self, bytes: u64) {
        let mut held = lock(&self.held);
        held.sending = held.sending.saturating_sub(1);
        held.bytes = held.bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }
}

/// Gives the room of a part back however its sending ends, even if it is cancelled.
struct Sending(Arc<Room>, u64);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.end_send(self.1);
    }
}

/// An object that is being sent.
pub(crate) struct Upload {
    bucket: Arc<Bucket>,
    key: Path,
    pub(crate) id: String,
    len: u64,
    pub(crate) part_bytes: u64,
    room: Arc<Room>,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    open: BTreeMap<u64, Pieces>,
    sums: BTreeMap<u64, String>,
    sent: BTreeMap<u64, PartId>,
    under_way: BTreeMap<u64, tokio::task::AbortHandle>,
    failed: Option<object_store::Error>,
    ended: bool,
}

impl State {
    /// What a part has, unless it was closed before. From now on its bytes are bytes that come twice.
    fn close(&mut self, part: u64) -> Option<Pieces> {
        if self.sums.contains_key(&part) {
            return None;
        }
        self.sums.insert(part, String::new());
        Some(self.open.remove(&part).unwrap_or_default())
    }
}

impl Upload {
    pub(crate) fn start(
        bucket: &Arc<Bucket>,
        key: &Path,
        len: u64,
        room: &Arc<Room>,
    ) -> Result<Self> {
        let id = bucket.ask(key, "cannot start the upload", bucket.store.create_multipart(key))?;
        let (bucket, key, room) = (bucket.clone(), key.clone(), room.clone());
        Ok(Self { bucket, key, id, len, part_bytes: part_bytes(len), room, state: Arc::default() })
    }

    fn len_of(&self, part: u64) -> u64 {
        self.part_bytes.min(self.len - part * self.part_bytes)
    }

    pub(crate) fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (part, inside) = (offset / self.part_bytes, offset % self.part_bytes);
            let some =
                usize::try_from(self.part_bytes - inside).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(some);
            self.add(part, inside, now)?;
            offset += some as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Adds bytes to one part, and sends it if that completes it.
    fn add(&self, part: u64, inside: u64, bytes: &[u8]) -> Result<()> {
        self.room.take(bytes.len() as u64);
        let complete = {
            let mut state = lock(&self.state.0);
            let failed = state.failed.as_ref();
            let failed = failed.map(|error| self.bucket.fault(&self.key, "cannot write", error));
            let refused = match failed {
                None if state.sums.contains_key(&part) => Some(self.twice(part, inside)),
                None if !state.open.entry(part).or_default().add(inside, bytes) => {
                    Some(self.twice(part, inside))
                }
                other => other,
            };
            if let Some(error) = refused {
                self.room.give(bytes.len() as u64);
                return Err(error);
            }
            let full = state.open.get(&part).is_some_and(|pieces| pieces.held == self.len_of(part));
            if full { state.close(part) } else { None }
        };
        match complete {
            Some(pieces) => self.send(part, pieces),
            None => Ok(()),
        }
    }

    fn send(&self, part: u64, pieces: Pieces) -> Result<()> {
        let held = pieces.held;
        let bytes = pieces.filled(self.len_of(part));
        let sum = sum(&bytes);
        let runtime = runtime().map_err(|e| Error::io(e, "cannot start threads for requests"))?;
        self.room.begin_send(self.bucket.settings.parallel);
        let sending = Sending(self.room.clone(), held);
        let (bucket, key, id) = (self.bucket.clone(), self.key.clone(), self.id.clone());
        let shared = self.state.clone();
        let mut state = lock(&self.state.0);
        state.sums.insert(part, sum);
        if state.ended {
            return Ok(());
        }
        let index = usize::try_from(part).unwrap_or(usize::MAX);
        let task = runtime.spawn(async move {
            let done = bucket.store.put_part(&key, &id, index, PutPayload::from_iter(bytes)).await;
            let mut state = lock(&shared.0);
            state.under_way.remove(&part);
            match done {
                Ok(id) => drop(state.sent.insert(part, id)),
                Err(error) => drop(state.failed.get_or_insert(error)),
            }
            shared.1.notify_all();
            drop(state);
            drop(sending);
        });
        state.under_way.insert(part, task.abort_handle());
        Ok(())
    }

    /// Sends what is still open, with zeros where nothing was written, and waits for all parts. The
    /// hash of each is the answer; the object is not there yet.
    pub(crate) fn sent(&self) -> Result<Vec<String>> {
        for part in 0..self.len.div_ceil(self.part_bytes) {
            let open = lock(&self.state.0).close(part);
            if let Some(pieces) = open {
                self.send(part, pieces)?;
            }
        }
        let waiting = |state: &State| !state.under_way.is_empty() && state.failed.is_none();
        let state = wait_while(&self.state.1, lock(&self.state.0), waiting);
        if stop::is_stopped() {
            return Err(Error::cancelled("the upload is not complete"));
        }
        match &state.failed {
            Some(error) => Err(self.bucket.fault(&self.key, "cannot write", error)),
            None => Ok(state.sums.values().cloned().collect()),
        }
    }

    /// Makes the object of its parts.
    pub(crate) fn complete(&self) -> Result<PutResult> {
        let parts: Vec<PartId> = lock(&self.state.0).sent.values().cloned().collect();
        if parts.len() as u64 != self.len.div_ceil(self.part_bytes) {
            return Err(self.wrong("not all parts were sent", 0));
        }
        let completed = self.bucket.store.complete_multipart(&self.key, &self.id, parts);
        self.bucket.ask(&self.key, "cannot complete the upload", completed)
    }

    /// Ends it without an object. On Azure there is nothing to be ended: blocks that were never
    /// made into an object expire after a week.
    pub(crate) async fn abort(&self) -> object_store::Result<()> {
        let handles: Vec<_> = {
            let mut state = lock(&self.state.0);
            state.ended = true;
            let freed: u64 = state.open.values().map(|pieces| pieces.held).sum();
            state.open.clear();
            self.room.give(freed);
            // Whoever waits for the parts waits for nothing now.
            self.state.1.notify_all();
            std::mem::take(&mut state.under_way).into_values().collect()
        };
        handles.iter().for_each(tokio::task::AbortHandle::abort);
        // A part that arrives after its upload has ended would be kept, and cost money.
        while handles.iter().any(|handle| !handle.is_finished()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.bucket.store.abort_multipart(&self.key, &self.id).await
    }

    fn twice(&self, part: u64, inside: u64) -> Error {
        self.wrong("some bytes were written twice", part * self.part_bytes + inside)
    }

    fn wrong(&self, why: &str, offset: u64) -> Error {
        Error::usage(why).at(offset).in_file(&self.bucket.place(&self.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_large_as_stores_want_them() {
        assert_eq!(part_bytes(1), 16 << 20);
        assert_eq!(part_bytes(9000 * (16 << 20)), 16 << 20);
        assert_eq!(part_bytes(9000 * (16 << 20) + 1), 17 << 20);
        let huge = 5 << 40;
        assert!(huge / part_bytes(huge) < 9001 && part_bytes(huge).is_multiple_of(MIB));
    }
}
