//! The threads on which requests are made. The rest of the library is synchronous: it waits for them.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};

/// The runtime, and the process it was made in: a child that was forked has none of its threads.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

/// Waits for something to be done on the runtime's threads. Not to be called on one of them.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    Ok(runtime()?.block_on(work))
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
