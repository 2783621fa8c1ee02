//! Stopping by Ctrl-C, or because the process is told to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use weighbridge::Error;

use super::Outcome;
use crate::{sys, terminal};

/// The exit code of what Ctrl-C has stopped.
const BY_CTRL_C: u8 = 130;

/// What Ctrl-C does: while the model is being opened it ends the process; after that it asks the
/// work to stop and clean up. A second one ends the process at once.
pub(super) struct Stop {
    begun: Arc<AtomicBool>,
    pub(super) asked: Arc<AtomicBool>,
    /// The exit code that says what asked.
    code: Arc<AtomicU8>,
}

impl Stop {
    pub(super) fn on_interrupt() -> Self {
        let [begun, asked] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let code = Arc::new(AtomicU8::new(0));
        let stop = Self { begun: begun.clone(), asked: asked.clone(), code: code.clone() };
        // Without a handler Ctrl-C ends the process at once, which is no worse than before.
        let _ = sys::on_request_to_end(move |by| {
            code.store(by, Ordering::Relaxed);
            if asked.swap(true, Ordering::Release) || !begun.load(Ordering::Relaxed) {
                weighbridge::internals::output::discard_unfinished();
                std::process::exit(by.into());
            }
            // Whoever sends one of the others presses no key.
            terminal::note(match by {
                BY_CTRL_C => "stopping; press Ctrl-C again to end at once",
                _ => "stopping; a second signal ends it at once",
            });
        });
        stop
    }

    /// The model is open: from now on Ctrl-C lets the work clean up.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Reports an error, which may be that the work was stopped.
    pub(super) fn failed(&self, error: &Error) -> Outcome {
        terminal::report(error);
        match self.asked.load(Ordering::Acquire) {
            true => Outcome::Interrupted(self.code.load(Ordering::Relaxed)),
            false => Outcome::Failed,
        }
    }
}
