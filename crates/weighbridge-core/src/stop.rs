//! Ending a wait: whoever started the work sets a flag, and a thread that waits for bytes from a
//! network looks at it.
//!
//! Between tiles the flag is looked at anyway; over a slow line one read may take minutes. Only
//! reading ends early: what tidies up after a stop must be waited for.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// What a mutex holds. A thread that panicked with it left it usable: all that is held so is whole
/// after every step.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a mutex held that nobody else has any more; see [`lock`].
pub fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread listens to. A thread hands it to those that it starts.
#[derive(Clone, Default)]
pub struct Listening {
    flag: Option<Arc<AtomicBool>>,
    is_reading: bool,
}

thread_local! {
    static HERE: RefCell<Listening> = RefCell::default();
}

/// What this thread listens to.
pub fn here() -> Listening {
    HERE.with_borrow(Clone::clone)
}

/// The flag that ends what this thread waits for, if it waits for something that it reads.
pub fn flag() -> Option<Arc<AtomicBool>> {
    HERE.with_borrow(|here| here.flag.clone().filter(|_| here.is_reading))
}

/// Does something that ends soon after the flag is set, wherever it waits for bytes.
pub fn with_flag<R>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    Listening { flag: Some(flag.clone()), ..here() }.during(work)
}

/// Does something that only reads.
pub fn while_reading<R>(work: impl FnOnce() -> R) -> R {
    let here = here();
    if here.flag.is_some() && !here.is_reading {
        Listening { is_reading: true, ..here }.during(work)
    } else {
        work()
    }
}

/// What a wait that was ended is.
pub fn stopped() -> Error {
    Error::cancelled("the work is not complete")
}

impl Listening {
    /// Does something on this thread that listens to the same.
    pub fn during<R>(self, work: impl FnOnce() -> R) -> R {
        /// Restores what was before, even if `work` panics.
        struct Restore(Listening);
        impl Drop for Restore {
            fn drop(&mut self) {
                HERE.set(std::mem::take(&mut self.0));
            }
        }
        let _restore = Restore(HERE.replace(self));
        work()
    }
}

/// Whether the work of this thread was stopped, whatever it does.
pub fn is_stopped() -> bool {
    HERE.with_borrow(|here| here.flag.as_ref().is_some_and(|flag| is_set(flag)))
}

/// Whether a flag is set.
pub fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_listen_to_what_they_are_told_and_only_while_they_read() {
        let asked = Arc::new(AtomicBool::new(false));
        assert!(flag().is_none() && while_reading(flag).is_none());
        with_flag(&asked, || {
            assert!(flag().is_none());
            while_reading(|| {
                let listening = here();
                let heard = std::thread::scope(|scope| {
                    let other =
                        scope.spawn(|| (flag().is_some(), listening.during(flag).is_some()));
                    other.join().unwrap()
                });
                assert_eq!(heard, (false, true));
                asked.store(true, Ordering::Release);
                assert!(flag().is_some_and(|flag| is_set(&flag)));
            });
            assert!(flag().is_none());
        });
        let _ = std::panic::catch_unwind(|| with_flag(&asked, || panic!("on purpose")));
        assert!(while_reading(flag).is_none());
    }
}
