//! The flag that cancels what this thread does: whatever waits for a network looks at it, since no
//! tile ends meanwhile.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

thread_local! {
    static WATCHED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// While it lives, its thread watches a flag; afterwards the one it watched before.
pub(crate) struct Watching(Option<Arc<AtomicBool>>);

/// Lets this thread watch a flag, or none: what ends the work must not be cancelled itself.
#[must_use]
pub(crate) fn watch(flag: Option<&Arc<AtomicBool>>) -> Watching {
    Watching(WATCHED.replace(flag.cloned()))
}

impl Drop for Watching {
    fn drop(&mut self) {
        WATCHED.set(self.0.take());
    }
}

/// The flag that this thread watches.
pub(crate) fn watched() -> Option<Arc<AtomicBool>> {
    WATCHED.with_borrow(Clone::clone)
}

/// Whether the work of this thread is cancelled.
#[cfg(feature = "remote")]
pub(crate) fn is_cancelled() -> bool {
    watched().is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_watched_by_its_thread_until_the_watch_ends() {
        let flag = Arc::new(AtomicBool::new(true));
        let is_set =
            || watched().is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed));
        let watching = watch(Some(&flag));
        assert!(is_set() && !std::thread::spawn(move || watched().is_some()).join().unwrap());
        {
            let _none = watch(None);
            assert!(!is_set());
        }
        assert!(is_set());
        drop(watching);
        assert!(!is_set());
    }
}
