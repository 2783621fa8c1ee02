//! The threads on which requests are made. The rest of the library is synchronous: it waits for them.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Runtime};

use super::process::PerProcess;
use crate::stop;

/// How often a thread that waits looks whether it shall go on.
const LOOK: Duration = Duration::from_millis(50);

/// The runtime of each process: a child that was forked has none of its parent's threads.
static RUNTIME: PerProcess<Result<Runtime, (io::ErrorKind, String)>> = PerProcess::new();

/// Waits for something to be done on the runtime's threads; an error if whoever started the work
/// wants it to end. Not to be called on one of them.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = runtime()?;
    let Some(flag) = stop::flag() else { return Ok(runtime.block_on(work)) };
    let done = runtime.block_on(unless(work, || stop::is_set(&flag)));
    done.ok_or_else(|| io::Error::other(stop::stopped()))
}

/// Waits for a change of something locked, as long as `is_waiting`; not when the work was stopped.
pub(crate) fn wait_while<'a, T>(
    changed: &Condvar,
    mut held: MutexGuard<'a, T>,
    is_waiting: impl Fn(&T) -> bool,
) -> MutexGuard<'a, T> {
    while is_waiting(&held) && !stop::is_stopped() {
        let waited = changed.wait_timeout(held, LOOK);
        held = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    held
}

/// The result of some work, unless it shall end before: it is dropped then.
pub(super) async fn unless<T>(
    work: impl Future<Output = T>,
    shall_end: impl Fn() -> bool,
) -> Option<T> {
    let end = async {
        while !shall_end() {
            tokio::time::sleep(LOOK).await;
        }
    };
    match select(pin!(work), pin!(end)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}

/// The runtime of this process; made when it is needed first.
pub(crate) fn runtime() -> io::Result<&'static Runtime> {
    let made = RUNTIME.get(|| {
        let made = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("weighbridge-remote")
            .enable_all()
            .build();
        made.map_err(|error| (error.kind(), error.to_string()))
    });
    made.as_ref().map_err(|(kind, said)| io::Error::new(*kind, said.clone()))
}
