//! Long work runs on its own threads, while the caller's thread handles Ctrl-C and the progress
//! callback. The only Python code on a worker is the `read` of a file object that a model was opened
//! from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use weighbridge::internals::stop;
use weighbridge::ops::Work;
use weighbridge::{Error, ErrorKind};

use crate::{errors, exit};

/// The interval for checking signals and calling back.
const SLICE: Duration = Duration::from_millis(50);

/// Bytes done, and bytes in total.
type Counted = Arc<(AtomicU64, AtomicU64)>;

/// Runs a short job in the caller's thread, without the interpreter lock.
pub(crate) fn briefly<T: Send>(
    py: Python<'_>,
    job: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let done = exit::detached(py, || catch_unwind(AssertUnwindSafe(job)))?;
    settle(py, done)
}

/// Runs a short job. If it waits for a network, Ctrl-C stops it.
pub(crate) fn briefly_if_near<T: Send>(
    py: Python<'_>,
    is_far: bool,
    job: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    if is_far { patiently(py, None, |_| job()) } else { briefly(py, job) }
}

/// Runs a long job. The callback gets the bytes done and in total. An exception in it, or Ctrl-C,
/// stops the job and is raised once the job has ended.
pub(crate) fn patiently<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    job: impl FnOnce(&Work) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (cancel, counted) = (Arc::new(AtomicBool::new(false)), Counted::default());
    let work = Work::new().cancel(cancel.clone()).progress(counting(&counted));
    let mut watch = Watch { progress, counted, shown: None, raised: None };
    let done = exit::detached(py, || {
        thread::scope(|scope| {
            let (ended, has_ended) = channel();
            let (work, cancel) = (&work, &cancel);
            let worker = scope.spawn(move || {
                let job = || stop::with_flag(cancel, || job(work));
                let done = catch_unwind(AssertUnwindSafe(job));
                // Fails only if the caller's thread has died.
                let _ = ended.send(());
                done
            });
            while let Err(RecvTimeoutError::Timeout) = has_ended.recv_timeout(SLICE) {
                if !watch.look() {
                    cancel.store(true, Ordering::Release);
                }
            }
            worker.join().unwrap_or_else(Err)
        })
    })?;
    watch.finish(py, settle_cancelled(py, done))
}

/// Turns a result, an error or a panic into a Python result.
fn settle<T>(py: Python<'_>, done: thread::Result<Result<T, Error>>) -> PyResult<T> {
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(errors::exception(py, &error)),
        Err(panic) => Err(errors::panicked(py, &*panic)),
    }
}

/// Like `settle`, but cancellation is `None` and not an error.
fn settle_cancelled<T>(
    py: Python<'_>,
    done: thread::Result<Result<T, Error>>,
) -> PyResult<Option<T>> {
    match done {
        Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => Ok(None),
        done => settle(py, done).map(Some),
    }
}

fn counting(counted: &Counted) -> weighbridge::ops::OnProgress {
    let counted = counted.clone();
    Arc::new(move |progress| {
        counted.0.fetch_max(progress.done, Ordering::Relaxed);
        counted.1.store(progress.total, Ordering::Relaxed);
    })
}

/// The state of the caller's thread while a job runs.
struct Watch {
    progress: Option<Py<PyAny>>,
    counted: Counted,
    shown: Option<(u64, u64)>,
    raised: Option<PyErr>,
}

impl Watch {
    /// Checks signals and calls back; `false` if the job must stop.
    fn look(&mut self) -> bool {
        if self.raised.is_none() && !exit::is_exiting() {
            let looked = exit::attached(|py| {
                py.check_signals()?;
                self.show(py)
            });
            self.raised = looked.and_then(Result::err);
        }
        self.raised.is_none() && !exit::is_exiting()
    }

    /// Calls back if the numbers have changed.
    fn show(&mut self, py: Python<'_>) -> PyResult<()> {
        let now = (self.counted.0.load(Ordering::Relaxed), self.counted.1.load(Ordering::Relaxed));
        match &self.progress {
            Some(progress) if self.shown != Some(now) && now.1 > 0 => {
                self.shown = Some(now);
                progress.call1(py, now).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The result. An exception of the callback wins, even if the job has finished.
    fn finish<T>(mut self, py: Python<'_>, done: PyResult<Option<T>>) -> PyResult<T> {
        if let Some(raised) = self.raised.take() {
            return Err(raised);
        }
        let value = done?;
        self.show(py)?;
        value.ok_or_else(|| errors::usage(py, "the work was stopped", None))
    }
}
