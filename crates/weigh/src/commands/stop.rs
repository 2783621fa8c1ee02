//! Stopping on Ctrl-C and other signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::Outcome;
use crate::{sys, terminal};

/// The exit code after Ctrl-C.
const BY_CTRL_C: u8 = 130;

/// The handler of Ctrl-C. While the model is being opened, Ctrl-C ends the process. After that, it
/// asks the work to stop and clean up. A second Ctrl-C ends the process at once.
pub(super) struct Stop {
    begun: Arc<AtomicBool>,
    pub(super) asked: Arc<AtomicBool>,
    /// The exit code for the signal.
    code: Arc<AtomicU8>,
}

impl Stop {
    pub(super) fn on_interrupt() -> Self {
        let [begun, asked] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let code = Arc::new(AtomicU8::new(0));
        let stop = Self { begun: begun.clone(), asked: asked.clone(), code: code.clone() };
        // Without a handler, Ctrl-C ends the process at once.
        let _ = sys::on_request_to_end(move |by| {
            code.store(by, Ordering::Relaxed);
            if asked.swap(true, Ordering::Release) || !begun.load(Ordering::Relaxed) {
                weighbridge::internals::output::discard_unfinished();
                std::process::exit(by.into());
            }
            // Other signals do not come from the keyboard.
            terminal::note(match by {
                BY_CTRL_C => "stopping; press Ctrl-C again to quit immediately",
                _ => "stopping; send the signal again to quit immediately",
            });
        });
        stop
    }

    /// Marks the model as open: from here on, Ctrl-C lets the work clean up.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// The outcome of an error, which may be an interruption.
    pub(super) fn outcome(&self) -> Outcome {
        if self.asked.load(Ordering::Acquire) {
            Outcome::Interrupted(self.code.load(Ordering::Relaxed))
        } else {
            Outcome::Failed
        }
    }
}
