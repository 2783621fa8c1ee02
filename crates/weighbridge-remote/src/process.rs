//! What each process makes for itself.
//!
//! A process that was forked has the memory of its parent and none of its threads: connections that a
//! runtime drives stay silent there, and a lock that somebody held at that moment stays locked. What
//! is kept here is made anew in the child, and what the parent made is neither used nor ended there.

use std::sync::{Arc, OnceLock};

/// A value of each process that asks for one. Finding it takes no lock that could be held by nobody.
pub(crate) struct PerProcess<T>(OnceLock<Box<Made<T>>>);

struct Made<T> {
    process: u32,
    value: Arc<T>,
    /// What children have made.
    next: PerProcess<T>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value of this process; made when it is needed first.
    pub(crate) fn get(&self, make: impl Fn() -> T) -> &T {
        let process = std::process::id();
        let mut place = self;
        loop {
            let made = place.0.get_or_init(|| {
                Box::new(Made { process, value: Arc::new(make()), next: Self::new() })
            });
            if made.process == process {
                return &made.value;
            }
            place = &made.next;
        }
    }
}

impl<T> Drop for Made<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Held for ever: ending it may wait for threads that are not there.
            std::mem::forget(self.value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_value_is_made_once_and_that_of_another_process_is_left_alone() {
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (made, ended) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            Counted(ended.clone())
        };
        let own = PerProcess::new();
        own.get(make);
        own.get(make);
        assert_eq!(made.load(Ordering::Relaxed), 1);
        drop(own);
        assert_eq!(ended.load(Ordering::Relaxed), 1);
        // As if it were inherited.
        let value = Arc::new(make());
        let made_before = Made { process: 0, value, next: PerProcess::new() };
        let inherited = PerProcess(OnceLock::from(Box::new(made_before)));
        inherited.get(make);
        assert_eq!(made.load(Ordering::Relaxed), 3);
        drop(inherited);
        assert_eq!(ended.load(Ordering::Relaxed), 2);
    }
}
