//! Threads inside the library while the interpreter exits.
//!
//! A daemon thread that asks for the interpreter lock after the interpreter is gone is ended by
//! CPython there and then, through the frames of this library, which crashes the process. So the
//! interpreter's exit waits: work is cancelled, and threads go back to Python first. Work that cannot
//! be cancelled in time never goes back: its thread sleeps until the process ends.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// How long the exit waits for work to end, and then for threads that are on their way back.
const PATIENCE: Duration = Duration::from_secs(5);
const MORE_PATIENCE: Duration = Duration::from_secs(2);

static STATE: Mutex<State> =
    Mutex::new(State { phase: Phase::Running, inside: 0, attaching: 0, process: 0 });
static CHANGED: Condvar = Condvar::new();

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The exit, in this thread, waits for the others.
    Exiting(ThreadId),
    /// It waits no longer.
    Gone,
}

struct State {
    phase: Phase,
    /// Threads that have released the interpreter lock and have not taken it back.
    inside: u32,
    /// Threads, of those and of workers, that wait for the lock or hold it to call Python.
    attaching: u32,
    /// A forked child has none of its parent's threads.
    process: u32,
}

fn state() -> MutexGuard<'static, State> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if state.process != process {
        *state = State { inside: 0, attaching: 0, process, ..*state };
    }
    state
}

/// Whether the interpreter exits, so that work should end.
pub(crate) fn is_exiting() -> bool {
    state().phase != Phase::Running
}

/// Runs a job without the interpreter lock, and takes the lock back if there still is an interpreter.
pub(crate) fn detached<T: Send>(py: Python<'_>, job: impl FnOnce() -> T + Send) -> PyResult<T> {
    enter()?;
    let done = py.detach(|| {
        // Leaves, too, if the job panics.
        let _leaving = Leaving;
        job()
    });
    let mut state = state();
    state.inside = state.inside.saturating_sub(1);
    state.attaching = state.attaching.saturating_sub(1);
    CHANGED.notify_all();
    Ok(done)
}

fn enter() -> PyResult<()> {
    let mut state = state();
    let is_allowed = match state.phase {
        Phase::Running => true,
        // Other exit handlers may still save something.
        Phase::Exiting(thread) => thread == thread::current().id(),
        Phase::Gone => false,
    };
    if !is_allowed {
        return Err(PyRuntimeError::new_err("the interpreter is exiting"));
    }
    state.inside += 1;
    Ok(())
}

/// The way back to Python. Without an interpreter, the thread stays here.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut state = state();
        if state.phase == Phase::Gone {
            drop(state);
            loop {
                thread::park();
            }
        }
        state.attaching += 1;
    }
}

/// Calls Python from a thread that has released the lock; `None` if the interpreter is gone.
pub(crate) fn attached<T>(job: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    {
        let mut state = state();
        if state.phase == Phase::Gone {
            return None;
        }
        state.attaching += 1;
    }
    let _attached = Attached;
    Some(Python::attach(job))
}

struct Attached;

impl Drop for Attached {
    fn drop(&mut self) {
        let mut state = state();
        state.attaching = state.attaching.saturating_sub(1);
        CHANGED.notify_all();
    }
}

/// Has the interpreter call [`wait`] when it exits.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let wait = |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| wait(args.py());
    let wait = PyCFunction::new_closure(py, None, None, wait)?;
    py.import("atexit")?.call_method1("register", (wait,)).map(drop)
}

/// Waits until no thread is inside.
fn wait(py: Python<'_>) {
    state().phase = Phase::Exiting(thread::current().id());
    py.detach(|| {
        if !wait_until(PATIENCE, |state| state.inside == 0) {
            state().phase = Phase::Gone;
            wait_until(MORE_PATIENCE, |state| state.attaching == 0);
        }
    });
}

fn wait_until(patience: Duration, is_so: impl Fn(&State) -> bool) -> bool {
    let end = Instant::now() + patience;
    let mut held = state();
    while !is_so(&held) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        held = CHANGED.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    true
}
