//! The threads on which requests are made. The rest of the library is synchronous: it waits for them.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::cancel;
use crate::error::Error;

/// How often who waits looks whether the work was cancelled.
const GLANCE: Duration = Duration::from_millis(50);

/// The runtime, and the process it was made in: a child that was forked has none of its threads.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// Waits for something to be done on the runtime's threads. Not to be called on one of them.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let (runtime, mut work) = (runtime()?, pin!(work));
    if cancel::watched().is_none() {
        return Ok(runtime.block_on(work));
    }
    while !cancel::is_cancelled() {
        let waited = runtime.block_on(async { tokio::time::timeout(GLANCE, work.as_mut()).await });
        if let Ok(done) = waited {
            return Ok(done);
        }
    }
    Err(io::Error::other(Error::cancelled("the work is not complete")))
}

/// Waits for a change of something locked, as long as `is_waiting`; not when the work is cancelled.
pub(crate) fn wait_while<'a, T>(
    changed: &Condvar,
    mut held: MutexGuard<'a, T>,
    is_waiting: impl Fn(&T) -> bool,
) -> MutexGuard<'a, T> {
    while is_waiting(&held) && !cancel::is_cancelled() {
        let waited = changed.wait_timeout(held, GLANCE);
        held = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    held
}

/// The runtime of this process; made when it is needed first.
pub(crate) fn runtime() -> io::Result<Arc<Runtime>> {
    let mut held = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, runtime)) = held.as_ref().filter(|(of, _)| *of == process) {
        return Ok(runtime.clone());
    }
    let made = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("weighbridge-remote")
        .enable_all()
        .build()?;
    let made = Arc::new(made);
    // What a parent process has left cannot be ended here: its threads are not there.
    if let Some((_, old)) = held.replace((process, made.clone())) {
        std::mem::forget(old);
    }
    Ok(made)
}
