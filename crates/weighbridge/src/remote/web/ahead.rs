//! Bytes that are fetched before they are asked for, because somebody said that they will be.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::remote::web::fetch::Fetcher;
use crate::remote::web::kept::Stretch;

/// What one request fetches, at most.
const PIECE: u64 = 8 << 20;

/// How often a reader that waits looks whether there still is something to wait for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The room for such bytes, which all files share.
#[derive(Debug)]
pub(crate) struct Room {
    left: AtomicU64,
}

impl Room {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { left: AtomicU64::new(bytes) }
    }

    fn take(self: &Arc<Self>, bytes: u64) -> Option<Taken> {
        let less = |left: u64| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.ok().map(|_| Taken { room: self.clone(), bytes })
    }
}

/// A part of the room; given back when it is dropped.
struct Taken {
    room: Arc<Room>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.room.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// The buffers of one file, fetched or under way.
#[derive(Default)]
pub(crate) struct Ahead {
    buffers: Mutex<Vec<Arc<Buffer>>>,
}

struct Buffer {
    range: Range<u64>,
    /// The process that fetches it.
    process: u32,
    state: Mutex<State>,
    arrived: Condvar,
}

struct State {
    bytes: Bytes,
    /// How many bytes were handed out.
    read: u64,
    task: Option<AbortHandle>,
    /// Given back when all was read: whoever still holds the buffer holds no bytes.
    room: Option<Taken>,
}

enum Bytes {
    UnderWay,
    Here(Stretch),
    /// Read, or not to be had.
    Gone,
}

impl Buffer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies from it once it is there; `None` if it could not be fetched. Says whether all of it
    /// was read now.
    fn copy(&self, offset: u64, out: &mut [u8]) -> (Option<usize>, bool) {
        let mut state = self.state();
        while matches!(state.bytes, Bytes::UnderWay) {
            // A forked process has none of the tasks of its parent.
            let is_lost = state.task.as_ref().is_some_and(AbortHandle::is_finished);
            if is_lost || self.process != std::process::id() {
                return (None, true);
            }
            let waited = self.arrived.wait_timeout(state, LOOK_AGAIN);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let Bytes::Here(stretch) = &state.bytes else { return (None, true) };
        let count = stretch.copy(offset, out);
        state.read += count as u64;
        let is_over = state.read >= self.range.end - self.range.start;
        if is_over {
            state.bytes = Bytes::Gone;
            state.room = None;
        }
        (Some(count).filter(|count| *count > 0), is_over)
    }

    /// A failure is not told: who reads asks again, and is told then.
    fn arrive(&self, fetched: Option<Stretch>) {
        let mut state = self.state();
        state.bytes = fetched.map_or(Bytes::Gone, Bytes::Here);
        if matches!(state.bytes, Bytes::Gone) {
            state.room = None;
        }
        drop(state);
        self.arrived.notify_all();
    }
}

impl Ahead {
    fn buffers(&self) -> MutexGuard<'_, Vec<Arc<Buffer>>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to fetch a range, as far as there is room for it.
    pub(crate) fn start(&self, range: Range<u64>, fetcher: &Arc<Fetcher>) {
        let Ok(runtime) = crate::remote::runtime::runtime() else { return };
        let mut start = range.start;
        while start < range.end {
            let end = self.free_until(start, range.end.min(start.saturating_add(PIECE)));
            if end == start {
                start = self.end_of(start);
                continue;
            }
            let Some(room) = fetcher.client.room_ahead().take(end - start) else { return };
            let buffer = Arc::new(Buffer {
                range: start..end,
                process: std::process::id(),
                state: Mutex::new(State {
                    bytes: Bytes::UnderWay,
                    read: 0,
                    task: None,
                    room: Some(room),
                }),
                arrived: Condvar::new(),
            });
            self.buffers().push(buffer.clone());
            let task = runtime.spawn(fetch(buffer.clone(), fetcher.clone()));
            buffer.state().task = Some(task.abort_handle());
            start = end;
        }
    }

    /// How far no buffer reaches, from `start` on.
    fn free_until(&self, start: u64, end: u64) -> u64 {
        let buffers = self.buffers();
        let behind = buffers.iter().filter(|buffer| buffer.range.end > start);
        behind.map(|buffer| buffer.range.start.max(start)).fold(end, u64::min)
    }

    fn end_of(&self, start: u64) -> u64 {
        let buffers = self.buffers();
        let here = buffers.iter().find(|buffer| buffer.range.contains(&start));
        here.map_or(start + 1, |buffer| buffer.range.end)
    }

    /// Copies what is here of the bytes from `offset` on, and waits for it if it is under way; how
    /// many those are.
    pub(crate) fn copy(&self, offset: u64, out: &mut [u8]) -> usize {
        let found = self.buffers().iter().find(|buffer| buffer.range.contains(&offset)).cloned();
        let Some(buffer) = found else { return 0 };
        let (count, is_over) = buffer.copy(offset, out);
        if is_over {
            self.buffers().retain(|other| !Arc::ptr_eq(other, &buffer));
        }
        count.unwrap_or(0)
    }

    /// The nearest place behind `offset` from which on something is here.
    pub(crate) fn next(&self, offset: u64) -> Option<u64> {
        let buffers = self.buffers();
        buffers.iter().map(|buffer| buffer.range.start).filter(|start| *start > offset).min()
    }

    /// Whether some of a range is here.
    pub(crate) fn touches(&self, range: &Range<u64>) -> bool {
        let meets = |b: &Arc<Buffer>| b.range.start < range.end && range.start < b.range.end;
        self.buffers().iter().any(meets)
    }

    /// Ends what is under way.
    pub(crate) fn stop(&self) {
        for buffer in std::mem::take(&mut *self.buffers()) {
            if let Some(task) = buffer.state().task.take() {
                task.abort();
            }
        }
    }
}

async fn fetch(buffer: Arc<Buffer>, fetcher: Arc<Fetcher>) {
    let len = usize::try_from(buffer.range.end - buffer.range.start).unwrap_or(0);
    let mut bytes = vec![0; len];
    let fetched = fetcher.fill(buffer.range.start, &mut bytes).await;
    buffer.arrive(fetched.ok().map(|()| Stretch { start: buffer.range.start, bytes }));
}
