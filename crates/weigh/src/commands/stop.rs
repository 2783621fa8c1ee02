//! Stopping by Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge::Error;

use super::{INTERRUPTED, Outcome};
use crate::terminal;

/// What Ctrl-C does: while the model is being opened it ends the process; after that it asks the
/// work to stop and clean up. A second one ends the process at once.
pub(super) struct Stop {
    begun: Arc<AtomicBool>,
    pub(super) asked: Arc<AtomicBool>,
}

impl Stop {
    pub(super) fn on_interrupt() -> Self {
        let [begun, asked] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let stop = Self { begun: begun.clone(), asked: asked.clone() };
        // Without a handler Ctrl-C ends the process at once, which is no worse than before.
        let _ = ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) || !begun.load(Ordering::Relaxed) {
                weighbridge::internals::output::discard_unfinished();
                std::process::exit(INTERRUPTED.into());
            }
            terminal::note("stopping; press Ctrl-C again to end at once");
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
        match self.asked.load(Ordering::Relaxed) {
            true => Outcome::Interrupted,
            false => Outcome::Failed,
        }
    }
}
