//! Levels: which instructions kernels may use on this CPU.

use std::cell::Cell;
use std::fmt;
use std::sync::LazyLock;

use super::{ROWS, Set};
use crate::error::{Error, Result};
use crate::text::escaped;

/// An instruction set that this CPU has.
///
/// Only detection makes one, so holding it proves that its instructions may be run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(Set);

/// A set, its name, and whether this CPU has it.
pub(super) struct Row {
    pub(super) set: Set,
    pub(super) name: &'static str,
    pub(super) is_available: fn() -> bool,
}

impl Level {
    /// What every CPU of the architecture has.
    pub const BASELINE: Self = Self(Set::baseline);

    /// Every level this CPU has, the slowest first.
    #[must_use]
    pub fn available() -> &'static [Self] {
        static AVAILABLE: LazyLock<Vec<Level>> = LazyLock::new(|| {
            let has = |row: &&Row| (row.is_available)();
            ROWS.iter().filter(has).map(|row| Level(row.set)).collect()
        });
        &AVAILABLE
    }

    /// Its name, as `WEIGHBRIDGE_SIMD` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.set == self.0).map_or("", |row| row.name)
    }

    /// What to dispatch on.
    #[inline(always)]
    pub(super) fn set(self) -> Set {
        self.0
    }

    fn best() -> Self {
        let asked = asked().ok().flatten();
        asked.or(Self::available().last().copied()).unwrap_or(Self::BASELINE)
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The level that the environment variable `WEIGHBRIDGE_SIMD` asks for; an error if this CPU has
/// no level of that name.
pub fn asked() -> Result<Option<Level>> {
    let Some(name) = std::env::var_os("WEIGHBRIDGE_SIMD").filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let level = Level::available().iter().find(|level| name == level.name());
    level.copied().map(Some).ok_or_else(|| {
        let names: Vec<_> = Level::available().iter().map(|level| level.name()).collect();
        Error::usage(format!(
            "WEIGHBRIDGE_SIMD has an unsupported value: {}",
            escaped(&name.to_string_lossy())
        ))
        .hint(format!("this CPU supports {}", names.join(", ")))
    })
}

thread_local! {
    /// The level that [`with_level`] chose for this thread.
    static CHOSEN: Cell<Option<Level>> = const { Cell::new(None) };
}

/// The level that kernels run at on this thread: the one that [`with_level`] chose, or that
/// `WEIGHBRIDGE_SIMD` asks for, or else the best this CPU has.
#[must_use]
pub fn level() -> Level {
    static BEST: LazyLock<Level> = LazyLock::new(Level::best);
    CHOSEN.get().unwrap_or_else(|| *BEST)
}

/// Runs `work` with all kernels of this thread at `level`.
///
/// Threads that `work` starts begin at the usual level. To hand `level` on, call [`level`] before
/// starting them and `with_level` in each.
pub fn with_level<R>(level: Level, work: impl FnOnce() -> R) -> R {
    /// Restores the previous level, even if `work` panics.
    struct Restore(Option<Level>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CHOSEN.set(self.0);
        }
    }
    let _restore = Restore(CHOSEN.replace(Some(level)));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_holds_for_one_thread_and_one_call() {
        let usual = level();
        for &one in Level::available() {
            let (inside, elsewhere) = with_level(one, || {
                let elsewhere = std::thread::scope(|scope| scope.spawn(level).join());
                (level(), elsewhere.unwrap())
            });
            assert_eq!((inside, elsewhere, level()), (one, usual, usual));
        }
    }

    #[test]
    fn a_panic_does_not_leave_its_level_behind() {
        let usual = level();
        for &one in Level::available() {
            let panicked = std::panic::catch_unwind(|| with_level(one, || panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!(level(), usual);
        }
    }

    #[test]
    fn levels_are_named_and_ordered() {
        let all = Level::available();
        assert_eq!(all[0], Level::BASELINE);
        assert!(all.is_sorted() && all.iter().all(|level| !level.name().is_empty()));
    }
}
